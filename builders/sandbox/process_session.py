"""The Session of a build step: all its processes, found and ended together.

A process group is too small for that: ninja gives every compiler a group of its own, so
that killing make's or ninja's group, or ninja alone, leaves compilers running.

Run as a program this is the watcher. It reads session numbers from stdin, one a line, 0 for
none; when the writer is gone, killed or not, it ends the session it read last.
Standard library only: it is started without site-packages, to be there at once.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_PAUSE_SECONDS = 0.01


def members(session: int) -> list[int]:
    """The processes of *session* that run; what is dead and only not waited for is not."""
    return [
        int(entry.name)
        for entry in _PROC.iterdir()
        if entry.name.isdigit() and _runs_in(entry, session)
    ]


def _runs_in(entry: Path, session: int) -> bool:
    try:
        # the command's name may hold spaces and brackets: fields count from its last ")",
        # see proc_pid_stat(5)
        state, _, _, its, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return False
    return state not in "ZX" and int(its) == session


def end(session: int) -> None:
    """Kill every process of *session*, again until none is left: they may fork meanwhile."""
    while processes := members(session):
        for pid in processes:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE_SECONDS)


def watch(lines: Iterable[str]) -> None:
    """End the last session named in *lines* once they end, unless it is 0."""
    session = 0
    for line in lines:
        session = int(line)
    if session:
        end(session)


if __name__ == "__main__":
    watch(sys.stdin)
