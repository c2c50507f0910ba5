"""What independent Runs of one server say in one cell: mean, interval, spread."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any, Self

from landspeed.stats.students_t import t_quantile

CONFIDENCE = 0.95
_DIGITS = 7
# From here on Student's t is the normal distribution to three digits, or a little wider.
LARGEST_FREEDOM = 200


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """Numbers are what the values of some Runs amount to, in their metric's unit.

    ``interval`` is the 95 % t-interval of the mean: mean ± t · s / √n with n - 1 degrees of
    freedom ("Student", The probable error of a mean, Biometrika 6(1), 1908). It takes Runs for
    independent, as they are: each on a server started for it. One Run has no ``interval`` and no
    ``deviation``. ``log_mean`` and ``log_deviation`` are of the natural logarithms: ratios of
    two servers are made of them. None where a value is not above 0.
    """

    values: tuple[float, ...]
    mean: float
    deviation: float | None
    interval: tuple[float, float] | None
    log_mean: float | None
    log_deviation: float | None

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Self | None:
        """The Numbers of *values*, without those that are None; None if that leaves nothing."""
        known = tuple(value for value in values if value is not None)
        if not known:
            return None
        mean, deviation = _moments(known)
        half = half_width(deviation, len(known)) if deviation is not None else None
        logs = [math.log(value) for value in known] if min(known) > 0 else None
        log_mean, log_deviation = _moments(logs) if logs else (None, None)
        return cls(
            values=known,
            mean=mean,
            deviation=deviation,
            interval=None if half is None else (mean - half, mean + half),
            log_mean=log_mean,
            log_deviation=log_deviation,
        )

    def facts(self) -> dict[str, Any]:
        """The Numbers as JSON can hold them, to seven digits; what they do not have is left out."""
        low, high = self.interval or (None, None)
        all_of = {
            "n": len(self.values),
            "mean": self.mean,
            "low": low,
            "high": high,
            "sd": self.deviation,
            "min": min(self.values),
            "median": median(self.values),
            "max": max(self.values),
            "lm": self.log_mean,
            "ls": self.log_deviation,
        }
        return {name: rounded(one) for name, one in all_of.items() if one is not None}


def _moments(values: Sequence[float]) -> tuple[float, float | None]:
    mean = math.fsum(values) / len(values)
    if len(values) < 2:
        return mean, None
    square = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(square / (len(values) - 1))


def half_width(deviation: float, runs: int) -> float:
    """Half of the 95 % t-interval of the mean of *runs* Runs (2 or more)."""
    return t_975(runs - 1) * deviation / math.sqrt(runs)


@cache
def t_975(freedom: int) -> float:
    """What Student's t of *freedom* degrees is below with probability 0.975."""
    return t_quantile((1 + CONFIDENCE) / 2, freedom)


def t_table() -> list[float]:
    """``t_975`` of 1 … LARGEST_FREEDOM degrees, for pages that compare what they are told."""
    return [round(t_975(freedom), 6) for freedom in range(1, LARGEST_FREEDOM + 1)]


def rounded(value: float) -> float:
    """*value* to seven significant digits: what no measurement has, and equal everywhere."""
    return value if isinstance(value, int) else float(f"{value:.{_DIGITS}g}")
