"""The evidence that a line of noisy numbers has changed its level: a likelihood ratio, made robust.

Pure. Many lines are looked at side by side, commit by commit, as if each new number had just come.

At each commit the numbers so far are measured from their median in units of their median absolute
deviation, and what is further away than ``CLIP`` is drawn in to it (Huber 1964, Ann. Math. Stat.
35:73), so that one bad number weighs no more than a bad one can. Then for each window in
``WINDOWS`` two hypotheses are compared: one level, or another level since the window began, both
with noise that is autocorrelated, AR(1), with a coefficient anywhere in ``RHOS``. Everything that
is not known, levels, spread and coefficient, is what makes each hypothesis most likely: the
generalised likelihood ratio of Siegmund & Venkatraman 1995 (Ann. Stat. 23:255), limited to
windows as by Lai 1995 (J. R. Stat. Soc. B 57:613), with the nuisance of a short history as in the
changepoint model of Hawkins, Qiu & Kang 2003 (J. Qual. Technol. 35:355). A run of numbers that a
strong autocorrelation would explain as well is thereby no evidence, and how well autocorrelation
is excluded depends on how much history there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

CLIP = 3.2
"""How far from the median a number counts, in standard deviations estimated from the median."""

WINDOWS = (3, 5, 6, 12, 30)
"""How many commits the new level is tried to have: few find large steps early, many small ones."""

RHOS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
"""The coefficients of autocorrelation that noise is taken to be capable of."""

PENALTY = 1.0
"""What the score loses for each unit of the coefficient that explains the line best.

