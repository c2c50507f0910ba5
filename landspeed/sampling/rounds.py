"""The schedule: which Runs are still to be made, in random order over all that is compared.

Pure. A Round measures every Point that lacks a sample once, in shuffled order: what drifts
on the machine then falls on all Points alike (randomised blocks; design contract 5).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.workloads.points import Point, PointKey

OVERHEAD_SECONDS = 2.0
"""About what a Run costs besides its own seconds, before one was made: the copy it begins from,
the server's start and end, what is recorded of it."""

_MAX_SEED = 2**31 - 1
# A first guess of what counting one Point takes, on one core.
_COUNT_SECONDS = 20.0


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A Turn is one Run to be made: a Point, the Round it belongs to, pgbench's random seed."""

    point: Point
    round: int
    seed: int


def turns(
    points: Sequence[Point], have: Mapping[PointKey, int], *, samples: int, seed: int
) -> Iterator[Turn]:
    """The Turns that bring every Point to *samples*, Round by Round, each in random order."""
    dice = random.Random(seed)  # noqa: S311  an order, not a secret
    unique = {point.key: point for point in points}
    for round_ in range(1, samples + 1):
        due = [point for key, point in unique.items() if have.get(key, 0) < round_]
        dice.shuffle(due)
        for point in due:
            yield Turn(point=point, round=round_, seed=dice.randint(1, _MAX_SEED))


def counting_seconds(points: int, cores: int) -> float:
    """About how long counting so many *points* takes."""
    return points * _COUNT_SECONDS / cores
