"""How far a build is, from its log and its object files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from base.files import read_end
from builders.recipe import Recipe

_NINJA_COUNT = re.compile(r"\[(\d{1,9})/(\d{1,9})\]")


@dataclass(frozen=True, kw_only=True)
class BuildProgress:
    """How far a build is: ninja's own count, or under make the number of object files.

    ``tree`` is built in; ``expected`` is its number of object files when it is done.
    """

    tree: Path
    log: Path
    expected: int

    def share(self) -> float:
        """Return the share done, 0 … 1."""
        counts = _NINJA_COUNT.findall(read_end(self.log, 4096))
        if counts:
            done, total = map(int, counts[-1])
        else:
            done, total = _count(self.tree / "src", ".o"), self.expected
        return min(1.0, done / max(1, total))


def _count(directory: Path, suffix: str) -> int:
    return sum(name.endswith(suffix) for _, _, names in os.walk(directory) for name in names)


def count_sources(source: Path, recipe: Recipe) -> int:
    """Return the number of C files in *source* that *recipe* compiles."""
    places = [a for s in recipe.steps for a in s.argv if a.startswith("src/")]
    roots = [p for p in set(places) if not any(p.startswith(f"{o}/") for o in set(places))]
    return sum(_count(source / root, ".c") for root in roots)
