"""What builds that failed or were killed left behind: to be looked at for a while, not for ever.

A tree with its objects has 0.7 GB. The same build clears away what it left when it is asked for
again; what nobody asks for again is swept here, whenever some build begins.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from base.errors import BusyError
from base.files import locked, remove_tree

# Of the builds that left something, so many newest ones keep it, and no longer than this.
_KEPT = 4
_SECONDS = 3 * 24 * 3600.0
# An identifier ends with twelve digits of its digest; with a dot more it is a stage or a copy.
_NAME = re.compile(r"(.+-[0-9a-f]{12})(\..+)?")


def sweep(trees: Path, lock_of: Callable[[str], Path]) -> list[str]:
    """Remove what old builds left below *trees*; the identifiers of those builds.

    *lock_of* names the lock file of an identifier: of a build that is being made, nothing goes.
    """
    left: dict[str, list[Path]] = {}
    for path in trees.glob("*/"):
        match = _NAME.fullmatch(path.name)
        if match:
            left.setdefault(match[1], []).append(path)
    kept, swept = 0, []
    for identifier in sorted(left, key=lambda one: _changed(left[one]), reverse=True):
        with suppress(BusyError), locked(lock_of(identifier), wait=False):
            kept += 1
            if kept > _KEPT or _changed(left[identifier]) < time.time() - _SECONDS:
                for path in left[identifier]:
                    remove_tree(path)
                swept.append(identifier)
    return swept


def _changed(paths: list[Path]) -> float:
    # not mtime: an unpacked tree has the day of its release
    times = [0.0]
    for path in paths:
        with suppress(FileNotFoundError):
            times.append(path.stat().st_ctime)
    return max(times)
