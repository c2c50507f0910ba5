"""Tar files that leave one job and reach another: what is in them is looked at, not trusted."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from base.errors import StorageError, UsageError
from base.files import storage_errors


def pack_files(file: Path, root: Path, names: Iterable[str], *, head: str = "") -> None:
    """Write the files of *root* called *names* to the tar *file*, compressed if it ends in gz.

    It is whole or not there. In it they are below *head*.
    """
    part = file.with_name(f".{file.name}.part-{os.getpid()}")
    with storage_errors(f'write "{file}"', file):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            if file.name.endswith("gz"):
                with tarfile.open(part, "w:gz", compresslevel=6) as tar:
                    _add(tar, root, names, head)
            else:
                with tarfile.open(part, "w") as tar:
                    _add(tar, root, names, head)
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)


def _add(tar: tarfile.TarFile, root: Path, names: Iterable[str], head: str) -> None:
    for name in names:
        tar.add(root / name, arcname=f"{head}{name}", recursive=False, filter=_nobody)


def _nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def unpack_files(file: Path, target: Path, accept: Callable[[str], bool]) -> None:
    """Write what is in the tar *file* below *target*; all its names must be *accept*-able.

    UsageError for what leads out of *target*, for a device, and for what is no tar at all.
    """
    try:
        with tarfile.open(file) as tar, storage_errors(f'unpack "{file}"', target):
            for member in tar:
                _require_harmless(member, file, accept)
                _require_direct(target, member.name, file)
                _write(tar, member, target / member.name)
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise UsageError(f'there is no "{file}"') from error
        if isinstance(error, OSError) and error.errno is not None:
            raise StorageError(f'could not unpack "{file}"', detail=str(error)) from error
        raise UsageError(
            f'"{file}" is damaged, or no archive of ours',
            detail=str(error) or type(error).__name__,
            hint="Copy it again from where it came, or make it again.",
        ) from error


def _require_harmless(member: tarfile.TarInfo, file: Path, accept: Callable[[str], bool]) -> None:
    name = PurePosixPath(member.name)
    wrong = name.is_absolute() or ".." in name.parts or not name.parts or not accept(member.name)
    if member.issym():
        # in a server's installation, links lead to a neighbour: libpq.so to libpq.so.5
        wrong = wrong or "/" in member.linkname or member.linkname in (".", "..")
    elif not (member.isreg() or member.isdir()):
        wrong = True
    if wrong:
        raise UsageError(
            f'"{file}" is refused',
            detail=f"It holds {member.name!r}, which has no place in an archive of ours.",
        )


def _require_direct(target: Path, name: str, file: Path) -> None:
    # what is written through a link that an earlier member made could land anywhere
    for parent in PurePosixPath(name).parents:
        if (target / parent).is_symlink():
            raise UsageError(f'"{file}" is refused', detail=f"{name!r} is behind a link.")


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
        while chunk := stream.read(1 << 20):
            out.write(chunk)
    path.chmod(0o755 if member.mode & 0o100 else 0o644)
