"""Versions as ordered categories: releases, external servers, and the newest commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import pyarrow as pa

from base.build import Origin
from base.version import Version
from benchmarks.records.identical_builds import Origins
from builders.source import Position
from landspeed.results.arrays import distinct
from landspeed.results.series import RELEASES_LINE, PlaceOf

RECENT = 20
"""The number of commits of each branch that are shown beside the releases, the newest ones."""

_KINDS = ("release", "registered", "commit")


@dataclass(frozen=True, kw_only=True)
class Category:
    """One version on an axis: its origin, the version it reports, and its position in history.

    ``parsed`` is the version to order by. ``tip`` is whether it is the newest measured commit of
    its branch.
    """

    origin: Origin
    version: str
    parsed: Version
    position: Position | None
    tip: bool = False

    @property
    def kind(self) -> str:
        """``release``, ``registered`` (an external server) or ``commit``."""
        if self.origin.registered is not None:
            return "registered"
        return "release" if self.origin.release else "commit"

    @property
    def major(self) -> str:
        """Its major version, such as ``9.6`` or ``17``."""
        return self.parsed.major_text

    def order(self) -> tuple[Any, ...]:
        """Return the sort key: version, then releases before commits, then position."""
        return (
            self.parsed,
            _KINDS.index(self.kind),
            self.position.branch if self.position else "",
            self.position.position if self.position else 0,
            self.origin.name,
        )

    def facts(self) -> dict[str, Any]:
        """Return the category for JSON, without missing values."""
        known = {
            "name": self.origin.name,
            "kind": self.kind,
            "version": self.version,
            "major": self.major,
            "date": self.origin.date[:10],
            "commit": self.origin.commit if self.kind == "commit" else None,
            "line": self.position.branch if self.position and self.kind == "commit" else None,
            "tip": self.tip or None,
        }
        return {name: value for name, value in known.items() if value is not None}


def categories(
    origins: Origins, versions: Mapping[str, str], place_of: PlaceOf
) -> dict[str, Category]:
    """Return the categories of *origins* by name, in order; *versions* is by a server's digest.

    Of each branch only the newest RECENT commits are included. A commit on no branch has no
    position and is left out.
    """
    found: dict[str, Category] = {}
    branches: dict[str, list[tuple[int, Category]]] = {}
    for digest, named in origins.items():
        version = versions.get(digest, "")
        try:
            parsed = Version.parse(version)
        except ValueError:
            continue
        for name, origin in named.items():
            place = place_of(origin)
            one = Category(origin=origin, version=version, parsed=parsed, position=place)
            if one.kind != "commit":
                found[name] = one
            elif place and place.branch != RELEASES_LINE:
                branches.setdefault(place.branch, []).append((place.position, one))
    for some in branches.values():
        newest = [one for _, one in sorted(some, key=itemgetter(0))[-RECENT:]]
        found |= {one.origin.name: one for one in newest}
        found[newest[-1].origin.name] = replace(newest[-1], tip=True)
    return {one.origin.name: one for one in sorted(found.values(), key=Category.order)}


def versions_of(table: pa.Table) -> dict[str, str]:
    """Return the version that each server in *table* (RecordStore.table()) reports, by digest."""
    rows = distinct(table, ["digest", "version"])
    pairs = sorted((row["digest"], row["version"]) for row in rows if row["version"])
    return dict(pairs)
