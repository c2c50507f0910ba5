"""Where tests keep their files: in memory if it has room, else on the disk.

Tests make and remove very many files. On ext4 that is mounted with ``discard`` a bisection's test
took 137 s, and 97 s in memory.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from benchmarks.machine.kernel_counters import memory_now
from benchmarks.machine.machine import memory_bytes

_MEMORY = Path("/dev/shm")
# In bytes: the most that all files took at once is 9 GB; and what servers and compilers need.
_FILES, _PROGRAMS = 10 << 30, 6 << 30


def _is_roomy(place: Path) -> bool:
    """Whether programs can run from *place*, and it and the memory have room for the tests."""
    if not os.access(place, os.W_OK):
        return False
    return (
        not os.statvfs(place).f_flag & os.ST_NOEXEC
        and shutil.disk_usage(place).free > _FILES
        and min(memory_now()["available"], memory_bytes()) > _FILES + _PROGRAMS
    )


SCRATCH = _MEMORY if _is_roomy(_MEMORY) else Path("/var/tmp")
"""A directory that every user can reach and write to."""
