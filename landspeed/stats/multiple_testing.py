"""Which of many series have stepped, when all are looked at and most have not? Pure.

Benjamini & Yekutieli 2001 (Ann. Stat. 29:1165): of the series that are named, the share that has
not stepped is at most the given rate in the mean, whatever the series have to do with each other.
Series of one machine share its good and bad hours and those of one cell its data, so Benjamini &
Hochberg's rule of 1995, which is less strict, could not be relied on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RATE = 0.05
"""The share of series named in vain, among those named."""


def bar(p_values: Sequence[float], rate: float = RATE) -> float:
    """The largest p-value that counts as a discovery; 0 if none does.

    *p_values* are the smallest of each series that was looked at, 1 where there was nothing.
    """
    count = len(p_values)
    if count == 0:
        return 0.0
    ordered = np.sort(np.asarray(p_values, dtype=float))
    ranks = np.arange(1, count + 1)
    allowed = ranks * rate / (count * float((1 / ranks).sum()))
    passed = np.flatnonzero(ordered <= allowed)
    return float(ordered[passed[-1]]) if len(passed) else 0.0
