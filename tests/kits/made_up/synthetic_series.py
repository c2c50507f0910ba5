"""Made-up records of lines of releases, with a step or with noise alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import pyarrow as pa

from base.build import Origin
from benchmarks.records.columns import scalars
from builders.source import Position
from landspeed.changepoints.detect import ChangepointScan, detect
from landspeed.results.points import Dots
from landspeed.results.series import RELEASES_LINE
from tests.kits.made_up.synthetic import START, Point, record

DAYS: Mapping[str, str] = {f"17.{minor}": f"2025-01-{minor + 1:02}" for minor in range(12)}
"""A line of releases, by date."""

Records = Iterable[Mapping[str, Any]]


def line(
    latency: Mapping[str, float], *, runs: int = 8, at: datetime = START, **point: Any
) -> Iterator[dict[str, Any]]:
    """*runs* records of each release of *latency* (ms), in rounds; runs vary by 2 %."""
    for number in range(runs):
        for release, level in latency.items():
            at += timedelta(seconds=7)
            facts = {
                "release": release,
                "date": DAYS.get(release, "2025-01-31"),
                "latency_ms": level,
                **point,
            }
            yield record(Point(**facts), number=number, at=at)


def level(before: float, after: float | None = None, *, at: str = "17.6") -> dict[str, float]:
    """The latency of each of DAYS: *before*, and from the release *at* on *after*."""
    names = list(DAYS)
    return {
        name: after if after is not None and i >= names.index(at) else before
        for i, name in enumerate(names)
    }


def commit(number: int) -> str:
    return f"{number:010x}" + 30 * "0"


def place_of(origin: Origin) -> Position | None:
    """Releases in the order of DAYS; commits called by their number, from 1000 on of a branch."""
    if origin.release is not None:
        known = origin.release in DAYS
        return (
            Position(branch=RELEASES_LINE, position=list(DAYS).index(origin.release))
            if known
            else None
        )
    if origin.commit is None:
        return None
    number = int(origin.commit[:10], 16)
    return Position(branch="REL_17_STABLE" if number >= 1000 else "master", position=number)


def commits(levels: Iterable[float], *, first: int = 0, **point: Any) -> Iterable[dict[str, Any]]:
    """One run of a commit at each of *levels* (ms), measured in no order."""
    made = []
    for number, latency in enumerate(levels, first):
        facts = {"release": None, "commit": commit(number), "latency_ms": latency, **point}
        at = START + timedelta(hours=(number * 37) % 101)
        made.append(record(Point(**facts), at=at))
    return made


def table_of(*records: Records) -> pa.Table:
    """What RecordStore.table() would be, had it these records."""
    return scalars(sorted(chain(*records), key=lambda one: str(one["id"])))


def scanned(*records: Records, **options: Any) -> ChangepointScan:
    return detect(Dots(table_of(*records)), place_of, **options)
