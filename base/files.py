"""Files that are whole or not there: atomic writes, locks, digests, free space."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from base.errors import BusyError, ClusterError, LandspeedError, StorageError, reason

_RENAME_EXCHANGE = 2  # linux/fs.h
_AT_FDCWD = -100
_DEEPEST = 32
_MOST_JSON_BYTES = 64 << 20
_LONG_INTEGER = re.compile(r"\d{19}")
_log = logging.getLogger(__name__)
_warned: set[Path] = set()


def warn_set_aside(path: Path, error: LandspeedError) -> None:
    """Warn, once in a process, that the file at *path* is not used because of *error*."""
    if path not in _warned:
        _warned.add(path)
        _log.warning('warning: the file "%s" was set aside: %s', path, reason(error))


def canonical_json(value: Any) -> str:
    """Return *value* as JSON with sorted keys and no spaces: equal values, equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def read_json(path: Path) -> Any:
    """Return the value in the JSON file at *path*; see `parse_json`."""
    if path.stat().st_size > _MOST_JSON_BYTES:
        raise ValueError(f"it has more than {_MOST_JSON_BYTES >> 20} MB")
    return parse_json(path.read_text())


def parse_json(text: str) -> Any:
    """Return the value of the JSON *text*.

    ValueError if it is none, nests too deeply, or holds text that UTF-8 cannot encode or an
    integer of more than 64 bits.
    """
    try:
        # a hook takes a call for every integer, and the text can do without it nearly always
        value = json.loads(text, parse_int=_int64 if _LONG_INTEGER.search(text) else None)
    except RecursionError:
        raise ValueError("it nests too deeply") from None
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_DEEPEST):
        inner = [one.values() if isinstance(one, dict) else one for one in level]
        level = [one for some in inner for one in some if isinstance(one, dict | list)]
        if not level:
            break
    else:
        raise ValueError("it nests too deeply")
    if "\\u" in text:
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _int64(digits: str) -> int:
    if not -(2**63) <= int(digits) < 2**63:
        raise ValueError(f"it has an integer of {len(digits)} digits")
    return int(digits)


def digest_text(text: str) -> str:
    """Return the sha256 of *text* in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def read_text(path: Path) -> str:
    """Return the text of the file at *path*; empty if it cannot be read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def read_end(path: Path, most_bytes: int) -> str:
    """Return the text of the file at *path*; of a longer one the last *most_bytes*."""
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - most_bytes))
        return file.read(most_bytes).decode(errors="replace")


def read_untrusted(path: Path) -> str:
    """Return the text of the file at *path*, in a directory where measured code can write.

    ClusterError if it is a directory, or a link, which could lead to a file that the code may not
    read.
    """
    try:
        with open(path, errors="replace", opener=_open_untrusted) as stream:
            return stream.read()
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EISDIR):
            raise
        raise ClusterError(
            f'"{path}" is no plain file',
            detail="The server, which can write there, may have put a link or a directory in its "
            "place. What a link leads to is not read.",
        ) from error


