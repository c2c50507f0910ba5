"""Detect changes of level in a series of measurements, commit by commit. Pure.

The noise is known in one of three ways, the noise model: from the scatter of the commits
themselves (landspeed/stats/glr.py); from the scatter of the runs of each point where there are
too few commits (landspeed/stats/changepoint_short.py); and exact numbers have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

import numpy as np

from landspeed.stats.glr import (
    CLIP,
    LONGEST,
    MIN_HISTORY,
    MIN_LEVEL,
    RHOS,
    WINDOWS,
    Batch,
    Counts,
    Floats,
    clipped,
    scores,
)
from landspeed.stats.glr_table import COMMITS, TAILS
from landspeed.stats.students_t import interval_quantile

LEVEL = 0.009
"""Probability that a series of COMMITS commits without a change shows any jump.

It is a tenth below the documented 1 %, because the table of thresholds is only simulated.
"""

SMALLEST_P = 1e-9
"""Smallest p-value that is reported: rarer events were not simulated."""

SHORTEST = MIN_HISTORY + min(WINDOWS)
"""Fewest commits that show the noise of a series."""

_CHUNK = 256  # series processed together, few enough for the processor's cache
_MOVES = 6  # commits by which a jump may move from where the windows saw it


class NoiseModel(StrEnum):
    """Source of what is known about the noise of a series."""

    POINTS = "points"
    SAMPLES = "samples"
    EXACT = "exact"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Jump:
    """Change of level: one level ends with the point at ``previous``, another begins at ``at``.

    The jump became visible with the point at ``seen``. ``ratio`` is the new level divided by the
    old one, ``low`` to ``high`` its 95 % interval. ``p_value`` is the probability that noise
    alone shows as much anywhere in the series; None for exact numbers.
    """

    at: int
    previous: int
    seen: int
    before: float
    after: float
    low: float
    high: float
    p_value: float | None

    @property
    def ratio(self) -> float:
        """New level divided by the old one."""
        return self.after / self.before


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """State after reading a series: its logarithms, and the scores since each level began.

    A later scan of the series, when it is longer, need not compute these again.
    """

    logs: Floats
    starts: tuple[int, ...]
    scores: tuple[Floats, ...]

    def in_common(self, logs: Floats) -> int:
        """Return how many of the first numbers equal those of *logs*."""
        count = min(len(logs), len(self.logs))
        others = np.flatnonzero(logs[:count] != self.logs[:count])
        return int(others[0]) if len(others) else count


@dataclass(frozen=True, kw_only=True)
class Scan:
    """Jumps of one series, and the noise model; NONE if the series was too short."""

    basis: NoiseModel
    jumps: tuple[Jump, ...] = ()
    trace: Trace | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class _Task:
    """Part of a series to score: commits ``start`` to ``end``, with residuals of earlier levels.

    ``known`` has the first scores, which need not be computed again.
    """

    reading: _Reading
    start: int
    end: int
    old: Floats
    known: Floats

    @property
    def logs(self) -> Floats:
        return self.reading.log[self.start : self.end]


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Position of a jump: at ``at``, visible from ``seen`` on, with the scores from then on."""

    at: int
    seen: int
    scores: Floats


def p_value(score: float, commits: int) -> float:
    """Return the probability that noise in a series of *commits* commits reaches *score*.

    The logarithm of the probability is interpolated, and extrapolated, linearly in the score.
    Extrapolation overestimates it, because such tails fall ever faster.
    """
    probabilities, values = np.array(TAILS).T
    logs = np.log(probabilities)
    if score > values[-1]:
        slope = (logs[-1] - logs[-5]) / (values[-1] - values[-5])
        log = logs[-1] + slope * (score - values[-1])
    else:
        log = np.interp(score, values, logs)
    # A longer series has proportionally more chances; a shorter one gets no discount.
    return float(np.clip(np.exp(log) * max(1.0, commits / COMMITS), SMALLEST_P, 1.0))


def threshold(level: float = LEVEL) -> float:
    """Return the score that noise in COMMITS commits exceeds with probability *level*."""
    probabilities, values = np.array(TAILS).T
    return float(np.interp(np.log(level), np.log(probabilities[::-1]), values[::-1]))


