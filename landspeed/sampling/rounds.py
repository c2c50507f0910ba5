"""Schedule the runs that are missing, in random order over all points. Pure.

A round measures every point that lacks a sample once, in shuffled order, so that a drift of the
machine affects all points alike (randomised blocks).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.workloads.points import Point, PointKey

OVERHEAD_SECONDS = 2.0
"""Estimated seconds of a run besides its own: copying the data, starting and stopping the server,
recording."""

_MAX_SEED = 2**31 - 1
_COUNT_SECONDS = 20.0  # to count one point on one core, a first guess


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One run to make: a point, its round, and pgbench's random seed."""

    point: Point
    round: int
    seed: int


def turns(
    points: Sequence[Point], have: Mapping[PointKey, int], *, samples: int, seed: int
) -> Iterator[Turn]:
    """Yield the runs that bring every point to *samples*, round by round, each in random order."""
    dice = random.Random(seed)  # noqa: S311  no secret depends on it
    unique = {point.key: point for point in points}
    for round_ in range(1, samples + 1):
        due = [point for key, point in unique.items() if have.get(key, 0) < round_]
        dice.shuffle(due)
        for point in due:
            yield Turn(point=point, round=round_, seed=dice.randint(1, _MAX_SEED))


def counting_seconds(points: int, cores: int) -> float:
    """Return the estimated seconds of counting so many *points* on *cores* cores."""
    return points * _COUNT_SECONDS / cores
