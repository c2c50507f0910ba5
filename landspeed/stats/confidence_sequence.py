"""A confidence sequence for a log ratio: an interval that may be looked at after every block.

Pure. The differences d_1, d_2, … are one for each block: the logarithm of B's number less that
of A's, the two Runs in an order that was drawn by lot. If B is A, the lot alone decides the sign
of each difference: heads or tails, whatever the noise, however it drifts, however its values
hang together. So one may bet on the next sign, with stakes that depend on all magnitudes so far
and on all earlier signs, and nobody gets rich by it: the chance that the wealth ever reaches
1/α times the beginning is at most α (Ville, "Étude critique de la notion de collectif", 1939).
The hypothesis "the ratio is e^θ" is tested by the same bets on d_i - θ, and the confidence
sequence is every θ that is not refuted.

Sources: randomisation as the basis of inference, Fisher, "The Design of Experiments" (1935),
chapter 3, and Pitman, "Significance tests which may be applied to samples from any populations"
(J. R. Stat. Soc. Suppl. 4, 1937); martingales from symmetric differences, de la Peña, "A general
class of exponential inequalities for martingales and ratios" (Ann. Probab. 27(1), 1999); tests
and confidence sequences by betting, Ramdas, Ruf, Larsson and Koolen, "Admissible anytime-valid
sequential inference must rely on nonnegative martingales" (arXiv:2009.03167, 2020) and
Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (J. R. Stat.
Soc. B 86(1), 2024). The stakes are our choice; any choice keeps the error rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# The effects, in standard deviations of a difference, that the bets are good at, and how the
# money is spread over them. Half of each goes on "slower", half on "faster".
_EFFECTS = np.array([0.05, 0.15, 0.4, 1.0, 3.0])
_SHARES = np.array([0.1, 0.2, 0.2, 0.2, 0.3])
# A difference counts for no more than this many mean magnitudes: an outlier decides nothing.
_LARGEST = 3.0
_GRID = 129
_ZOOMS = 3
_REACHES = (1.0, 10.0, 100.0, 1000.0)
_MOST_BLOCKS = 10**7


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An Interval is a range of ratios, of B's number to A's, that the data do not refute."""

    low: float
    high: float

    def holds(self, ratio: float) -> bool:
        """Whether *ratio* is one of them."""
        return self.low <= ratio <= self.high

    def __str__(self) -> str:
        return f"{self.low:.4f} … {self.high:.4f}"

    def within(self, precision: float) -> bool:
        """Whether all of them are 1 ± *precision*, as a factor either way."""
        return self.low >= 1 / (1 + precision) and self.high <= 1 + precision


def log_wealth(differences: Floats) -> Floats:
    """The logarithm of the wealth after each of *differences*, along the last axis, from 1 on.

    Each bet is tanh(δ·w) of the wealth on the next sign, w its magnitude in (power) means of
    the magnitudes so far: for normal noise what a likelihood ratio, given the magnitude, would
    bet. The wealth is the sum over all δ and both signs.
    """
    sizes = np.abs(differences)
    # a mean of roots, squared: one wild run in forty only doubles it
    means = (np.cumsum(np.sqrt(sizes), axis=-1) / np.arange(1, differences.shape[-1] + 1)) ** 2
    weights = np.minimum(_LARGEST, sizes / np.where(means > 0, means, 1.0))
    signs = np.sign(differences)
    total = np.full(differences.shape, -np.inf)
    for effect, share in zip(_EFFECTS, _SHARES, strict=True):
        stakes = np.tanh(effect * weights) * signs
        for bets in (stakes, -stakes):
            wealth = np.log(share / 2) + np.cumsum(np.log1p(bets), axis=-1)
            total = np.logaddexp(total, wealth)
    return total


@cache
def fewest_blocks(alpha: float) -> int:
    """The blocks it takes to refute anything at *alpha*, were all signs the same."""
    blocks = 1
    while log_wealth(np.ones(blocks))[-1] < -math.log(alpha):
        blocks += 1
    return blocks


def interval(differences: Floats, alpha: float) -> Interval | None:
    """The Interval that misses the true ratio at any look with probability at most *alpha*.

    None while it has no end: nothing is refuted yet.
    """
    if len(differences) < 2:
        return None
    inside = typical(differences)
    low = _edge(differences, alpha, inside, -1.0)
    high = _edge(differences, alpha, inside, 1.0)
    if low is None or high is None:
        return None
    return Interval(low=math.exp(low), high=math.exp(high))


def _edge(differences: Floats, alpha: float, inside: float, side: float) -> float | None:
    """The outermost log ratio on one *side* that is not refuted; None if there is no end."""
    farthest = float((side * differences).max())
    spread = max(float(np.ptp(differences)), 1e-9)
    for reach in _REACHES:
        outer = side * (farthest + reach * spread)
        if _refuted(differences, np.array([outer]), alpha)[0]:
            break
    else:
        return None
    inner = inside
    for _ in range(_ZOOMS):
        thetas = np.linspace(outer, inner, _GRID)
        standing = np.flatnonzero(~_refuted(differences, thetas, alpha))
        # the first that stands, seen from outside; what is refuted within is not cut out
        first = int(standing[0]) if len(standing) else _GRID - 1
        outer, inner = float(thetas[max(0, first - 1)]), float(thetas[first])
    return outer


def _refuted(differences: Floats, thetas: Floats, alpha: float) -> npt.NDArray[np.bool_]:
    wealth = log_wealth(differences[np.newaxis, :] - thetas[:, np.newaxis])[:, -1]
    return np.asarray(wealth >= -math.log(alpha))


def typical(differences: Floats) -> float:
    """The log ratio that outliers do not move: the median of all means of two differences.

    Hodges and Lehmann, "Estimates of location based on rank tests" (Ann. Math. Stat. 34, 1963).
    """
    rows, columns = np.triu_indices(len(differences))
    return float(np.median((differences[rows] + differences[columns]) / 2))


def half_width(deviation: float, blocks: int, alpha: float) -> float:
    """About half of the interval's width after *blocks* of this standard *deviation*.

    Fitted to simulated intervals of normal differences (14 to 1,000 blocks, within 20 %): it
    projects what a decision will take and decides nothing.
    """
    more = blocks - math.log2(1 / alpha) - 2
    if more <= 0:
        return math.inf
    return deviation * math.sqrt((2 * math.log(1 / alpha) + 6) / blocks * (1 + 4 / more))


def blocks_needed(differences: Floats, precision: float, alpha: float) -> int | None:
    """About how many blocks it takes in all until a verdict; None if nobody can say yet.

    Until the interval leaves 1 out, or is inside 1 ± *precision*, whichever comes first.
    """
    if len(differences) < 2:
        return None
    effect = abs(typical(differences))
    wanted = max(effect, math.log1p(precision) - effect)
    return blocks_for(float(np.std(differences, ddof=1)), wanted, alpha)


def blocks_for(deviation: float, wanted: float, alpha: float) -> int:
    """About how many blocks make the interval ± *wanted* wide, in log ratio.

    *deviation* is the standard deviation of a block's log ratio.
    """
    low, high = 1, _MOST_BLOCKS
    while low < high:
        middle = (low + high) // 2
        if half_width(deviation, middle, alpha) <= wanted:
            high = middle
        else:
            low = middle + 1
    return max(low, fewest_blocks(alpha))
