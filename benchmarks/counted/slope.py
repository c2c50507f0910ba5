"""The slope between a short and a long series, and how well two slopes agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from base.errors import MeasureError
from benchmarks.counted.callgrind import Profile
from benchmarks.counted.series import CountedSeries

SPREAD_LIMIT = 0.001
"""How far apart the two slopes may be, relative to their mean: half of the least step told."""


class NotRepeatedError(MeasureError):
    """Two counts of the same work that are further apart than SPREAD_LIMIT."""


@dataclass(frozen=True, kw_only=True)
class Slope:
    """The cost of one more execution, from a short and a long series."""

    short: CountedSeries
    long: CountedSeries

    @property
    def executions(self) -> int:
        """How many the long series has more."""
        return self.long.executions - self.short.executions

    @property
    def instructions(self) -> float:
        """Instructions per execution."""
        return self.of(lambda one: one.instructions)

    def of(self, value: Callable[[CountedSeries], float]) -> float:
        """Return the slope of *value*, per execution."""
        return (value(self.long) - value(self.short)) / self.executions

    def profile(self) -> Profile:
        """Return where the instructions of one execution are executed."""
        return self.long.profile.since(self.short.profile, self.executions)


def slopes_of(series: Sequence[CountedSeries]) -> list[Slope]:
    """Return the slopes between neighbours of *series*, a short and a long one."""
    pairs = [sorted(series[first : first + 2], key=_executions) for first in (0, 2)]
    return [Slope(short=short, long=long) for short, long in pairs]


def _executions(series: CountedSeries) -> int:
    return series.executions


def sample_of(slopes: Sequence[Slope], label: str) -> dict[str, float]:
    """Return the sample that *slopes* are: means, and how far apart they are, relative to the mean.

    NotRepeatedError if that is more than SPREAD_LIMIT; *label* names the server.
    """
    numbers = [slope.instructions for slope in slopes]
    mean = sum(numbers) / len(numbers)
    spread = (max(numbers) - min(numbers)) / mean if mean > 0 else inf
    if spread > SPREAD_LIMIT:
        raise NotRepeatedError(
            f"counting {label} twice gave different numbers",
            detail=f"{', '.join(f'{n:.1f}' for n in numbers)} instructions per transaction are "
            f"{spread:.2%} apart, {SPREAD_LIMIT:.2%} are allowed.",
            hint="Count it again; a server whose work depends on time cannot be counted.",
        )
    clocked = sum(slope.of(lambda one: one.clocked) for slope in slopes) / len(slopes)
    return {
        "instructions": round(mean, 3),
        "instructions_spread": round(spread, 9),
        "clocked_instructions": round(clocked, 4),
        "wal_bytes_tx": _least(slopes, lambda one: one.wal_bytes),
        "blocks_tx": _least(slopes, lambda one: one.blocks_hit + one.blocks_read),
        "blocks_read_tx": _least(slopes, lambda one: one.blocks_read),
        "transactions": slopes[0].executions,
    }


def _least(slopes: Sequence[Slope], value: Callable[[CountedSeries], float]) -> float:
    """Return the slope between the least of the short and of the long series.

    What others add to these counts now and then (the background writer notes running
    transactions in the WAL every 15 s) is in one of them and only ever more.
    """
    short = min(value(slope.short) for slope in slopes)
    long = min(value(slope.long) for slope in slopes)
    return round((long - short) / slopes[0].executions, 4)
