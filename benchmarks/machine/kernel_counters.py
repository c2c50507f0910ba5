"""What the kernel has counted of this machine: processors, memory, the disk below a directory."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.files import read_text

ROOT = Path("/")
_TICK = os.sysconf("SC_CLK_TCK")
_SECTOR = 512  # bytes, whatever the device's own are: see iostats.rst of the kernel
# Of /proc/stat's first line, see proc_stat(5): nice is the user's, interrupts are the kernel's.
_KINDS = ("user", "user", "system", "idle", "iowait", "system", "system", "steal")
# Of a line of /proc/diskstats after the three fields that name it: see iostats.rst of the kernel.
_DISK = (
    *("reads", "", "read_sectors", "read_ms"),
    *("writes", "", "write_sectors", "write_ms", "", "busy_ms"),
)
# Clocks of more processors tell no more, and reading one may interrupt it.
_CLOCKS = 8


@dataclass(frozen=True, kw_only=True)
class Device:
    """The device that a directory's file system is on, or ``why`` it is not known.

    ``number`` is "major:minor", as /proc/diskstats has it.
    """

    name: str = ""
    number: str = ""
    why: str = ""

    @classmethod
    def of(cls, directory: Path, root: Path = ROOT) -> Device:
        """Return the Device below *directory*: by its device number, else by its mount's source."""
        number = os.stat(directory).st_dev  # noqa: PTH116  as the kernel spells it
        spelled = f"{os.major(number)}:{os.minor(number)}"
        kind, source = _mount_of(spelled, root)
        if spelled not in _disks(root) and source.startswith("/dev/"):
            # btrfs and others number their mounts themselves
            try:
                device = os.stat(source).st_rdev  # noqa: PTH116
            except OSError:
                device = 0
            spelled = f"{os.major(device)}:{os.minor(device)}"
        fields = _disks(root).get(spelled)
        if fields is None:
            return cls(why=f"the data is on {kind or 'a file system'}, which names no disk")
        return cls(name=fields[2], number=spelled)


@dataclass(frozen=True, kw_only=True)
class Counters:
    """What the kernel has counted since boot, at one moment.

    ``moment`` is in seconds of the monotonic clock; ``cpu`` are seconds of all processors by
    what for; ``disk`` are operations, bytes and ms of a Device, None where it has none.
    """

    moment: float
    cpu: Mapping[str, float]
    context_switches: int
    disk: Mapping[str, int] | None

    @classmethod
    def read(cls, device: Device, root: Path = ROOT) -> Counters:
        """Return the Counters now."""
        stat = (root / "proc/stat").read_text()
        ticks = [int(word) for word in stat.partition("\n")[0].split()[1 : 1 + len(_KINDS)]]
        cpu = dict.fromkeys(_KINDS, 0.0)
        for kind, count in zip(_KINDS, ticks, strict=False):
            cpu[kind] += count / _TICK
        switches = next(line for line in stat.splitlines() if line.startswith("ctxt "))
        fields = _disks(root).get(device.number)
        return cls(
            moment=time.monotonic(),
            cpu=cpu,
            context_switches=int(switches.split()[1]),
            disk=_disk(fields) if fields else None,
        )


def cpu_shares(before: Counters, after: Counters) -> dict[str, float]:
    """Return what all processors did from *before* to *after*, as shares of their time."""
    spent = {kind: after.cpu[kind] - before.cpu[kind] for kind in after.cpu}
    total = sum(spent.values())
    return {
        kind: round(max(0.0, one) / total, 4) if total > 0 else 0.0 for kind, one in spent.items()
    }


def disk_work(before: Counters, after: Counters) -> dict[str, Any] | None:
    """Return what the disk did from *before* to *after*; None if the disk is not known.

    Operations, bytes, mean ms of an operation with the time in the queue (None without
    operations), and ``busy``, the share of time in which the disk was working.
    """
    if before.disk is None or after.disk is None:
        return None
    grown = {name: after.disk[name] - count for name, count in before.disk.items()}
    took = after.moment - before.moment
    found: dict[str, Any] = {}
    for one in ("read", "write"):
        count, spent = grown[f"{one}s"], grown[f"{one}_ms"]
        found[f"{one}s"] = count
        found[f"{one}_bytes"] = grown[f"{one}_sectors"] * _SECTOR
        found[f"{one}_ms"] = round(spent / count, 3) if count else None
    busy = min(1.0, grown["busy_ms"] / 1000 / took) if took > 0 else 0.0
    return {**found, "busy": round(busy, 4)}


def memory_now(root: Path = ROOT) -> dict[str, int]:
    """MemAvailable, Dirty and Writeback of /proc/meminfo, in bytes."""
    wanted = {"MemAvailable": "available", "Dirty": "dirty", "Writeback": "writeback"}
    lines = (line.partition(":") for line in (root / "proc/meminfo").read_text().splitlines())
    return {wanted[key]: int(text.split()[0]) * 1024 for key, _, text in lines if key in wanted}


def clock_mhz(root: Path = ROOT) -> float | None:
    """Return the mean clock of the first processors in MHz; None if the kernel does not show it."""
    shown = _of_each_cpu(root, "cpufreq/scaling_cur_freq")[:_CLOCKS]
    return round(sum(shown) / len(shown) / 1000, 1) if shown else None


def throttled(root: Path = ROOT) -> int | None:
    """Return how often processors were slowed because they were hot; None if nobody counts."""
    shown = _of_each_cpu(root, "thermal_throttle/core_throttle_count")
    return sum(shown) if shown else None


def _of_each_cpu(root: Path, name: str) -> list[int]:
    """Return the numbers in the files *name* of all processors that have one."""
    paths = sorted((root / "sys/devices/system/cpu").glob(f"cpu[0-9]*/{name}"))
    return [int(text) for path in paths if (text := read_text(path).strip()).isdigit()]


def _disk(fields: list[str]) -> dict[str, int]:
    counts = zip(_DISK, fields[3:], strict=False)
    return {name: int(count) for name, count in counts if name}


def _disks(root: Path) -> dict[str, list[str]]:
    """Return the fields of every line of /proc/diskstats by "major:minor"."""
    lines = (line.split() for line in read_text(root / "proc/diskstats").splitlines())
    return {f"{fields[0]}:{fields[1]}": fields for fields in lines if len(fields) >= 13}


def _mount_of(number: str, root: Path) -> tuple[str, str]:
    """File system type and source of the mount with device *number*: proc_pid_mountinfo(5)."""
    for line in read_text(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == number and after:
            kind, source = after.split()[:2]
            return kind, source
    return "", ""
