"""Plain statistics of one sample: count, mean, standard deviation, minimum, median, maximum."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from statistics import median
from typing import Any

from landspeed.stats.students_t import interval_quantile

_DIGITS = 7


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Statistics of the values of some runs, in their metric's unit.

    ``stddev`` is the sample standard deviation (n - 1), None for a single value.
    """

    runs: int
    mean: float
    stddev: float | None
    minimum: float
    median: float
    maximum: float

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Summary | None:
        """Return the summary of *values* without those that are None; None if nothing is left."""
        known = [float(value) for value in values if value is not None]
        if not known:
            return None
        mean = math.fsum(known) / len(known)
        squares = math.fsum((value - mean) ** 2 for value in known)
        return cls(
            runs=len(known),
            mean=mean,
            stddev=math.sqrt(squares / (len(known) - 1)) if len(known) > 1 else None,
            minimum=min(known),
            median=median(known),
            maximum=max(known),
        )

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % t interval of the mean; None for a single value.

        It is computed for the logarithm of the mean, so that it cannot begin below zero:
        mean · exp(± t · s / (mean · √n)). Where a value is not above 0, which neither latency nor
        TPS can be, it is mean ± t · s / √n. It assumes independent runs, which they are: a server
        is started for each. SOURCES: "Student", The probable error of a mean, Biometrika 6(1),
        1908; G. W. Oehlert, A note on the delta method, The American Statistician 46(1), 1992.
        """
        if self.stddev is None:
            return None
        half = interval_quantile(self.runs - 1) * self.stddev / math.sqrt(self.runs)
        if self.minimum <= 0:
            return self.mean - half, self.mean + half
        return self.mean * math.exp(-half / self.mean), self.mean * math.exp(half / self.mean)

    def facts(self) -> dict[str, Any]:
        """Return the summary as JSON can hold it."""
        return asdict(self)


def rounded(value: float) -> float:
    """Return *value* with seven significant digits: more than any measurement has."""
    return value if isinstance(value, int) else float(f"{value:.{_DIGITS}g}")
