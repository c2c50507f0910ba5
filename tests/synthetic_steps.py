"""Made-up records of lines of releases, with a step or with noise alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from tests.synthetic import START, Point, record

DAYS: Mapping[str, str] = {f"17.{minor}": f"2025-01-{minor + 1:02}" for minor in range(12)}
"""A line of releases, by date."""


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
