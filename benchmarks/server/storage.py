"""Where data directories may lie besides the disk: in memory, or on a file system made for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from base.errors import StorageError, last_lines
from base.files import digest_text, locked, remove_tree, storage_errors
from benchmarks.server.home import make_passable

_MEMORY = Path("/dev/shm")  # noqa: S108  the directory in it is checked to be ours
# Of the space that is free, what a file system in a file may grow to.
_SHARE = 0.8
_MOUNTS = Path("/proc/self/mounts")


@dataclass(frozen=True, kw_only=True)
class Storage:
    """A kind of file system that data directories are placed on.

    With ``make`` it is a file system in a file, made by those words and mounted with
    ``options``; ``package`` is Debian's that brings the program. Without, it is memory.
    ``home`` is always where clusters live on the disk.
    """

    name: str
    make: tuple[str, ...] = ()
    options: str = "noatime"
    package: str = ""

    def root(self, home: Path) -> Path:
        """Where clusters live on it."""
        if not self.make:
            return _MEMORY / f"landspeed-{digest_text(str(home))[:8]}"
        return home / "storages" / self.name

    def reason(self, home: Path) -> str | None:
        """Return why it cannot be had on this machine, and what would bring it; None if it can."""
        if not self.make:
            if _type_of(_MEMORY) == "tmpfs" and os.access(_MEMORY, os.W_OK):
                return None
            return f"{_MEMORY} is not a tmpfs that can be written to: mount one there"
        if self._is_mounted(home):
            return None
        for program, package in ((self.make[0], self.package), ("mount", "mount")):
            if shutil.which(program) is None:
                return f'{program} is not installed: "apt-get install {package}" brings it'
        if os.geteuid() != 0 or not Path("/dev/loop-control").exists():
            return f"only root, on a machine with loop devices, can mount {self.name}"
        return None

    def free_bytes(self, home: Path) -> int:
        """Return what can be stored on it, what is stored included if it is there already."""
        place = self.root(home)
        if not self.make or self._is_mounted(home):
            return shutil.disk_usage(place if place.exists() else _MEMORY).free
        probe = next(path for path in (home, *home.parents) if path.exists())
        return int(_SHARE * shutil.disk_usage(probe).free)

    def open(self, home: Path) -> Path:
        """Its root, made and mounted if it is not; StorageError if that fails."""
        root = self.root(home)
        if not self.make or self._is_mounted(home):
            return root
        size = self.free_bytes(home)
        image = root.with_name(f"{self.name}.img")
        with storage_errors(f'create "{root}"', root):
            make_passable(root)
        with locked(root.with_name(f"{self.name}.lock")):
            if self._is_mounted(home):
                return root
            with storage_errors(f'create "{image}"', image), image.open("wb") as file:
                file.truncate(size)
            _do([*self.make, str(image)], f"could not make a file system of type {self.name}")
            mount = ["mount", "-o", f"loop,{self.options}", str(image), str(root)]
            _do(mount, f"could not mount a file system of type {self.name}")
            root.chmod(0o755)
        return root

    def close(self, home: Path) -> None:
        """Give back what it takes: unmount it, and remove its file or what is in memory."""
        root = self.root(home)
        if not self.make:
            if root.exists() and root.stat().st_uid == os.geteuid():
                remove_tree(root)
            return
        if self._is_mounted(home):
            _do(["umount", str(root)], f"could not unmount {root}")
        root.with_name(f"{self.name}.img").unlink(missing_ok=True)

    def _is_mounted(self, home: Path) -> bool:
        return _type_of(self.root(home), exactly=True) is not None


STORAGES: Mapping[str, Storage] = {
    storage.name: storage
    for storage in (
        Storage(name="tmpfs"),
        Storage(name="ext4", make=("mkfs.ext4", "-q", "-F"), package="e2fsprogs"),
        Storage(
            name="ext4-writeback",
            make=("mkfs.ext4", "-q", "-F"),
            options="noatime,data=writeback",
            package="e2fsprogs",
        ),
        # without reflink: a Run would pay for the blocks that its copy shares with the template
        Storage(name="xfs", make=("mkfs.xfs", "-q", "-f", "-m", "reflink=0"), package="xfsprogs"),
        Storage(name="btrfs", make=("mkfs.btrfs", "-q", "-f"), package="btrfs-progs"),
    )
}


def give_back(names: Iterable[str], home: Path) -> None:
    """Unmount, or free the memory of, all Storages of these *names*."""
    for name in names:
        STORAGES[name].close(home)


def _type_of(place: Path, *, exactly: bool = False) -> str | None:
    """Return the type of the file system that is mounted at *place*; None if none is.

    See proc_pid_mounts(5). Not *exactly*: of the one that *place* is on.
    """
    path = place.resolve()
    wanted = {_as_mounted(one) for one in ([path] if exactly else [path, *path.parents])}
    rows = (line.split() for line in _MOUNTS.read_text().splitlines())
    found = [(len(row[1]), row[2]) for row in rows if row[1] in wanted]
    return max(found, default=(0, None))[1]


def _as_mounted(path: Path) -> str:
    """Return *path* as the kernel spells it in /proc/self/mounts."""
    return "".join(f"\\{ord(one):03o}" if one in " \t\n\\" else one for one in str(path))


def _do(argv: list[str], failure: str) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        said = last_lines(done.stderr + done.stdout, 5)
        raise StorageError(
            failure,
            detail=f"{' '.join(argv)}: {said}",
            hint="Leave this storage out of the study, or run as root where mounting is allowed.",
        )
