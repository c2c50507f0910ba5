"""A server's processes as /proc shows them: its children, its CPU time, its orphans."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_PROC = Path("/proc")
_TICK = os.sysconf("SC_CLK_TCK")
_PATIENCE = 10.0


@dataclass(frozen=True, kw_only=True)
class Process:
    """One line of /proc/PID/stat; CPU times in seconds, see proc_pid_stat(5).

    ``reaped_seconds`` is the time of its children that have ended.
    """

    parent: int
    state: str
    own_seconds: float
    reaped_seconds: float

    @classmethod
    def parse(cls, line: str) -> Self:
        """Return the Process a stat *line* describes; its name may hold spaces and parentheses."""
        fields = line.rpartition(")")[2].split()
        user, system, reaped_user, reaped_system = (int(field) for field in fields[11:15])
        return cls(
            parent=int(fields[1]),
            state=fields[0],
            own_seconds=(user + system) / _TICK,
            reaped_seconds=(reaped_user + reaped_system) / _TICK,
        )

    @classmethod
    def read(cls, pid: int) -> Self | None:
        """Return the Process *pid* as it is now; None if there is none."""
        try:
            return cls.parse((_PROC / str(pid) / "stat").read_text())
        except OSError:
            return None


def children(parent: int) -> dict[int, Process]:
    """Return the children of process *parent* by their ids, zombies included."""
    return {pid: process for pid, process in _all() if process.parent == parent}


def cpu_seconds(ancestor: int) -> float:
    """Return the CPU seconds *ancestor* and all below it have used, those that ended included.

    One that is reaped while we read would be counted twice or never: we read again.
    """
    while True:
        before = _family(ancestor)
        if ancestor not in before:
            return 0.0
        if _family(ancestor).keys() == before.keys():
            return sum(one.own_seconds + one.reaped_seconds for one in before.values())


def _family(ancestor: int) -> dict[int, Process]:
    everybody = dict(_all())
    family = {pid: one for pid, one in everybody.items() if pid == ancestor}
    while more := {
        pid: one for pid, one in everybody.items() if one.parent in family and pid not in family
    }:
        family |= more
    return family


def _all() -> Iterator[tuple[int, Process]]:
    for path in _PROC.iterdir():
        if path.name.isdigit() and (process := Process.read(int(path.name))):
            yield int(path.name), process


def storage_bytes(parent: int) -> tuple[int, int] | None:
    """Return the bytes that *parent* and its children read and wrote: see proc_pid_io(5).

    Those of children that ended are in their parent's. None where they may not be looked at.
    """
    pids = [parent, *children(parent)]
    counts = [io for pid in pids if (io := _io(pid)) is not None]
    if len(counts) < len(pids) and _io(parent) is None:
        return None
    return sum(read for read, _ in counts), sum(written for _, written in counts)


def _io(pid: int) -> tuple[int, int] | None:
    try:
        lines = (_PROC / str(pid) / "io").read_text().splitlines()
    except OSError:
        return None
    fields = {key: int(count) for key, _, count in (line.partition(":") for line in lines)}
    return fields["read_bytes"], fields["write_bytes"]


def busy_seconds(pid: int) -> float:
    """Return the CPU seconds of process *pid* alone, to the ns if the kernel has them; 0 if gone.

    The first field of /proc/PID/schedstat: see sched-stats.rst of the kernel.
    """
    try:
        return int((_PROC / str(pid) / "schedstat").read_text().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):
        process = Process.read(pid)
        return process.own_seconds if process else 0.0


def end_orphan(data: Path) -> None:
    """End the server that still runs on *data* though its landspeed is dead, if there is one.

    A process is that server only if it works in that very directory: ids are reused.
    """
    try:
        pid = int((data / "postmaster.pid").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return
    for number in (signal.SIGQUIT, signal.SIGKILL):
        deadline = time.monotonic() + _PATIENCE
        while _works_in(pid, data):
            if time.monotonic() > deadline:
                break
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, number)
            time.sleep(0.05)


def _works_in(pid: int, data: Path) -> bool:
    try:
        process = Process.read(pid)
        alive = process is not None and process.state != "Z"
        return alive and (_PROC / str(pid) / "cwd").samefile(data)
    except OSError:
        return False
