"""The lists that the search page searches: all measured versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from base.build import Origin
from benchmarks.records.columns import VARIANT_COLUMNS, variant_of
from landspeed.console.markdown import plain
from landspeed.results.arrays import Groups, codes
from landspeed.results.points import Dots
from landspeed.results.series import PlaceOf
from landspeed.site.pages.changes import Commits

RELEASES = "releases"
"""The list of releases and of external servers."""


@dataclass(kw_only=True)
class MeasuredVersion:
    """What was measured of one origin: machines, variants, modes, number of runs."""

    origin: Origin
    version: str
    machines: set[str] = field(default_factory=set)
    variants: set[str] = field(default_factory=set)
    modes: set[str] = field(default_factory=set)
    runs: int = 0

    def facts(self) -> dict[str, Any]:
        """Return a row of a list."""
        return {
            "name": self.origin.name,
            "date": self.origin.date[:10],
            "version": self.version,
            "machines": sorted(self.machines),
            "variants": sorted(self.variants),
            "modes": sorted(self.modes),
            "runs": self.runs,
        }


def measured(dots: Dots, versions: Mapping[str, str]) -> list[MeasuredVersion]:
    """Return what was measured of each origin of *dots*; *versions* is by digest."""
    keys = ["digest", "machine", "mode", *VARIANT_COLUMNS]
    groups = Groups(codes(dots.heads, keys))
    counts = groups.sums(dots.groups.sizes.astype(np.uint64)).tolist()
    rows = dots.heads.select(keys).take(groups.lasts).to_pylist()
    found: dict[str, MeasuredVersion] = {}
    for row, runs in zip(rows, counts, strict=True):
        for name, origin in dots.servers.get(row["digest"], {}).items():
            fresh = MeasuredVersion(origin=origin, version=versions.get(row["digest"], ""))
            one = found.setdefault(name, fresh)
            one.machines.add(row["machine"])
            one.variants.add(variant_of(row).name)
            one.modes.add(row["mode"])
            one.runs += runs
    return list(found.values())


def search_lists(
    all_measured: Iterable[MeasuredVersion], place_of: PlaceOf, commits: Commits
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each list, newest first: the releases, and the commits of each year.

    A list a year, so that only the last lists change from day to day.
    """
    lists: dict[str, list[dict[str, Any]]] = {RELEASES: []}
    placed: list[tuple[str, int, MeasuredVersion]] = []
    for one in all_measured:
        position = place_of(one.origin)
        if one.origin.release is not None or one.origin.registered is not None:
            lists[RELEASES].append(one.facts())
        elif position is not None:
            placed.append((position.branch, position.position, one))
    before: dict[str, str] = {}
    for line, _, one in sorted(placed, key=lambda item: item[:2]):
        full = str(one.origin.commit)
        row = one.facts() | {"commit": full, "line": line}
        known = commits.get(full)
        if known is not None:
            row |= {"subject": plain(known.subject), "author": plain(known.author)}
        if line in before:
            row["before"] = before[line]
        before[line] = one.origin.name
        lists.setdefault(row["date"][:4], []).append(row)
    for rows in lists.values():
        rows.sort(key=lambda row: (row["date"], row["name"]), reverse=True)
    return lists
