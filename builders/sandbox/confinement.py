"""Run the code of strangers where it reaches no network, no other process and no file of ours.

By bubblewrap: https://github.com/containers/bubblewrap
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

# /run holds the sockets of services, such as Docker's and systemd's.
_EMPTY = ("/tmp", "/var/tmp", "/run")  # noqa: S108  each build has its own
# As root, too, it may do no more than a user of its own.
_BWRAP = (
    *("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--as-pid-1"),
    *("--cap-drop", "ALL", "--clearenv", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
    *(word for path in _EMPTY for word in ("--tmpfs", path)),
)


@cache
def can_confine() -> bool:
    """Return whether bubblewrap is installed and this machine lets us use it."""
    try:
        done = subprocess.run([*_BWRAP, "true"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def confined(
    argv: Sequence[str], *, hidden: Iterable[Path], written: Iterable[Path], read: Iterable[Path]
) -> tuple[str, ...]:
    """Return *argv* run in a sandbox: all is read-only, *hidden* directories are empty.

    *written* and *read* paths are there even below a hidden one. Our Python is among them.
    """
    ours = (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parent, *read)
    empty = [path for path in hidden if path.is_dir() and path != Path("/")]
    words = [word for path in empty for word in ("--tmpfs", str(path))]
    for path in (place for one in ours for place in {one, one.resolve()}):
        if any(path.is_relative_to(one) for one in (*map(Path, _EMPTY), *empty)):
            words += ["--ro-bind-try", str(path), str(path)]
    for path in written:
        words += ["--bind", str(path), str(path)]
    return (*_BWRAP, *words, *argv)
