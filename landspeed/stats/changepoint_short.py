"""Detect changes of level in series that are too short to show their noise, or have none. Pure.

Where each point has several runs, these show the noise, and a series of two releases is enough.
They do not show variation between sessions, but the runs of one campaign are interleaved in
random order and therefore have none. An exact number, such as a count of instructions, changes
its level wherever it changes by more than its repetition error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb, sqrt
from statistics import NormalDist

import numpy as np

from landspeed.stats.changepoint_online import LEVEL, SMALLEST_P, Jump, NoiseModel, Scan
from landspeed.stats.glr import Floats
from landspeed.stats.students_t import interval_quantile, t_quantile, t_tail

SAMPLES_NEEDED = 3
"""Fewest runs of a point that show their noise."""

EXACT_SHARE = 0.002
"""Smallest change of an exact number that is a jump, as a share of the number."""

_CLIP = 2.5  # smaller than between commits, because two of three runs may be outliers
_CLIP_CORRECTION = 1.1  # slightly more than what clipping takes from the spread of few runs
_TINY = 1e-12  # the standard deviation of runs that are all equal
# Median absolute difference of two normal numbers, in standard deviations.
_DIFFERENCE = sqrt(2) * NormalDist().inv_cdf(0.75)


@dataclass(frozen=True, kw_only=True)
class _Pool:
    """Points of a series: mean and number of runs of each, and their pooled deviation.

    Means are of logarithms, clipped around the median of their point.
    """

    means: Floats
    counts: Floats
    deviation: float
    freedom: int

    @classmethod
    def of(cls, points: Sequence[Floats]) -> _Pool:
        logs = [np.log(point) for point in points]
        differences = [abs(a - b) for log in logs for a, b in combinations(log, 2)]
        reach = _CLIP * float(np.median(differences)) / _DIFFERENCE
        near = [np.clip(log, np.median(log) - reach, np.median(log) + reach) for log in logs]
        freedom = sum(map(len, near)) - len(near)
        squares = sum(float(((one - one.mean()) ** 2).sum()) for one in near)
        return cls(
            means=np.array([one.mean() for one in near]),
            counts=np.array([float(len(one)) for one in near]),
            deviation=_CLIP_CORRECTION * float(np.sqrt(squares / freedom)),
            freedom=freedom,
        )

    def level(self, begin: int, end: int) -> float:
        return float(np.average(self.means[begin:end], weights=self.counts[begin:end]))

    def error(self, begin: int, at: int, end: int) -> float:
        """Return the standard error of a jump at *at* between two levels, *begin* to *end*."""
        sides = self.counts[begin:at].sum(), self.counts[at:end].sum()
        return self.deviation * float(np.sqrt(sum(1 / side for side in sides)))

    @property
    def choices(self) -> int:
        """Number of ways to choose two neighbouring levels, for the Bonferroni correction."""
        return comb(len(self.means) + 1, 3)

    def largest(self, begin: int, end: int) -> tuple[int, float]:
        """Return the place and size, in standard errors, of the largest jump in the range."""
        counts = self.counts[begin:end].cumsum()
        sums = (self.counts * self.means)[begin:end].cumsum()
        before, after = counts[:-1], counts[-1] - counts[:-1]
        jumps = np.abs((sums[-1] - sums[:-1]) / after - sums[:-1] / before)
        errors = max(self.deviation, _TINY) * np.sqrt(1 / before + 1 / after)
        best = int((jumps / errors).argmax())
        return begin + 1 + best, float((jumps / errors)[best])

    def p_value(self, begin: int, at: int, end: int) -> float:
        """Return the p-value of the jump at *at*, Bonferroni-corrected for all choices."""
        jump = abs(self.level(at, end) - self.level(begin, at))
        size = jump / max(self.error(begin, at, end), _TINY)
        single = 2 * t_tail(size, self.freedom)
        return min(1.0, max(SMALLEST_P, single * self.choices))


def scan_samples(points: Sequence[Floats], level: float = LEVEL) -> Scan:
    """Scan a series by the scatter of its runs: *points* has the positive numbers of each point.

    A series without a change shows a jump with probability *level*. Points with fewer than
    SAMPLES_NEEDED runs are skipped.
    """
    usable = [i for i, point in enumerate(points) if len(point) >= SAMPLES_NEEDED]
    if len(usable) < 2:
        return Scan(basis=NoiseModel.NONE)
    pool = _Pool.of([points[i] for i in usable])
    bar = -t_quantile(level / 2 / pool.choices, pool.freedom)
    ends, seen = [0], []
    for now in range(1, len(usable)):
        split, size = pool.largest(ends[-1], now + 1)
        if size >= bar:
            ends.append(split)
            seen.append(now)
    ends.append(len(usable))
    jumps = [_jump(pool, ends[i : i + 3], usable=usable, seen=when) for i, when in enumerate(seen)]
    return Scan(basis=NoiseModel.SAMPLES, jumps=tuple(jumps))


def _jump(pool: _Pool, ends: Sequence[int], *, usable: Sequence[int], seen: int) -> Jump:
    begin, at, end = ends
    before, after = pool.level(begin, at), pool.level(at, end)
    quantile = interval_quantile(pool.freedom)
    reach = quantile * pool.error(begin, at, end)
    return Jump(
        at=usable[at],
        previous=usable[at - 1],
        seen=usable[seen],
        before=float(np.exp(before)),
        after=float(np.exp(after)),
        low=float(np.exp(after - before - reach)),
        high=float(np.exp(after - before + reach)),
        p_value=pool.p_value(begin, at, end),
    )


def scan_exact(numbers: Floats) -> Scan:
    """Scan exact *numbers*: every change by EXACT_SHARE or more between neighbours is a jump.

    There are no p-values, because exact numbers have no noise.
    """
    if len(numbers) < 2:
        return Scan(basis=NoiseModel.NONE)
    jumps = [
        Jump(
            at=i + 1,
            previous=i,
            seen=i + 1,
            before=float(before),
            after=float(after),
            low=float(after / before),
            high=float(after / before),
            p_value=None,
        )
        for i, (before, after) in enumerate(pairwise(numbers))
        if abs(after - before) >= EXACT_SHARE * before
    ]
    return Scan(basis=NoiseModel.EXACT, jumps=tuple(jumps))
