"""Where the next run gives the most information for its cost. Pure.

Horstein, *Sequential transmission using noiseless feedback* (1963), and Burnashev and Zigangirov
(1974) query the median of the posterior. Ben-Or and Hassidim (2008) show that querying elsewhere
gains no more than a constant; Waeber, Frazier and Henderson, *Bisection search with noisy
responses* (2013), prove the rate. They assume that all queries cost the same. Here a query that
needs a build is expensive and another run of an existing build is cheap, so the rule is to
maximise information per second.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from landspeed.bisect.model import Costs

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(24)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_KNOTS = 0.5 - 0.5 * np.cos(np.linspace(0, np.pi, 97))  # denser towards 0 and 1
# After the largest of these numbers of runs at one commit, a run elsewhere is always better.
_AHEAD = np.array([1, 2, 3, 4, 6, 8])
# The share of neighbours of a commit that does not build that do not build either.
_STILL_BROKEN = 0.6


def information(share: Floats, distance: Floats) -> Floats:
    """Return the bits that a run gives about which of two levels it is at.

    This is the mutual information of a binary input through a Gaussian channel, by Gauss-Hermite
    quadrature. *share* is the probability of the upper level, *distance* that of the levels in
    standard deviations; shape (distances, shares).
    """
    p = np.clip(share, 1e-12, 1 - 1e-12)[None, :, None]
    d = np.asarray(distance)[:, None, None]
    z = _NODES[None, None, :]
    lower = np.log2((1 - p) + p * np.exp(np.minimum(d * z - d * d / 2, 600)))
    upper = np.log2(p + (1 - p) * np.exp(np.minimum(-d * z - d * d / 2, 600)))
    mixed = ((1 - p) * lower + p * upper) @ _WEIGHTS
    return np.asarray(np.maximum(-mixed, 0.0))


def build_probability(positions: Sequence[int], skipped: Collection[int]) -> Floats:
    """Return how likely each of *positions* can be built, given that *skipped* cannot."""
    if not skipped:
        return np.ones(len(positions))
    broken = np.array(sorted(skipped))
    away = np.abs(np.asarray(positions)[:, None] - broken[None, :]).min(axis=1)
    return np.asarray(1 - _STILL_BROKEN**away)


def best_probe(
    positions: Sequence[int],
    share: Floats,
    *,
    distance: float,
    built: Collection[int],
    skipped: Collection[int],
    costs: Costs,
) -> int:
    """Return the one of *positions* that promises the most bits per second.

    *share* is the probability of each to be at the upper level. The cost of a build is spread
    over the number of runs there that makes it worth most.
    """
    table = information(_KNOTS, distance * np.sqrt(_AHEAD))
    bits = np.stack([np.interp(share, _KNOTS, row) for row in table])
    is_built = np.isin(positions, list(built))
    price = np.where(is_built, 0.0, costs.build)[None, :] + costs.run * _AHEAD[:, None]
    rate = (bits / price).max(axis=0) * np.where(
        is_built, 1.0, build_probability(positions, skipped)
    )
    return positions[int(np.argmax(rate))]