def scan_points(
    series: Sequence[Floats], level: float = LEVEL, traces: Sequence[Trace | None] = ()
) -> list[Scan]:
    """Scan each of *series*, one positive number per commit, by the scatter of its commits.

    A series of COMMITS commits without a change shows a jump with probability *level*. Series
    are read forwards: a jump that was visible with the commits up to ``seen`` stays when more
    commits arrive. They can only move it by a few commits and sharpen its ratio and p-value.
    *traces* has the trace of each series from an earlier scan, or None.
    """
    read = [
        _Reading(log=np.log(numbers), trace=traces[i] if traces else None)
        for i, numbers in enumerate(series)
    ]
    bar = threshold(level)
    tasks = [one.task(0, np.zeros(0), bar) for one in read]
    while tasks:
        tasks.sort(key=lambda task: (task.end - task.start - len(task.known), task.end))
        further: list[_Task] = []
        for begin in range(0, len(tasks), _CHUNK):
            chunk = tasks[begin : begin + _CHUNK]
            known = [task.known for task in chunk]
            for task, row in zip(chunk, scores(_batch(chunk), known), strict=True):
                one, score = task.reading, row[: task.end - task.start]
                crossed = np.flatnonzero(score >= bar)
                one.starts.append(task.start)
                if len(crossed):
                    place = _place(task, int(crossed[0]), score)
                    one.places.append(place)
                    further.append(one.task(place.at, _residuals(task, place.at), bar))
                    score = score[: crossed[0] + max(WINDOWS)]
                one.scores.append(score)
        tasks = further
    return [one.judged() for one in read]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Reading:
    """Series during a scan: its jumps so far, and the trace for the next scan."""

    log: Floats
    trace: Trace | None
    places: list[_Place] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    scores: list[Floats] = field(default_factory=list)

    def task(self, start: int, old: Floats, bar: float) -> _Task:
        """Return what is to be scored from *start* on; the trace provides the first scores."""
        known, end, levels = np.zeros(0), len(self.log), len(self.places)
        if self.trace and self.trace.starts[: levels + 1] == (*self.starts[:levels], start):
            common = self.trace.in_common(self.log)
            known = self.trace.scores[levels][: max(0, common - start)]
            crossed = np.flatnonzero(known >= bar)
            if len(crossed):
                # A jump is judged by the scores of this many commits.
                end = min(end, start + int(crossed[0]) + max(WINDOWS))
        return _Task(reading=self, start=start, end=end, old=old, known=known)

    def judged(self) -> Scan:
        """Return the scan of the whole series."""
        trace, known = self.trace, self.trace.in_common(self.log) if self.trace else -1
        if trace is None or not known == len(self.log) == len(trace.logs):
            trace = Trace(logs=self.log, starts=tuple(self.starts), scores=tuple(self.scores))
        return replace(_judged(self.log, self.places), trace=trace)


def _batch(tasks: Sequence[_Task]) -> Batch:
    parts = [task.logs for task in tasks]
    return Batch(
        current=_padded(parts),
        lengths=_counts(map(len, parts)),
        old=_padded([task.old for task in tasks]),
        ages=_counts(len(task.old) for task in tasks),
        levels=_counts(len(task.reading.places) for task in tasks),
    )


def _counts(values: Iterable[int]) -> Counts:
    return np.array(list(values), dtype=np.int64)


def _padded(parts: Sequence[Floats]) -> Floats:
    whole = np.zeros((len(parts), max(map(len, parts))))
    for row, part in zip(whole, parts, strict=True):
        row[: len(part)] = part
    return whole


def _place(task: _Task, now: int, score: Floats) -> _Place:
    """Return where the level changed, by the commits up to *now* after the start of *task*."""
    ages = _counts([len(task.old)])
    current, _, _ = clipped(task.logs[None, : now + 1], task.old[None, :], ages)
    earliest = max(MIN_LEVEL, now + 2 - max(WINDOWS) - _MOVES)
    split = _best_split(current[0], earliest, now + 2 - min(WINDOWS))
    return _Place(at=task.start + split, seen=task.start + now, scores=score[now:])


def _best_split(values: Floats, first: int, end: int) -> int:
    """Return the index from *first* to before *end* where a jump explains most of the squares."""
    splits = np.arange(first, end)
    sums = np.concatenate([[0.0], values.cumsum()])
    count, left = len(values), sums[splits]
    gain = (left / splits - (sums[-1] - left) / (count - splits)) ** 2
    return int(splits[(gain * splits * (count - splits)).argmax()])


