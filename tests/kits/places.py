"""Where tests keep their files: in memory if it has room, else on the disk.

Tests make and remove hundreds of thousands of files. On a disk that is told of every freed block
(ext4 mounted with ``discard``) a bisection's test took 137 s, and 97 s in memory.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.machine.machine import memory_bytes

_MEMORY = Path("/dev/shm")
# In bytes: the most that all files took at once is 9 GB; and what servers and compilers need.
_FILES, _PROGRAMS = 10 << 30, 6 << 30


def _is_roomy(place: Path) -> bool:
    """Whether programs can run from *place*, and it and the memory have room for the tests."""
    if not os.access(place, os.W_OK):
        return False
    there = os.statvfs(place)
    words = Path("/proc/meminfo").read_text().split()
    available = int(words[words.index("MemAvailable:") + 1]) << 10
    return (
        not there.f_flag & os.ST_NOEXEC
        and there.f_bavail * there.f_frsize > _FILES
        and min(available, memory_bytes()) > _FILES + _PROGRAMS
    )


SCRATCH = _MEMORY if _is_roomy(_MEMORY) else Path("/var/tmp")
"""A directory that every user can reach and write to."""
