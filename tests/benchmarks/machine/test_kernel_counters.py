"""What the kernel counted, from made-up /proc and /sys trees."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.machine.kernel_counters import (
    Counters,
    Device,
    clock_mhz,
    cpu_shares,
    disk_work,
    memory_now,
    throttled,
)
from tests.benchmarks.machine.test_machine import tree

TICKS = os.sysconf("SC_CLK_TCK")
DISKS = """\
   8       0 sda 100 5 2000 50 40 3 800 120 0 70 170 0 0 0 0 9 9
   8       1 sda1 90 5 1900 45 40 3 800 120 0 60 165
"""


def stat(user: int, system: int, idle: int, iowait: int, steal: int) -> str:
    times = (user, 0, system, idle, iowait, 0, 0, steal, 0, 0)
    line = " ".join(str(seconds * TICKS) for seconds in times)
    return f"cpu  {line}\ncpu0 {line}\nintr 5 1\nctxt 12345\nbtime 1\n"


def proc(root: Path, **files: str) -> Path:
    given = {"stat": stat(10, 5, 80, 3, 2), "diskstats": DISKS, "self/mountinfo": ""} | files
    return tree(root, {f"proc/{name}": text for name, text in given.items()})


def numbered(path: Path) -> str:
    number = path.stat().st_dev
    return f"{os.major(number)}:{os.minor(number)}"


def test_processor_time_is_told_in_shares_of_all_of_it(tmp_path: Path) -> None:
    before = Counters.read(Device(), proc(tmp_path))
    after = Counters.read(Device(), proc(tmp_path, stat=stat(13, 6, 84, 4, 3)))
    shares = cpu_shares(before, after)
    assert shares == {"user": 0.3, "system": 0.1, "idle": 0.4, "iowait": 0.1, "steal": 0.1}
    assert before.context_switches == 12345


def test_interrupts_are_the_kernels_and_a_nice_process_is_a_user(tmp_path: Path) -> None:
    root = proc(tmp_path, stat=f"cpu  {TICKS} {TICKS} 0 0 0 {TICKS} {TICKS} 0 0 0\nctxt 1\n")
    assert Counters.read(Device(), root).cpu == {
        "user": 2.0,
        "system": 2.0,
        "idle": 0.0,
        "iowait": 0.0,
        "steal": 0.0,
    }


def test_no_time_between_two_looks_has_no_shares(tmp_path: Path) -> None:
    once = Counters.read(Device(), proc(tmp_path))
    assert set(cpu_shares(once, once).values()) == {0.0}


def test_a_disks_work_is_operations_bytes_and_the_time_of_each(tmp_path: Path) -> None:
    device = Device(name="sda", number="8:0")
    before = Counters.read(device, proc(tmp_path))
    later = DISKS.replace("100 5 2000 50 40 3 800 120 0 70", "104 5 2064 52 40 3 800 120 0 570")
    after = Counters.read(device, proc(tmp_path, diskstats=later))
    after = replace(after, moment=before.moment + 2.0)
    assert disk_work(before, after) == {
        "reads": 4,
        "read_bytes": 64 * 512,
        "read_ms": 0.5,
        "writes": 0,
        "write_bytes": 0,
        "write_ms": None,
        "busy": 0.25,
    }


def test_the_device_of_a_directory_is_found_by_its_number(tmp_path: Path) -> None:
    major, minor = numbered(tmp_path).split(":")
    root = proc(tmp_path / "root", diskstats=f" {major} {minor} nvme0n1p2 1 0 8 1 1 0 8 1 0 1 2\n")
    device = Device.of(tmp_path, root)
    assert (device.name, device.why) == ("nvme0n1p2", "")
    assert Counters.read(device, root).disk is not None


def test_the_device_of_a_file_system_that_numbers_itself_is_that_of_its_mount(
    tmp_path: Path,
) -> None:
    mount = f"36 35 {numbered(tmp_path)} / /somewhere rw - btrfs /dev/null rw\n"
    known = os.stat("/dev/null").st_rdev  # noqa: PTH116
    number = f"{os.major(known)}:{os.minor(known)}"
    disks = f" {number.replace(':', ' ')} vda 1 0 8 1 1 0 8 1 0 1 2\n"
    root = proc(tmp_path / "root", diskstats=disks, **{"self/mountinfo": mount})
    assert Device.of(tmp_path, root) == Device(name="vda", number=number)


@pytest.mark.parametrize("kind", ["tmpfs", "overlay"])
def test_what_names_no_disk_says_so(tmp_path: Path, kind: str) -> None:
    mount = f"36 35 {numbered(tmp_path)} / /somewhere rw - {kind} {kind} rw\n"
    root = proc(tmp_path / "root", diskstats=DISKS, **{"self/mountinfo": mount})
    device = Device.of(tmp_path, root)
    assert device.name == ""
    assert device.why == f"the data is on {kind}, which names no disk"
    counters = Counters.read(device, root)
    assert disk_work(counters, counters) is None


def test_memory_is_in_bytes(tmp_path: Path) -> None:
    text = "MemTotal: 9 kB\nMemAvailable:   7 kB\nDirty:  2 kB\nWriteback: 0 kB\n"
    root = proc(tmp_path, meminfo=text)
    assert memory_now(root) == {"available": 7 * 1024, "dirty": 2 * 1024, "writeback": 0}


def test_clocks_and_throttling_are_none_where_nobody_shows_them(tmp_path: Path) -> None:
    assert (clock_mhz(tmp_path), throttled(tmp_path)) == (None, None)
    cpus = "sys/devices/system/cpu/cpu{}/{}"
    files = {cpus.format(n, "cpufreq/scaling_cur_freq"): f"{2 + n}000000\n" for n in (0, 1)}
    files |= {cpus.format(n, "thermal_throttle/core_throttle_count"): "3\n" for n in (0, 1)}
    tree(tmp_path, files)
    assert (clock_mhz(tmp_path), throttled(tmp_path)) == (2500.0, 6)
