"""Tar files that carry results and builds between jobs; unpacking trusts nothing in them."""

from __future__ import annotations

import errno
import os
import shutil
import tarfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from base.errors import StorageError, UsageError, reason
from base.files import storage_errors

_MOST_MEMBERS, _MOST_BYTES = 100_000, 8 << 30
# Errors of our disk; any other is of a name in the archive, such as one of 300 letters.
_OURS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)


def pack_files(file: Path, root: Path, names: Iterable[str], *, head: str = "") -> None:
    """Write the files *names* of *root* to the tar *file*, under names that begin with *head*.

    Compress it if its name ends in gz. The file is complete or absent.
    """
    part = file.with_name(f".{file.name}.part-{os.getpid()}")
    packed = file.name.endswith("gz")
    with storage_errors(f'write "{file}"', file):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with (
                tarfile.open(part, "w:gz", compresslevel=6)
                if packed
                else tarfile.open(part, "w") as tar
            ):
                for name in names:
                    # Each hard link, as zic makes of time zones, is stored as a file of its own:
                    # unpacking makes none.
                    tar.dereference = not (root / name).is_symlink()
                    tar.add(root / name, f"{head}{name}", recursive=False, filter=_anonymous)
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def unpack_files(file: Path, target: Path, accept: Callable[[str], bool]) -> None:
    """Write the members of the tar *file* below *target*; *accept* has to accept every name.

    UsageError for a name or link that leads out of *target*, a device, or a file that is no tar.
    """
    try:
        with tarfile.open(file) as tar, storage_errors(f'unpack "{file}"', target):
            size = 0
            for number, member in enumerate(tar):
                size += member.size
                if number == _MOST_MEMBERS or size > _MOST_BYTES:
                    raise tarfile.ReadError("it holds too many or too large files")
                _require_harmless(member, target, file, accept)
                _write(tar, member, target / member.name)
    except (tarfile.TarError, EOFError, OSError, ValueError, zlib.error) as error:
        if isinstance(error, FileNotFoundError):
            raise UsageError(f'"{file}" does not exist') from error
        if isinstance(error, OSError) and error.errno in _OURS:
            raise StorageError(f'could not unpack "{file}"', detail=str(error)) from error
        raise UsageError(
            f'"{file}" is damaged or not an archive of landspeed',
            detail=reason(error),
            hint="Copy or create it again.",
        ) from error


def _require_harmless(
    member: tarfile.TarInfo, target: Path, file: Path, accept: Callable[[str], bool]
) -> None:
    name = PurePosixPath(member.name)
    wrong = name.is_absolute() or ".." in name.parts or not name.parts or not accept(member.name)
    if member.issym():
        # Links of a server's installation lead to a neighbour: libpq.so to libpq.so.5.
        wrong = wrong or "/" in member.linkname or member.linkname in (".", "..")
    elif not (member.isreg() or member.isdir()):
        wrong = True
    if wrong:
        detail = f"An archive of landspeed never holds {member.name!r}."
    # A file written through a link that an earlier member made could land anywhere.
    elif any((target / parent).is_symlink() for parent in name.parents):
        detail = f"{member.name!r} is behind a link."
    else:
        return
    raise UsageError(f'"{file}" was rejected', detail=detail)


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        path.symlink_to(member.linkname)
        return
    stream = tar.extractfile(member)
    if stream is None:
        raise tarfile.ReadError(f"{member.name} has no content")
    with stream, path.open("wb") as out:
        shutil.copyfileobj(stream, out, 1 << 20)
    path.chmod(0o755 if member.mode & 0o100 else 0o644)
