"""Student's t: quantiles, tails, and Welch's test of two means; the tail of Snedecor's F.

The numbers are those of scipy.stats, which takes most of a second to import: every verb would.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special


def t_quantile(probability: float, freedom: float) -> float:
    """What Student's t of *freedom* degrees is below with *probability*."""
    return float(special.stdtrit(freedom, probability))


def t_tail(value: float, freedom: float) -> float:
    """The probability that Student's t of *freedom* degrees exceeds *value*."""
    return float(special.stdtr(freedom, -value))


def welch(first: Sequence[float], second: Sequence[float]) -> float:
    """The two-sided p-value that two means are equal, variances unknown; NaN if it has none.

    Each of at least two values. SOURCE: B. L. Welch, The generalization of "Student's" problem
    when several different population variances are involved, Biometrika 34 (1947).
    """
    one, two = (np.asarray(values, dtype=float) for values in (first, second))
    each = np.array([one.var(ddof=1) / one.size, two.var(ddof=1) / two.size])
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = each.sum() ** 2 / (each**2 / (np.array([one.size, two.size]) - 1)).sum()
        value = abs(one.mean() - two.mean()) / np.sqrt(each.sum())
    return 2 * t_tail(value, freedom)


def f_tail(value: float, first: float, second: float) -> float:
    """The probability that Snedecor's F of *first* and *second* degrees exceeds *value*."""
    return float(special.fdtrc(first, second, max(0.0, value)))
