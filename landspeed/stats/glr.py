"""Score the evidence that a noisy series has changed its level: a robust likelihood ratio. Pure.

Many series are processed together, commit by commit, as if each new number had just arrived.

At each commit, the numbers so far are expressed relative to their median in units of their
median absolute deviation and clipped at ``CLIP`` (Huber 1964, Ann. Math. Stat. 35:73), which
bounds the weight of an outlier. Then, for each window in ``WINDOWS``, two hypotheses are compared:
one level, or another level since the window began. Both allow AR(1) noise with a coefficient in
``RHOS``. Levels, spread and coefficient are unknown and maximise the likelihood of each hypothesis:
the generalised likelihood ratio of Siegmund & Venkatraman 1995 (Ann. Stat. 23:255), limited to
windows as in Lai 1995 (J. R. Stat. Soc. B 57:613), for a short history as in the changepoint model
of Hawkins, Qiu & Kang 2003 (J. Qual. Technol. 35:355). Numbers that strong autocorrelation explains
equally well are therefore no evidence; a longer history excludes autocorrelation better.
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
"""Largest distance from the median that counts, in robust standard deviations."""

WINDOWS = (3, 5, 6, 12, 30)
"""Lengths of the new level that are tried, in commits: short ones find large changes early."""

RHOS = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
"""Coefficients of autocorrelation that the noise may have."""

PENALTY = 1.0
"""Deduction from the score per unit of the most likely coefficient.

The likelihood ratio of autocorrelated noise has a longer tail. The deduction makes the tails of
all kinds of noise alike, so that one threshold suits them all.
"""

MIN_LEVEL = 5
"""Fewest commits of a level before a change is looked for."""

LONGEST = 500
"""Most commits of a level, and most residuals of earlier levels, that a score is computed from.

The time of a scan is then proportional to the number of commits. The mean of 500 independent
numbers is known to 4.5 % (1 / sqrt(500)) of their standard deviation.
"""

MIN_HISTORY = 10
"""Fewest commits before the window, of any level, that show the noise."""

_DEVIATION = 1.4826  # standard deviation / median absolute deviation of normal numbers
_MEAN_DEVIATION = 1.2533  # standard deviation / mean absolute deviation of normal numbers
_NONE = -np.inf
_TINY = 1e-9


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Many series: the ``current`` level of each row, and the residuals of its ``old`` levels.

    ``current`` and ``old`` (rows × commits) hold logarithms. Row i uses the first ``lengths[i]``
    of ``current`` and the first ``ages[i]`` of ``old``; the rest of ``old`` is 0. ``levels``
    counts the old levels.
    """

    current: Floats
    lengths: Counts
    old: Floats
    ages: Counts
    levels: Counts


@dataclass(frozen=True, kw_only=True)
class _Moments:
    """Contribution of a sequence of numbers to the likelihood, one value per row."""

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
        """Return the squares that AR(1) noise around 0 leaves unexplained, per row and RHOS."""
        first, last = self.first[:, None] ** 2, self.last[:, None] ** 2
        squares, lagged = self.squares[:, None], self.lagged[:, None]
        return ((1 - RHOS**2) * first + (squares - first) - 2 * RHOS * lagged) + RHOS**2 * (
            squares - last
        )


def scores(batch: Batch, known: Sequence[Floats] = ()) -> Floats:
    """Return the score of each commit of each row: the evidence for a change up to that commit.

    Scores resemble standard normal deviates; they are -inf where the history is too short. The
    first scores of each row may be *known*: later commits do not change them.
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
    """Return *current* and *old* in robust standard deviations, clipped at CLIP, and that unit.

    The unit is 0 where all numbers are equal.
    """
    centred = current - np.median(current, axis=1, keepdims=True)
    unit = _unit(np.abs(centred), np.abs(old), ages)
    safe = np.where(unit > 0, unit, 1.0)[:, None]
    return np.clip(centred / safe, -CLIP, CLIP), np.clip(old / safe, -CLIP, CLIP), unit


def _unit(current: Floats, old: Floats, ages: Counts) -> Floats:
    """Return the standard deviation of each row, estimated from absolute residuals."""
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
    # Where more than half of the numbers are equal, the mean deviation takes over.
    mean = (current.sum(1) + old.sum(1)) / (current.shape[1] + ages)
    return np.where(middle > 0, _DEVIATION * middle, _MEAN_DEVIATION * mean)


def _scores_at(batch: Batch, now: int) -> Floats:
    """Return the best score of all windows that end with commit *now*."""
    latest = batch.current[:, max(0, now + 1 - LONGEST) : now + 1]
    current, old, unit = clipped(latest, batch.old, batch.ages)
    here = _Moments.of(current, current[:, -1])
    squares, log_likelihood = here.whitened_squares(), 0.5 * np.log(1 - RHOS**2)[None, :]
    if batch.ages.any():
        tails = old[np.arange(len(old)), np.maximum(batch.ages - 1, 0)]
        squares = squares + _Moments.of(old, tails).whitened_squares()
        log_likelihood = log_likelihood * (1 + (batch.ages > 0)[:, None])
    commits = current.shape[1]
    level, weight = _level(here, commits)
    unexplained = np.maximum(squares - level**2 / weight, _TINY)
    count = (commits + batch.ages)[:, None].astype(float)
    one_level = (log_likelihood - count / 2 * np.log(unexplained)).max(1)
    best = np.full(len(current), _NONE)
    for window in WINDOWS:
        history = commits - window
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
    """Return numerator and weight of the generalised least squares mean, per row and RHOS."""
    rest = (here.total - here.first)[:, None] - RHOS * (here.total - here.last)[:, None]
    level = (1 - RHOS**2) * here.first[:, None] + (1 - RHOS) * rest
    return level, (1 - RHOS**2) + (count - 1) * (1 - RHOS) ** 2


def _explained(current: Floats, window: int, mean: Floats, weight: Floats) -> Floats:
    """Return the squares that a new level in the last *window* numbers explains, per row and RHOS.

    The regressor is 1 in the window and 0 before it; whitened, it is 1 where the window begins
    and 1 - rho after that.
    """
    first, before = current[:, -window][:, None], current[:, -window - 1][:, None]
    inner = current[:, -window:]
    after = (inner.sum(1) - inner[:, 0])[:, None] - RHOS * (inner.sum(1) - inner[:, -1])[:, None]
    response = (first - RHOS * before) + (1 - RHOS) * after
    own = 1 + (window - 1) * (1 - RHOS) ** 2
    common = (1 - RHOS) + (window - 1) * (1 - RHOS) ** 2
    return np.asarray((response - common * mean) ** 2 / (own - common**2 / weight))


def _normal(ratio: Floats, count: Floats, unknowns: Counts) -> Floats:
    """Return the normal deviate as rare as the Student's t of a likelihood *ratio* (2 log).

    SOURCE: Wallace 1959, Ann. Math. Stat. 30:1124.
    """
    freedom = np.maximum(count - unknowns, 1.0)
    t_squared = np.expm1(np.maximum(ratio, 0.0) / count) * freedom
    shape = (8 * freedom + 1) / (8 * freedom + 3)
    return np.asarray(shape * np.sqrt(freedom * np.log1p(t_squared / freedom)))
