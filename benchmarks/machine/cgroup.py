"""A cgroup that limits a server's memory: made for one run, removed after it.

See cgroups(7). The page cache counts as the memory of the group whose process first read or
wrote a page, so data that others have in the cache does not count: whoever runs a server in a
limit has to forget its files first.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from base.errors import NotApplicableError

ROOT = Path("/")
_PREFIX = "landspeed-"
_PATIENCE = 10.0
_HINT = (
    "Run landspeed as root; or, as another user, where systemd gives you a group: "
    '"systemd-run --user --scope --property=Delegate=yes landspeed …"; or all of landspeed in '
    'a container: "docker run --memory SIZE", which sizes the tiers without --memory.'
)


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """A hierarchy of cgroups that limits memory, and the cgroup of this process in it.

    ``levels`` are that group and those above it; ``limit`` and ``swap`` are the files with
    their limits, ``swap`` with memory and swap together where ``both``.
    """

    levels: tuple[Path, ...]
    limit: str
    swap: str
    both: bool


def memory_hierarchies(root: Path = ROOT) -> Iterator[Hierarchy]:
    """Those that this process is in, of version 1 and version 2."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        group = Path(path.lstrip("/"))
        if controllers == "":
            mount, names, both = root / "sys/fs/cgroup", ("memory.max", "memory.swap.max"), False
        elif "memory" in controllers.split(","):
            mount = root / "sys/fs/cgroup/memory"
            names, both = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), True
        else:
            continue
        levels = tuple(mount / level for level in (group, *group.parents))
        yield Hierarchy(levels=levels, limit=names[0], swap=names[1], both=both)


@dataclass(frozen=True, kw_only=True)
class Cgroup:
    """A cgroup made by landspeed, whose processes share a memory limit."""

    path: Path

    @classmethod
    def make(cls, name: str, memory_bytes: int, root: Path = ROOT) -> Self:
        """Return a fresh group called *name* with that limit, and no swap beside it.

        It is made below our own, so that the limits we are under hold for it, too; where that
        cannot be (version 2 gives no group to processes that have groups below), below the
        nearest one above. NotApplicableError if no such group may be made here.
        """
        tried: list[str] = []
        for hierarchy in memory_hierarchies(root):
            for level in hierarchy.levels:
                path = level / f"{_PREFIX}{name}"
                try:
                    path.mkdir()
                except OSError as error:
                    tried.append(f"{level}: {error.strerror}")
                    continue
                made = cls(path=path)
                try:
                    _limit(path, hierarchy, memory_bytes)
                except OSError as error:
                    made.remove()
                    tried.append(f"{level}: {error.strerror} ({Path(error.filename or '').name})")
                    continue
                return made
        raise NotApplicableError(
            "a server's memory cannot be limited here",
            detail="\n".join(tried) or "This process is in no control group that limits memory.",
            hint=_HINT,
        )

    def take(self, pid: int) -> None:
        """Move process *pid* into it; all that it starts from now on is born in it."""
        (self.path / "cgroup.procs").write_text(str(pid))

    @property
    def kills(self) -> int:
        """How many processes the kernel killed because the limit was reached."""
        for name in ("memory.events", "memory.oom_control"):
            with suppress(OSError):
                lines = (self.path / name).read_text().splitlines()
                counts = dict(line.split() for line in lines)
                return int(counts.get("oom_kill", 0))
        return 0

    def remove(self) -> None:
        """Remove it once the last process has left it; what it cached is its parent's then."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                self.path.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                # not empty: a process is just ending
                if time.monotonic() > deadline:
                    return
                time.sleep(0.01)
            else:
                return


def _limit(path: Path, hierarchy: Hierarchy, memory_bytes: int) -> None:
    _write(path / hierarchy.limit, str(memory_bytes))
    # without it the server would swap where it should run short of cache; a kernel may be
    # built without the file
    with suppress(FileNotFoundError):
        _write(path / hierarchy.swap, str(memory_bytes if hierarchy.both else 0))
    if not os.access(path / "cgroup.procs", os.W_OK):
        raise PermissionError(13, os.strerror(13), str(path / "cgroup.procs"))


def _write(path: Path, text: str) -> None:
    # never made by us: a file that is not there is a controller that is not there
    with path.open("r+") as stream:
        stream.write(text)
