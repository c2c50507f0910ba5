"""Copies of directory trees, as cheap as the file system can make them, and on disk for good."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

from base.files import remove_tree

_FICLONE = 0x40049409  # linux/fs.h: share the blocks of a whole file, see ioctl_ficlone(2)
_CANNOT_CLONE = (errno.EOPNOTSUPP, errno.ENOTTY, errno.EXDEV, errno.EINVAL, errno.ENOSYS)
_CHUNK = 64 << 20
_READAHEAD = 1 << 20


def clone_tree(source: Path, target: Path) -> None:
    """Make directory *target* what *source* is: content, owners, modes, times.

    What *target* already has is kept where size and modification time are those of
    *source*, as rsync(1) decides it: a copy that was used a little is made whole again
    at the price of what changed, in the blocks it already has on disk. Blocks are shared
    with *source* where the file system can (btrfs, XFS), else copied inside the kernel.
    """
    shares_blocks = True
    target.mkdir(exist_ok=True)
    for directory, names, files in os.walk(source):
        here = target / Path(directory).relative_to(source)
        _remove_others(here, directories=names, files=files)
        for name in names:
            (here / name).mkdir(exist_ok=True)
        # most files are the same: paths are made of those that are not
        for name in files:
            if not _same(f"{directory}/{name}", f"{here}/{name}"):
                shares_blocks = _clone_file(Path(directory, name), here / name, shares_blocks)
        _like(Path(directory), here)


def _remove_others(directory: Path, *, directories: list[str], files: list[str]) -> None:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in directories:
                    remove_tree(Path(entry.path))
            elif entry.name not in files:
                Path(entry.path).unlink()


def _like(source: Path, target: Path | int) -> None:
    """Give *target*, a path or a descriptor, mode and times of *source*; its owner where we may."""
    status = source.stat()
    if os.geteuid() == 0:
        os.chown(target, status.st_uid, status.st_gid)
    os.chmod(target, status.st_mode & 0o7777)  # noqa: PTH101  it may be a descriptor
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _clone_file(source: Path, target: Path, shares_blocks: bool) -> bool:
    """Copy one file; return whether the file system could still share blocks."""
    if source.is_symlink():
        target.unlink(missing_ok=True)
        target.symlink_to(source.readlink())
        return shares_blocks
    if target.is_symlink() or not target.is_file():
        # measured code may have put a link to a file of ours there, or a pipe
        target.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with source.open("rb") as reader, os.fdopen(os.open(target, flags, 0o600), "wb") as writer:
        if shares_blocks:
            shares_blocks = _share_blocks(reader.fileno(), writer.fileno())
        if not shares_blocks:
            _copy_blocks(reader.fileno(), writer.fileno())
        writer.truncate(source.stat().st_size)
        _like(source, writer.fileno())
    return shares_blocks


def _same(source: str, target: str) -> bool:
    """Return whether *target* is a file as *source* is one, no symlink."""
    wanted = os.lstat(source)
    try:
        seen = os.lstat(target)
    except FileNotFoundError:
        return False
    same = (seen.st_size, seen.st_mtime_ns) == (wanted.st_size, wanted.st_mtime_ns)
    return same and S_ISREG(seen.st_mode) and S_ISREG(wanted.st_mode)


def _share_blocks(reader: int, writer: int) -> bool:
    try:
        fcntl.ioctl(writer, _FICLONE, reader)
    except OSError as error:
        if error.errno not in _CANNOT_CLONE:
            raise
        return False
    return True


def _copy_blocks(reader: int, writer: int) -> None:
    try:
        while os.copy_file_range(reader, writer, _CHUNK):
            pass
    except OSError as error:
        if error.errno not in _CANNOT_CLONE:
            raise
        with os.fdopen(os.dup(reader), "rb") as source, os.fdopen(os.dup(writer), "wb") as target:
            shutil.copyfileobj(source, target, _CHUNK)


def make_readable(root: Path) -> None:
    """Let any user read every file below *root*, and run what its owner can run."""
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | 0o444 | (0o111 if mode & 0o100 else 0))


def sync_file_system(path: Path) -> None:
    """Wait until all that was written to *path*'s file system is on disk, see syncfs(2).

    Without it the kernel would write a fresh copy out in the middle of the Run on it.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    handle = os.open(path, os.O_RDONLY)
    try:
        if libc.syncfs(handle) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(path))
    finally:
        os.close(handle)


def keep_cached(root: Path) -> None:
    """Ask the kernel to read the files below *root* into its page cache.

    The kernel reads at most one read-ahead window per request, hence the small steps.
    """
    for handle, size in _open_files(root):
        for offset in range(0, size, _READAHEAD):
            os.posix_fadvise(handle, offset, _READAHEAD, os.POSIX_FADV_WILLNEED)


def drop_cached(root: Path) -> None:
    """Ask the kernel to forget the files below *root*, so that a Run reads them from disk."""
    for handle, _ in _open_files(root):
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)


def tree_bytes(root: Path) -> int:
    """Return the disk space that the files below *root* take; 0 if it is not there."""
    total = 0
    # measured code may have nested directories deeper than they can be followed
    with suppress(RecursionError):
        for directory, _, files in os.walk(root):
            for name in files:
                # a server that ends, or another landspeed, may be removing it
                with suppress(FileNotFoundError):
                    total += os.lstat(f"{directory}/{name}").st_blocks * 512
    return total


def _open_files(root: Path) -> Iterator[tuple[int, int]]:
    for path in root.rglob("*"):
        if path.is_file():
            with path.open("rb") as stream:
                yield stream.fileno(), path.stat().st_size
