"""What the search finds: every version that is measured, by name, commit, subject and author."""

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
"""The name of the list that has what is no commit of upstream's."""


@dataclass(kw_only=True)
class Measured:
    """A Measured is what was measured of one Origin: where, in which builds, in how many Runs."""

    origin: Origin
    version: str
    machines: set[str] = field(default_factory=set)
    variants: set[str] = field(default_factory=set)
    modes: set[str] = field(default_factory=set)
    runs: int = 0

    def facts(self) -> dict[str, Any]:
        """The Measured as JSON can hold it."""
        return {
            "name": self.origin.name,
            "date": self.origin.date[:10],
            "version": self.version,
            "machines": sorted(self.machines),
            "variants": sorted(self.variants),
            "modes": sorted(self.modes),
            "runs": self.runs,
        }


def measured(dots: Dots, versions: Mapping[str, str]) -> list[Measured]:
    """What was measured of each origin of *dots*; *versions* is by digest."""
    keys = ["digest", "machine", "mode", *VARIANT_COLUMNS]
    groups = Groups.of(codes(dots.heads, keys))
    counts = groups.sums(dots.groups.sizes.astype(np.uint64)).tolist()
    rows = dots.heads.select(keys).take(groups.lasts).to_pylist()
    found: dict[str, Measured] = {}
    for row, runs in zip(rows, counts, strict=True):
        for name, origin in dots.servers.get(row["digest"], {}).items():
            one = found.get(name)
            if one is None:
                version = versions.get(row["digest"], "")
                one = found[name] = Measured(origin=origin, version=version)
            one.machines.add(row["machine"])
            one.variants.add(variant_of(row).name)
            one.modes.add(row["mode"])
            one.runs += runs
    return list(found.values())


def search_lists(
    all_measured: Iterable[Measured], place_of: PlaceOf, commits: Commits
) -> dict[str, list[dict[str, Any]]]:
    """What can be found, by list: the releases, and the commits of each year, newest first.

    What the years before have been stays as it is: only the last lists change from day to day.
    """
    lists: dict[str, list[dict[str, Any]]] = {RELEASES: []}
    placed: list[tuple[str, int, Measured]] = []
    for one in all_measured:
        place = place_of(one.origin)
        if one.origin.release is not None or one.origin.registered is not None:
            lists[RELEASES].append(one.facts())
        elif place is not None:
            placed.append((place.branch, place.position, one))
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
