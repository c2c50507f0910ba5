"""What one more Run would tell: the capacity of a noisy yes or no, per second it costs. Pure.

Horstein, *Sequential transmission using noiseless feedback* (1963), and Burnashev and Zigangirov
(1974) ask at the median of the posterior; Ben-Or and Hassidim (2008) show that nothing is gained
by more than a constant by asking elsewhere; Waeber, Frazier and Henderson, *Bisection search with
noisy responses* (2013), prove the rate. There every question costs the same. Here one that needs
a build is dear and one more Run of what is built is cheap, so the rule is information per cost.
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
# After that many Runs at one commit the next one is always better made elsewhere.
_AHEAD = np.array([1, 2, 3, 4, 6, 8])
# Of neighbours of a commit that does not build that many do not either, of theirs the square.
_STILL_BROKEN = 0.6


def bits(share: Floats, distance: Floats) -> Floats:
    """Bits that a Run tells of which of two levels it is at; shape (distances, shares).

    *share* is the probability of the upper level, *distance* that of the levels in standard
    deviations: the mutual information of a binary input through a Gaussian channel, by
    Gauss-Hermite quadrature.
    """
    p = np.clip(share, 1e-12, 1 - 1e-12)[None, :, None]
    d = np.asarray(distance)[:, None, None]
    z = _NODES[None, None, :]
    lower = np.log2((1 - p) + p * np.exp(np.minimum(d * z - d * d / 2, 600)))
    upper = np.log2(p + (1 - p) * np.exp(np.minimum(-d * z - d * d / 2, 600)))
    mixed = ((1 - p) * lower + p * upper) @ _WEIGHTS
    return np.asarray(np.maximum(-mixed, 0.0))


def building(positions: Sequence[int], skipped: Collection[int]) -> Floats:
    """How likely each of *positions* is to build: what broke one commit often broke the next."""
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
    """Which of *positions* promises most bits per second.

    *share* is each one's probability to be at the upper level. A build is paid for by the Runs
    that will follow it there: as many as make it worth most.
    """
    table = bits(_KNOTS, distance * np.sqrt(_AHEAD))
    told = np.stack([np.interp(share, _KNOTS, row) for row in table])
    is_built = np.isin(positions, list(built))
    price = np.where(is_built, 0.0, costs.build)[None, :] + costs.run * _AHEAD[:, None]
    rate = (told / price).max(axis=0) * np.where(is_built, 1.0, building(positions, skipped))
    return positions[int(np.argmax(rate))]