The likelihood ratio of autocorrelated noise has the longer tail; this brings the tails together,
so that one threshold serves all kinds of noise and quiet ones do not pay for the others.
"""

MIN_LEVEL = 5
"""A level has at least so many commits before another one is looked for."""

MIN_HISTORY = 10
"""So many commits are needed before the window, whatever their level, to know the noise."""

_DEVIATION = 1.4826  # of a normal distribution, by its median absolute deviation
_MEAN_DEVIATION = 1.2533  # the same by its mean absolute deviation
_NONE = -np.inf
_TINY = 1e-9


@dataclass(frozen=True, kw_only=True)
class Batch:
    """A Batch is many lines: each row's ``current`` level and what is left of its ``old`` ones.

    ``current`` (rows × commits) and ``old`` (rows × commits; residuals from the level they were
    of) are logarithms, of which each row has the first ``lengths`` and ``ages``; the rest of
    ``old`` is 0. ``levels`` is how many old levels there are.
    """

    current: Floats
    lengths: Counts
    old: Floats
    ages: Counts
    levels: Counts


@dataclass(frozen=True, kw_only=True)
class _Moments:
    """_Moments are what a run of numbers contributes to the likelihood; each is one per row."""

    first: Floats
    last: Floats
    total: Floats
    squares: Floats
    lagged: Floats

    @classmethod
    def of(cls, values: Floats, last: Floats) -> _Moments:
        return cls(
            first=values[:, 0],
            last=last,
            total=values.sum(1),
            squares=np.einsum("ij,ij->i", values, values),
            lagged=np.einsum("ij,ij->i", values[:, 1:], values[:, :-1]),
        )

    def whitened_squares(self) -> Floats:
        """The squares that an AR(1) with each of RHOS around 0 leaves unexplained, per row."""
        first, last = self.first[:, None] ** 2, self.last[:, None] ** 2
        squares, lagged = self.squares[:, None], self.lagged[:, None]
        return ((1 - RHOS**2) * first + (squares - first) - 2 * RHOS * lagged) + RHOS**2 * (
            squares - last
        )


def scores(batch: Batch, known: Sequence[Floats] = ()) -> Floats:
    """The score of each commit of each row: the evidence, at that commit, that a step has been.

    About the size of a standard normal deviate; -inf where there is too little to go by. The
    first scores of each row may be *known*: what comes later changes nothing in them.
    """
    rows, commits = batch.current.shape
    found = np.full((rows, commits), _NONE)
    wanted = np.zeros(commits, dtype=bool)
    for length, own in zip_longest(batch.lengths, known, fillvalue=()):
        wanted[len(own) : length] = True
    wanted[: MIN_LEVEL + min(WINDOWS) - 1] = False
    for now in np.flatnonzero(wanted):
        found[:, now] = _scores_at(batch, int(now))
    for row, own in zip(found, known, strict=False):
        row[: len(own)] = own
    found[np.arange(commits) >= batch.lengths[:, None]] = _NONE
    return found


def clipped(current: Floats, old: Floats, ages: Counts) -> tuple[Floats, Floats, Floats]:
    """*current* and *old* in robust standard deviations from the level, none beyond CLIP; the unit.

    A unit of 0 is that of numbers that are all the same.
    """
    centred = current - np.median(current, axis=1, keepdims=True)
    unit = _unit(np.abs(centred), np.abs(old), ages)
    safe = np.where(unit > 0, unit, 1.0)[:, None]
    return np.clip(centred / safe, -CLIP, CLIP), np.clip(old / safe, -CLIP, CLIP), unit


def _unit(current: Floats, old: Floats, ages: Counts) -> Floats:
    """The standard deviation of each row by the sizes of its residuals."""
    if not ages.any():
        middle = np.median(current, axis=1)
    else:
        beyond = np.arange(old.shape[1]) >= ages[:, None]
        sizes = np.sort(np.hstack([current, np.where(beyond, np.inf, old)]), axis=1)
        counts = current.shape[1] + ages
        pick = np.arange(len(counts))
        middle = (sizes[pick, (counts - 1) // 2] + sizes[pick, counts // 2]) / 2
    if (middle > 0).all():
        return np.asarray(_DEVIATION * middle)
    # more than half of the numbers are one number: the others tell how far numbers go
    mean = (current.sum(1) + old.sum(1)) / (current.shape[1] + ages)
    return np.where(middle > 0, _DEVIATION * middle, _MEAN_DEVIATION * mean)


def _scores_at(batch: Batch, now: int) -> Floats:
    """The best score of all windows that end with commit *now*."""
    current, old, unit = clipped(batch.current[:, : now + 1], batch.old, batch.ages)
    here = _Moments.of(current, current[:, -1])
    squares, log_likelihood = here.whitened_squares(), 0.5 * np.log(1 - RHOS**2)[None, :]
    if batch.ages.any():
        tails = old[np.arange(len(old)), np.maximum(batch.ages - 1, 0)]
        squares = squares + _Moments.of(old, tails).whitened_squares()
        log_likelihood = log_likelihood * (1 + (batch.ages > 0)[:, None])
    level, weight = _level(here, now + 1)
    unexplained = np.maximum(squares - level**2 / weight, _TINY)
    count = (now + 1 + batch.ages)[:, None].astype(float)
    one_level = (log_likelihood - count / 2 * np.log(unexplained)).max(1)
    best = np.full(len(current), _NONE)
    for window in WINDOWS:
        history = now + 1 - window
        if history < MIN_LEVEL:
            continue
        explained = _explained(current, window, level / weight, weight)
        left = np.maximum(unexplained - explained, _TINY * unexplained)
        two_levels = log_likelihood - count / 2 * np.log(left)
        which = two_levels.argmax(1)
        ratio = 2 * (two_levels[np.arange(len(which)), which] - one_level)
        score = _normal(ratio, count[:, 0], 3 + batch.levels) - PENALTY * RHOS[which]
        enough = (history + batch.ages >= MIN_HISTORY) & (unit > 0)
        best = np.where(enough, np.maximum(best, score), best)
    return best


def _level(here: _Moments, count: int) -> tuple[Floats, Floats]:
    """Numerator and weight of the generalised least squares mean, for each row and of RHOS."""
    rest = (here.total - here.first)[:, None] - RHOS * (here.total - here.last)[:, None]
    level = (1 - RHOS**2) * here.first[:, None] + (1 - RHOS) * rest
    return level, (1 - RHOS**2) + (count - 1) * (1 - RHOS) ** 2


def _explained(current: Floats, window: int, mean: Floats, weight: Floats) -> Floats:
    """The squares that another level in the last *window* numbers explains, row by RHOS.

    The regressor is 1 in the window and 0 before it, whitened: 1 where it begins, 1 - rho after.
    """
    first, before = current[:, -window][:, None], current[:, -window - 1][:, None]
    inner = current[:, -window:]
    after = (inner.sum(1) - inner[:, 0])[:, None] - RHOS * (inner.sum(1) - inner[:, -1])[:, None]
    response = (first - RHOS * before) + (1 - RHOS) * after
    own = 1 + (window - 1) * (1 - RHOS) ** 2
    common = (1 - RHOS) + (window - 1) * (1 - RHOS) ** 2
    return np.asarray((response - common * mean) ** 2 / (own - common**2 / weight))


def _normal(ratio: Floats, count: Floats, unknowns: Counts) -> Floats:
    """The normal deviate that is as rare as the Student's t of a likelihood *ratio* (2 log).

    Wallace 1959, Ann. Math. Stat. 30:1124.
    """
    freedom = np.maximum(count - unknowns, 1.0)
    t_squared = np.expm1(np.maximum(ratio, 0.0) / count) * freedom
    shape = (8 * freedom + 1) / (8 * freedom + 3)
    return np.asarray(shape * np.sqrt(freedom * np.log1p(t_squared / freedom)))