def _residuals(task: _Task, at: int) -> Floats:
    """Return the last LONGEST residuals of the levels of the series of *task* before *at*."""
    level = task.reading.log[task.start : at]
    return np.concatenate([task.old, level - np.median(level)])[-LONGEST:]


def _judged(log: Floats, places: Sequence[_Place]) -> Scan:
    """Return the scan of a series with jumps at *places*, moved to where all commits put them."""
    if len(log) < SHORTEST:
        return Scan(basis=NoiseModel.NONE)
    ends = _settled(log, [place.at for place in places])
    noise = Noise.of([log[a:b] for a, b in pairwise(ends)])
    levels = [noise.level(log[a:b]) for a, b in pairwise(ends)]
    jumps = []
    for number, place in enumerate(places):
        begin, at, end = ends[number : number + 3]
        evidence = float(place.scores[: max(1, end - place.seen)][: max(WINDOWS)].max())
        change = levels[number + 1] - levels[number]
        reach = noise.reach(at - begin, end - at)
        jumps.append(
            Jump(
                at=at,
                previous=at - 1,
                seen=place.seen,
                before=float(np.exp(levels[number])),
                after=float(np.exp(levels[number + 1])),
                low=float(np.exp(change - reach)),
                high=float(np.exp(change + reach)),
                p_value=p_value(evidence, len(log)),
            )
        )
    return Scan(basis=NoiseModel.POINTS, jumps=tuple(jumps))


def _settled(log: Floats, places: Sequence[int]) -> list[int]:
    """Return where the levels begin and end: *places*, moved to where all commits put them."""
    ends = [0, *places, len(log)]
    for number in range(1, len(ends) - 1):
        begin, at, end = ends[number - 1 : number + 2]
        both, _, _ = clipped(log[begin:end][None, :], np.zeros((1, 0)), _counts([0]))
        first = max(begin + 1, at - _MOVES) - begin
        last = min(end - min(WINDOWS), at + _MOVES) - begin
        if first <= last:
            ends[number] = begin + _best_split(both[0], first, last + 1)
    return ends


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Scatter of a series around its levels, of logarithms: a share of the numbers.

    ``unit`` is the robust standard deviation that outliers are clipped by, ``deviation`` the
    standard deviation after clipping, ``rho`` the autocorrelation from commit to commit.
    """

    unit: float
    deviation: float
    rho: float
    freedom: float

    @classmethod
    def of(cls, levels: Sequence[Floats]) -> Noise:
        """Estimate the noise from the numbers of each of *levels*."""
        residuals = np.concatenate([level - np.median(level) for level in levels])
        values, _, (unit,) = clipped(residuals[None, :], np.zeros((1, 0)), _counts([0]))
        freedom = max(1.0, len(residuals) - len(levels))
        squares = float((values[0] ** 2).sum())
        lagged = float((values[0][1:] * values[0][:-1]).sum())
        rho = lagged / squares if squares else 0.0
        # Correct the bias from estimating the mean: Kendall 1954, Biometrika 41:403.
        rho += (1 + 4 * rho) / len(residuals)
        return cls(
            unit=float(unit),
            deviation=float(unit) * float(np.sqrt(squares / freedom)),
            rho=float(np.clip(rho, RHOS[0], RHOS[-1])),
            freedom=freedom,
        )

    def level(self, numbers: Floats) -> float:
        """Return the mean of *numbers*, clipped around their median (Huber 1964)."""
        middle = float(np.median(numbers))
        reach = CLIP * self.unit
        return middle + float(np.clip(numbers - middle, -reach, reach).mean())

    def reach(self, before: int, after: int) -> float:
        """Return half the width of the interval of a jump between so many commits on each side."""
        variance = sum(self._inflation(count) / count for count in (before, after))
        quantile = interval_quantile(self.freedom)
        return quantile * self.deviation * float(np.sqrt(variance))

    def _inflation(self, count: int) -> float:
        """Return the factor by which AR(1) autocorrelation inflates the variance of a mean."""
        rho = self.rho
        return (1 + rho) / (1 - rho) - 2 * rho * (1 - rho**count) / (count * (1 - rho) ** 2)
