"""Where tests keep their files: in memory if it has room, else on the disk.

Tests make and remove hundreds of thousands of files. On a disk that is told of every freed block
(ext4 mounted with ``discard``) that was a quarter of their time.
"""

from __future__ import annotations

import os
from pathlib import Path

_MEMORY = Path("/dev/shm")
# In bytes: what the tests need at once, 9 GB, and some more.
_ROOM = 12 << 30


def _is_roomy(place: Path) -> bool:
    """Whether programs can run from *place*, and neither it nor the memory is nearly full."""
    if not os.access(place, os.W_OK):
        return False
    there = os.statvfs(place)
    words = Path("/proc/meminfo").read_text().split()
    available = int(words[words.index("MemAvailable:") + 1]) << 10
    room = min(there.f_bavail * there.f_frsize, available)
    return room > _ROOM and not there.f_flag & os.ST_NOEXEC


SCRATCH = _MEMORY if _is_roomy(_MEMORY) else Path("/var/tmp")
"""A directory that every user can reach and write to."""