def _open_untrusted(path: str, flags: int) -> int:
    # nobody may ever write to a pipe
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def digest_file(path: Path) -> str:
    """Return the sha256 of the file at *path* in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest_tree(root: Path) -> str:
    """Return one sha256 over name, executable bit and content of every file below *root*."""
    total = hashlib.sha256()
    for path in files_below(root):
        name = path.relative_to(root).as_posix()
        if path.is_symlink():
            total.update(os.fsencode(f"link {name} {path.readlink()}\n"))
        elif path.is_file():
            executable = bool(path.stat().st_mode & 0o100)
            total.update(os.fsencode(f"file {name} {executable} {digest_file(path)}\n"))
    return total.hexdigest()


def files_below(root: Path) -> list[Path]:
    """Return whatever is below *root* and no directory, links included, sorted.

    RecursionError if directories nest deeper than those of any server. What cannot be read, or is
    not there, is left out.
    """
    found: list[str] = []
    level = [str(root)]
    for _ in range(_DEEPEST):
        inner: list[str] = []
        for directory in level:
            with suppress(PermissionError, FileNotFoundError), os.scandir(directory) as entries:
                for entry in entries:
                    is_directory = entry.is_dir(follow_symlinks=False)
                    (inner if is_directory else found).append(entry.path)
        if not inner:
            return sorted(map(Path, found))
        level = inner
    raise RecursionError(f'"{root}" has directories more than {_DEEPEST} levels deep')


@contextmanager
def storage_errors(what: str, path: Path | None = None) -> Iterator[None]:
    """Turn a full, read-only or forbidden file system into one StorageError.

    Its detail names the file that the system names, else *path*.
    """
    try:
        yield
    except OSError as error:
        match error.errno:
            case errno.ENOSPC | errno.EDQUOT:
                hint = "Free some space, or put the cache elsewhere with LANDSPEED_CACHE."
            case errno.EROFS | errno.EACCES | errno.EPERM:
                hint = "Make it writable, or put the cache elsewhere with LANDSPEED_CACHE."
            case errno.ENOTDIR | errno.EEXIST | errno.ENAMETOOLONG | errno.EIO:
                hint = "Look at what is there, or put the cache elsewhere with LANDSPEED_CACHE."
            case _:
                raise
        where, why = error.filename or path, os.strerror(error.errno)
        detail = f"{where}: {why}" if where else why
        raise StorageError(f"could not {what}", detail=detail, hint=hint) from error


@contextmanager
def writing(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Yield a stream whose content is at *path* when the block ends, or nothing if it fails.

    A reader sees the old file or the whole new one. What can be made again need not be *durable*:
    when the power fails it may then be lost.
    """
    with storage_errors(f'write "{path}"', path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                os.fchmod(handle, 0o644)
                yield stream
                if durable:
                    stream.flush()
                    os.fsync(stream.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def write_atomic(path: Path, data: str | bytes, *, durable: bool = True) -> None:
    """Write *data* to *path*, see `writing`."""
    raw = data.encode() if isinstance(data, str) else data
    with writing(path, durable=durable) as stream:
        stream.write(raw)


@contextmanager
def locked(
    path: Path,
    *,
    shared: bool = False,
    wait: bool = True,
    waiting: Callable[[], None] = lambda: None,
    busy: str = "",
) -> Iterator[int]:
    """Hold an flock on *path*; the kernel drops it if we die. Yields its file descriptor.

    A process that inherits the descriptor holds the lock with us, and after us.

    A lock held elsewhere is waited for, after a call of *waiting*. With ``wait=False`` it is a
    BusyError saying *busy* and naming the process that holds it.
    """
    with storage_errors(f'lock "{path}"', path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _open_lock(path)
    try:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                owner = os.pread(handle, 64, 0).decode(errors="replace").strip()
                raise BusyError(
                    busy or f'"{path}" is locked',
                    detail=f"The lock {path} is held by process {owner}."
                    if owner
                    else f"Lock: {path}.",
                    hint="Wait for it to end, or stop it with Ctrl-C where it runs.",
                ) from None
            waiting()
            fcntl.flock(handle, kind)
        with storage_errors(f'lock "{path}"', path):
            os.ftruncate(handle, 0)  # who was killed with it does not hold it now
            if not shared:
                os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        try:
            yield handle
        finally:
            if not shared:
                os.ftruncate(handle, 0)  # the next error must not name an owner that let go
    finally:
        os.close(handle)


def _open_lock(path: Path) -> int:
    # A lock in a sticky directory may belong to another user: fs.protected_regular
    # forbids O_CREAT on it, plain opening is allowed.
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        os.fchmod(handle, 0o666)
        return handle


def exchange(new: Path, old: Path) -> None:
    """Put directory *new* at *old*'s place in one step; *old*'s content ends up at *new*.

    Uses renameat2(RENAME_EXCHANGE), see rename(2); a plain rename when *old* is not there.
    """
    if not old.exists():
        new.rename(old)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    code = libc.renameat2(_AT_FDCWD, bytes(new), _AT_FDCWD, bytes(old), _RENAME_EXCHANGE)
    if code != 0:
        number = ctypes.get_errno()
        if number not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(number, os.strerror(number), str(old))
        aside = old.with_name(f".{old.name}.aside-{os.getpid()}")
        old.rename(aside)
        new.rename(old)
        aside.rename(new)


def remove_tree(path: Path) -> None:
    """Remove *path* and all below it, however deep, also what was made unreadable.

    A missing path is fine. No symlink is followed, also of those that appear meanwhile.
    """
    # Measured code can nest directories deeper than recursion, a path and open files reach. Each
    # one is moved to the top before it is emptied.
    aside, moved, due = f".{secrets.token_hex(8)}", count(), ["."]
    with suppress(OSError), _opened_to_remove(path) as top:
        while due:
            name = due.pop()
            with suppress(OSError), _opened_to_remove(name, top) as directory:
                for entry in list(os.scandir(directory)):
                    with suppress(OSError):
                        if not entry.is_dir(follow_symlinks=False):
                            os.unlink(entry.name, dir_fd=directory)
                            continue
                        # a directory that may not be written cannot be moved either
                        with _opened_to_remove(entry.name, directory):
                            due.append(f"{aside}-{next(moved)}")
                            os.rename(entry.name, due[-1], src_dir_fd=directory, dst_dir_fd=top)
            with suppress(OSError):
                os.rmdir(name, dir_fd=top)
    with suppress(OSError):
        path.rmdir()


@contextmanager
def _opened_to_remove(name: Path | str, place: int | None = None) -> Iterator[int]:
    """Open directory *name* of the directory *place*, such that what is in it can be removed."""
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with ExitStack() as stack:
        found = os.open(name, flags | os.O_PATH, dir_fd=place)
        stack.callback(os.close, found)
        # Measured code can take a directory's permissions away.
        if os.fstat(found).st_mode & 0o700 != 0o700:
            Path(f"/proc/self/fd/{found}").chmod(0o700)
        opened = os.open(".", flags | os.O_RDONLY, dir_fd=found)
        stack.callback(os.close, opened)
        yield opened


def remove_old(paths: Iterable[Path], seconds: float) -> None:
    """Remove those of the files *paths* that were not written to for so many *seconds*."""
    for path in paths:
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - seconds:
                path.unlink()


def require_free(path: Path, needed: int, what: str) -> None:
    """StorageError unless the file system of *path* has *needed* bytes free for *what*."""
    probe = path
    while not probe.exists():
        probe = probe.parent
    free = shutil.disk_usage(probe).free
    if free < needed:
        raise StorageError(
            f"not enough disk space to {what}",
            detail=f"{path} has {free / 1e9:.1f} GB free, {needed / 1e9:.1f} GB are needed.",
            hint="Free some space, or put the cache elsewhere with LANDSPEED_CACHE.",
        )
