"""Run code that was built from anybody's source where it reaches no network and no file of ours.

By bubblewrap: https://github.com/containers/bubblewrap
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

# What is confined has its own. /run holds the sockets of services, such as Docker's and systemd's.
_EMPTY = ("/tmp", "/var/tmp", "/run", "/dev/shm")  # noqa: S108
_BWRAP = (
    *("bwrap", "--die-with-parent", "--cap-drop", "ALL"),
    *("--ro-bind", "/", "/", "--dev", "/dev"),
    # anybody may write there, as usual: without it initdb takes another kind of shared memory
    *(word for path in _EMPTY for word in ("--perms", "1777", "--tmpfs", path)),
)
_ALONE = ("--unshare-all", "--new-session", "--as-pid-1", "--clearenv", "--proc", "/proc")
# A server's processes keep their ids, by which we signal, watch and count them.
_SERVER = ("--unshare-net", "--unshare-ipc", "--unshare-uts")


@cache
def can_confine(as_user: tuple[str, ...] = ()) -> bool:
    """Return whether bubblewrap is installed and this machine lets us use it.

    *as_user* are the words of a program that starts another as some user.
    """
    argv = (*as_user, *_BWRAP, *_ALONE, "true")
    try:
        done = subprocess.run(argv, cwd="/", capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def confined(
    argv: Sequence[str],
    *,
    hidden: Iterable[Path],
    written: Iterable[Path],
    read: Iterable[Path],
    environment: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Return *argv* run with no other process in sight, and nothing but *environment*.

    All files are read-only, *hidden* directories are empty; *written* and *read* paths are there
    even below a hidden one.
    """
    variables = (environment or {}).items()
    words = (word for name, value in variables for word in ("--setenv", name, value))
    return (*_BWRAP, *_ALONE, *words, *_places(hidden, written, read), *argv)


def confined_server(
    argv: Sequence[str], *, written: Iterable[Path], read: Iterable[Path]
) -> tuple[str, ...]:
    """Return *argv* run without network, home, and the shared memory of others.

    It runs in the one child of the process that we start. *written* and *read* as in `confined`.
    """
    return (*_BWRAP, *_SERVER, *_places((Path.home(),), written, read), *argv)


def _places(hidden: Iterable[Path], written: Iterable[Path], read: Iterable[Path]) -> Iterable[str]:
    """Return the words that hide, and show again. Our Python is always shown."""
    empty = [path for path in hidden if path.is_dir() and path != Path("/")]
    for path in empty:
        yield from ("--tmpfs", str(path))
    empty += map(Path, _EMPTY)
    ours = (Path(sys.prefix), Path(sys.base_prefix), *read)
    for path in (place for one in ours for place in {one, one.resolve()}):
        if any(path.is_relative_to(one) for one in empty):
            yield from ("--dir", str(path.parent), "--ro-bind-try", str(path), str(path))
    for path in written:
        if any(path.is_relative_to(one) for one in empty):
            # without it, the parents of a private directory would be as private
            yield from ("--dir", str(path.parent))
        yield from ("--bind", str(path), str(path))
