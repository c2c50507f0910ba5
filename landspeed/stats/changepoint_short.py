"""Steps in lines that are too short to show their own noise, or that have none.

Pure. Where each point has several Runs, they tell how much numbers vary: a line of two releases
is enough. What they cannot tell is what varies between sessions; Runs of one campaign are
interleaved in random order, so among them there is no such thing. And an exact number, such as
a count of instructions, steps wherever it changes by more than it could by accident.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb

import numpy as np
from scipy.special import ndtri

from landspeed.stats.changepoint_online import LEVEL, SMALLEST_P, Jump, NoiseModel, Scan
from landspeed.stats.glr import Floats
from landspeed.stats.students_t import interval_quantile, t_quantile, t_tail

SAMPLES_NEEDED = 3
"""A point of fewer Runs tells nothing of how they vary."""

EXACT_SHARE = 0.002
"""The smallest change of an exact number that is a step, as a share of it."""

_CLIP = 2.5  # nearer than between commits: of three Runs two may be far off
_TAKEN = 1.1  # what drawing in takes from the spread of few Runs is given back, and a little more
_TINY = 1e-12  # as a deviation: of Runs that are all the same
# The median size of the difference of two normal numbers is this many of their deviations.
_DIFFERENCE = float(np.sqrt(2) * ndtri(0.75))


@dataclass(frozen=True, kw_only=True)
class _Pool:
    """A _Pool is the points of a line: mean and number of Runs of each, and how Runs vary.

    Means are of logarithms, in which what is far from a point's median is drawn in.
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
            deviation=_TAKEN * float(np.sqrt(squares / freedom)),
            freedom=freedom,
        )

    def level(self, begin: int, end: int) -> float:
        return float(np.average(self.means[begin:end], weights=self.counts[begin:end]))

    def error(self, begin: int, at: int, end: int) -> float:
        """The standard error of the step at *at* between the levels from *begin* to *end*."""
        sides = self.counts[begin:at].sum(), self.counts[at:end].sum()
        return self.deviation * float(np.sqrt(sum(1 / side for side in sides)))

    @property
    def choices(self) -> int:
        """The number of ways to choose two neighbouring levels: what p-values are multiplied by."""
        return comb(len(self.means) + 1, 3)

    def largest(self, begin: int, end: int) -> tuple[int, float]:
        """Where between *begin* and *end* the level steps most, in standard errors; how much."""
        counts = self.counts[begin:end].cumsum()
        sums = (self.counts * self.means)[begin:end].cumsum()
        before, after = counts[:-1], counts[-1] - counts[:-1]
        steps = np.abs((sums[-1] - sums[:-1]) / after - sums[:-1] / before)
        errors = max(self.deviation, _TINY) * np.sqrt(1 / before + 1 / after)
        best = int((steps / errors).argmax())
        return begin + 1 + best, float((steps / errors)[best])

    def p_value(self, begin: int, at: int, end: int) -> float:
        """Student's t test of the step at *at*, times the choices there were."""
        step = abs(self.level(at, end) - self.level(begin, at))
        size = step / max(self.error(begin, at, end), _TINY)
        single = 2 * t_tail(size, self.freedom)
        return min(1.0, max(SMALLEST_P, single * self.choices))


def scan_samples(points: Sequence[Floats], level: float = LEVEL) -> Scan:
    """What the scatter of the Runs says of a line: *points* are positive numbers, one a Run.

    With probability *level* a line without a step has any Jump. Points of fewer than
    SAMPLES_NEEDED Runs are passed over.
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
    typical = pool.deviation / float(np.sqrt(np.median(pool.counts)))
    return Scan(basis=NoiseModel.SAMPLES, jumps=tuple(jumps), noise=typical)


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


def scan_exact(line: Floats, share: float = EXACT_SHARE) -> Scan:
    """Every change of at least *share* between neighbouring points of *line* is a Jump.

    No tests and no p-values: an exact number that changed, changed.
    """
    if len(line) < 2:
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
        for i, (before, after) in enumerate(pairwise(line))
        if abs(after - before) >= share * before
    ]
    return Scan(basis=NoiseModel.EXACT, jumps=tuple(jumps), noise=0.0)
