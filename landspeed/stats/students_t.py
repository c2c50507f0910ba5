"""Student's t: quantiles, tails, intervals, Welch's comparison of means; and the tail of F.

The results equal those of scipy.stats, which takes most of a second to import; every command
would pay for it. scipy.special, a third of that, is imported when the first of them is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import scipy

CONFIDENCE = 0.95
"""Confidence of every t interval."""

_TINY = 1e-300

Values = Sequence[float] | npt.NDArray[np.float64]


def t_quantile(probability: float, freedom: float) -> float:
    """Return the quantile of Student's t with *freedom* degrees of freedom at *probability*."""
    return float(scipy.special.stdtrit(freedom, probability))


def t_tail(value: float, freedom: float) -> float:
    """Return the probability that Student's t of *freedom* degrees exceeds *value*."""
    return float(scipy.special.stdtr(freedom, -value))


def f_tail(value: float, first: float, second: float) -> float:
    """Return the probability that Snedecor's F of *first* and *second* degrees exceeds *value*."""
    return float(scipy.special.fdtrc(first, second, max(0.0, value)))


@cache
def interval_quantile(freedom: float) -> float:
    """Return half the width of a 95 % t interval, in standard errors."""
    return t_quantile((1 + CONFIDENCE) / 2, freedom)


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Estimate of a signed sum of means, with its standard error and degrees of freedom."""

    value: float
    error: float
    freedom: float

    @classmethod
    def paired(cls, groups: Sequence[Sequence[float]], signs: Sequence[int]) -> Contrast:
        """Return the contrast of *groups* whose values belong together by index (2 or more)."""
        each = np.array(signs) @ np.array(groups)
        return cls(
            value=_signed_sum(groups, signs),
            error=math.sqrt(each.var(ddof=1) / each.size),
            freedom=each.size - 1,
        )

    @classmethod
    def welch(cls, groups: Sequence[Values], signs: Sequence[int]) -> Contrast:
        """Return the contrast of independent *groups* of 2 or more values, variances unknown.

        SOURCE: B. L. Welch, The generalization of "Student's" problem when several different
        population variances are involved, Biometrika 34 (1947).
        """
        each = np.array([np.var(group, ddof=1) / len(group) for group in groups])
        less = np.array([len(group) - 1 for group in groups])
        return cls(
            value=_signed_sum(groups, signs),
            error=math.sqrt(each.sum()),
            freedom=max(1.0, each.sum() ** 2 / max((each**2 / less).sum(), _TINY)),
        )

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % t interval of the value."""
        half = interval_quantile(self.freedom) * self.error
        return self.value - half, self.value + half

    @property
    def p_value(self) -> float:
        """The two-sided p-value that the true value is 0; NaN where nothing varies."""
        return 2 * t_tail(abs(self.value) / self.error, self.freedom) if self.error else math.nan


def welch(first: Values, second: Values) -> float:
    """Return the two-sided p-value that two means are equal; NaN where nothing varies."""
    return Contrast.welch((first, second), (1, -1)).p_value


def _signed_sum(groups: Sequence[Values], signs: Sequence[int]) -> float:
    return math.fsum(
        sign * float(np.mean(group)) for sign, group in zip(signs, groups, strict=True)
    )
