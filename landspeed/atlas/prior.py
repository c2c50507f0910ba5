"""Where a workload's level probably changed, before anything between two counts is known. Pure.

A commit that edited the functions whose cost changed is more likely the one than its neighbours.
That only orders the search: whichever commit it is, both sides of it are counted in the end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

# Costs also change by what is compiled into other functions, by headers and by plans: a quarter of
# the probability is for all commits alike. A right guess takes two builds, a wrong one wastes one.
_TRUST = 0.75


def edit_weights(
    changes: Mapping[str, float], edited: Mapping[int, Collection[str]]
) -> dict[int, float]:
    """Return how much of *changes* is in functions that were *edited*, by position, as a share.

    *changes* are those of functions' own instructions, of either sign. Positions without any are
    left out.
    """
    whole = sum(map(abs, changes.values()))
    found = {
        position: sum(abs(changes[name]) for name in changes.keys() & names) / whole
        for position, names in edited.items()
        if not changes.keys().isdisjoint(names)
    }
    return {position: weight for position, weight in found.items() if weight}


def change_reached(first: int, last: int, weights: Mapping[int, float]) -> npt.NDArray[np.float64]:
    """Return the probability that the change after *first*, up to *last*, is at or before each.

    Element *i* is for position *first* + *i*, so the first is 0 and the last 1. *weights* are those
    of edit_weights; without any, all positions are alike.
    """
    steps = np.full(last - first, 1.0)
    suspects = {at: weight for at, weight in weights.items() if first < at <= last}
    total = sum(suspects.values())
    trusted = _TRUST * min(1.0, total)
    steps *= (1 - trusted) / steps.size
    for position, weight in suspects.items():
        steps[position - first - 1] += trusted * weight / total
    return np.concatenate(([0.0], np.cumsum(steps)))
