"""Corrections of p-values where many hypotheses are tested at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RATE = 0.05
"""The largest expected share of false discoveries."""


def discovery_limit(p_values: Sequence[float], rate: float = RATE) -> float:
    """Return the largest p-value that counts as a discovery; 0 if none does.

    Of the discoveries, an expected share of at most *rate* is false, however the tests depend on
    each other (Benjamini & Yekutieli 2001, Ann. Stat. 29:1165). The weaker rule of Benjamini &
    Hochberg (1995) does not suffice: series of one machine share its good and bad hours, and
    those of one cell share its data. *p_values* has the smallest p-value of each series, 1 for a
    series without any.
    """
    count = len(p_values)
    if count == 0:
        return 0.0
    ordered = np.sort(np.asarray(p_values, dtype=float))
    ranks = np.arange(1, count + 1)
    allowed = ranks * rate / (count * float((1 / ranks).sum()))
    passed = np.flatnonzero(ordered <= allowed)
    return float(ordered[passed[-1]]) if len(passed) else 0.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Return *p_values*, each corrected for their number.

    The probability that any corrected value of a true null hypothesis is at most α is at most α.
    SOURCE: Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Stat. 6
    (1979).
    """
    p, number = np.asarray(p_values, dtype=float), len(p_values)
    order = np.argsort(p)
    found = np.empty(number)
    found[order] = np.minimum(1, np.maximum.accumulate((number - np.arange(number)) * p[order]))
    return [float(one) for one in found]
