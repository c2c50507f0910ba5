"""A release tarball as a git tree: the bytes, executable bits and links, nothing else."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from base.errors import SourceError

IMPORTING = "refs/landspeed/importing"
_READ_ERRORS = (tarfile.TarError, EOFError, OSError, UnicodeError)


@dataclass(kw_only=True)
class ImportResult:
    """What an import saw: the newest mtime in seconds, and the number of files."""

    newest: int = 0
    files: int = 0
    root: str = field(default="")


def write_tree_commit(archive: Path, stream: IO[bytes]) -> ImportResult:
    """Write the content of *archive* to git fast-import's *stream*, as one commit on IMPORTING.

    The leading directory is dropped. Ends with ``done``, without which fast-import
    (run with ``--done``) changes no ref: an import cut short leaves nothing.
    """
    seen = ImportResult()
    stream.write(f"commit {IMPORTING}\ncommitter landspeed <> 0 +0000\ndata 0\n".encode())
    try:
        with tarfile.open(archive, "r|*") as tar:
            for member in tar:
                content = tar.extractfile(member) if member.isreg() else None
                _write_member(member, content, stream, seen)
    except BrokenPipeError:
        raise
    except _READ_ERRORS as error:
        raise SourceError(
            f'"{archive.name}" is not a whole tarball', detail=str(error) or type(error).__name__
        ) from error
    if not seen.files:
        raise SourceError(f'"{archive.name}" is empty')
    stream.write(b"\ndone\n")
    return seen


def _write_member(
    member: tarfile.TarInfo, content: IO[bytes] | None, stream: IO[bytes], seen: ImportResult
) -> None:
    if member.isdir():
        return
    path = _path_below_root(member.name, seen)
    if member.issym():
        target = member.linkname.encode()
        _write_blob(stream, "120000", path, io.BytesIO(target), len(target))
    elif member.islnk():
        original = _path_below_root(member.linkname, seen)
        stream.write(f"C {_quoted(original)} {_quoted(path)}\n".encode())
    elif content is not None:
        mode = "100755" if member.mode & 0o100 else "100644"
        _write_blob(stream, mode, path, content, member.size)
    else:
        raise tarfile.TarError(f"{member.name} is neither a file nor a link")
    seen.newest = max(seen.newest, int(member.mtime))
    seen.files += 1


def _write_blob(stream: IO[bytes], mode: str, path: str, content: IO[bytes], size: int) -> None:
    stream.write(f"M {mode} inline {_quoted(path)}\ndata {size}\n".encode())
    data = content.read()
    if len(data) != size:
        raise tarfile.ReadError(f"{path}: unexpected end of data")
    stream.write(data)
    stream.write(b"\n")


def _path_below_root(name: str, seen: ImportResult) -> str:
    parts = PurePosixPath(name).parts
    bad = not parts or parts[0] == "/" or ".." in parts or ".git" in map(str.lower, parts)
    if bad or any(ord(letter) < 32 for letter in name):
        raise tarfile.TarError(f"{name!r} has no place in a release")
    seen.root = seen.root or parts[0]
    if parts[0] != seen.root or len(parts) < 2:
        raise tarfile.TarError(f"{name!r} is outside of {seen.root}/")
    return "/".join(parts[1:])


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
