"""The step detector: where did a line of measurements change its level, and by how much?

Pure: numbers in, Jumps out; what the numbers are of landspeed/changepoints knows. Three ways to
know, the Basis: the scatter of the commits themselves (landspeed/stats/glr.py), the scatter
of the Runs within each point where there are too few commits, and for what repeats exactly none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

import numpy as np

from landspeed.stats.glr import (
    CLIP,
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
"""The probability that a line of COMMITS commits without a step has any Jump.

A tenth below the 1 % that is stated: the table it is looked up in is itself only simulated.
"""

SMALLEST_P = 1e-9
"""No p-value is said to be smaller: nobody has simulated what is that rare."""

SHORTEST = MIN_HISTORY + min(WINDOWS)
"""A line of fewer commits says nothing of its noise."""

_CHUNK = 256  # lines looked at side by side: few enough to stay in the processor's cache
_MOVES = 6  # how far a step may be from where the windows tried it to be, and later be moved


class NoiseModel(StrEnum):
    """A Basis is what a line's noise is known by."""

    POINTS = "points"
    SAMPLES = "samples"
    EXACT = "exact"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Jump:
    """A Jump is a change of level: one ends with the point at ``previous``, one begins at ``at``.

    It was seen when the point at ``seen`` came. ``ratio`` is new level by old one, ``low`` …
    ``high`` its interval (CONFIDENCE). ``p_value`` is the probability that noise alone makes a
    line show as much anywhere; None for exact ones.
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
        """The new level by the old one."""
        return self.after / self.before


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """A Trace is what has been read of a line: logarithms, and the scores since each level began.

    Whoever reads the line again when there is more of it need not reckon these again.
    """

    logs: Floats
    starts: tuple[int, ...]
    scores: tuple[Floats, ...]

    def in_common(self, logs: Floats) -> int:
        """How many of its first numbers are those of *logs*."""
        count = min(len(logs), len(self.logs))
        others = np.flatnonzero(logs[:count] != self.logs[:count])
        return int(others[0]) if len(others) else count


@dataclass(frozen=True, kw_only=True)
class Scan:
    """A Scan is what was seen in one line, and by which Basis; NONE says it was too short.

    ``noise`` is the standard deviation of a point, as a share; None where it is not known.
    """

    basis: NoiseModel
    jumps: tuple[Jump, ...] = ()
    noise: float | None = None
    trace: Trace | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class _Task:
    """One line from commit ``start`` on, with the residuals of its levels before that.

    ``end`` is behind the last commit that is of interest, ``known`` are the first scores.
    """

    line: int
    start: int
    end: int
    old: Floats
    levels: int
    known: Floats


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where a line was seen to step: at ``at``, when ``seen`` came, with the scores from then."""

    at: int
    seen: int
    scores: Floats


def p_value(score: float, commits: int) -> float:
    """The probability that a line of so many *commits* without a step ever has this *score*.

    Between and beyond the simulated scores its logarithm is a straight line in the score; beyond
    them that is too high rather than too low, for such tails fall ever faster.
    """
    probabilities, values = np.array(TAILS).T
    logs = np.log(probabilities)
    if score > values[-1]:
        slope = (logs[-1] - logs[-5]) / (values[-1] - values[-5])
        log = logs[-1] + slope * (score - values[-1])
    else:
        log = np.interp(score, values, logs)
    # a longer line has as many chances more; a shorter one is not credited with having fewer
    return float(np.clip(np.exp(log) * max(1.0, commits / COMMITS), SMALLEST_P, 1.0))


def threshold(level: float = LEVEL) -> float:
    """The score that a line of COMMITS commits without a step exceeds with probability *level*."""
    probabilities, values = np.array(TAILS).T
    return float(np.interp(np.log(level), np.log(probabilities[::-1]), values[::-1]))


def scan_points(
    lines: Sequence[Floats], level: float = LEVEL, traces: Sequence[Trace | None] = ()
) -> list[Scan]:
    """What the scatter of the commits says of each of *lines*, one positive number a commit.

    With probability *level* a line of COMMITS commits without a step has any Jump. Lines are
    read forwards: a Jump was seen with the commits up to ``seen`` and stays when others come,
    which may only move it by a few commits, and make its ratio and p-value better known.
    *traces* are those of the lines when they were last read, where they were.
    """
    read = [
        _Reading(log=np.log(line), trace=traces[i] if traces else None)
        for i, line in enumerate(lines)
    ]
    bar = threshold(level)
    tasks = [one.task(i, 0, np.zeros(0), bar) for i, one in enumerate(read)]
    while tasks:
        tasks.sort(key=lambda task: (task.end - task.start - len(task.known), task.end))
        further: list[_Task] = []
        for begin in range(0, len(tasks), _CHUNK):
            chunk = tasks[begin : begin + _CHUNK]
            known = [task.known for task in chunk]
            logs = [one.log for one in read]
            for task, row in zip(chunk, scores(_batch(chunk, logs), known), strict=True):
                one, score = read[task.line], row[: task.end - task.start]
                crossed = np.flatnonzero(score >= bar)
                one.starts.append(task.start)
                if len(crossed):
                    place = _place(task, one.log, int(crossed[0]), score)
                    one.places.append(place)
                    further.append(
                        one.task(task.line, place.at, _residuals(task, one.log, place.at), bar)
                    )
                    score = score[: crossed[0] + max(WINDOWS)]
                one.scores.append(score)
        tasks = further
    return [one.judged() for one in read]


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """A line that is being read: where it was seen to step, and what remains for the next time."""

    log: Floats
    trace: Trace | None
    places: list[_Place] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    scores: list[Floats] = field(default_factory=list)

    def task(self, line: int, start: int, old: Floats, bar: float) -> _Task:
        """What is to be read from *start* on, less what the trace has of it."""
        known, end, levels = np.zeros(0), len(self.log), len(self.places)
        if self.trace and self.trace.starts[: levels + 1] == (*self.starts[:levels], start):
            common = self.trace.in_common(self.log)
            known = self.trace.scores[levels][: max(0, common - start)]
            crossed = np.flatnonzero(known >= bar)
            if len(crossed):
                # a step is judged by the scores of so many commits
                end = min(end, start + int(crossed[0]) + max(WINDOWS))
        return _Task(line=line, start=start, end=end, old=old, levels=levels, known=known)

    def judged(self) -> Scan:
        """What is seen in the whole line."""
        trace, known = self.trace, self.trace.in_common(self.log) if self.trace else -1
        if trace is None or not known == len(self.log) == len(trace.logs):
            trace = Trace(logs=self.log, starts=tuple(self.starts), scores=tuple(self.scores))
        return replace(_judged(self.log, self.places), trace=trace)


def _batch(tasks: Sequence[_Task], logs: Sequence[Floats]) -> Batch:
    parts = [logs[task.line][task.start : task.end] for task in tasks]
    return Batch(
        current=_padded(parts),
        lengths=_counts(map(len, parts)),
        old=_padded([task.old for task in tasks]),
        ages=_counts(len(task.old) for task in tasks),
        levels=_counts(task.levels for task in tasks),
    )


def _counts(values: Iterable[int]) -> Counts:
    return np.array(list(values), dtype=np.int64)


def _padded(parts: Sequence[Floats]) -> Floats:
    whole = np.zeros((len(parts), max(map(len, parts))))
    for row, part in zip(whole, parts, strict=True):
        row[: len(part)] = part
    return whole


def _place(task: _Task, log: Floats, now: int, score: Floats) -> _Place:
    """Where the level changed, by the commits up to *now* after the task's start."""
    current, _, _ = clipped(
        log[task.start : task.start + now + 1][None, :], task.old[None, :], _counts([len(task.old)])
    )
    earliest = max(MIN_LEVEL, now + 2 - max(WINDOWS) - _MOVES)
    split = _best_split(current[0], earliest, now + 2 - min(WINDOWS))
    return _Place(at=task.start + split, seen=task.start + now, scores=score[now:])


def _best_split(values: Floats, first: int, end: int) -> int:
    """The index in *first* … *end* - 1 where a change of level explains most of the squares."""
    splits = np.arange(first, end)
    sums = np.concatenate([[0.0], values.cumsum()])
    count, left = len(values), sums[splits]
    gain = (left / splits - (sums[-1] - left) / (count - splits)) ** 2
    return int(splits[(gain * splits * (count - splits)).argmax()])


def _residuals(task: _Task, log: Floats, at: int) -> Floats:
    """What of *task*'s line is known of its noise when it has a new level from *at* on."""
    level = log[task.start : at]
    return np.concatenate([task.old, level - np.median(level)])


def _judged(log: Floats, places: Sequence[_Place]) -> Scan:
    """The Scan of a line with steps at *places*, which all its commits may move a little."""
    if len(log) < SHORTEST:
        return Scan(basis=NoiseModel.NONE)
    ends = _settled(log, [place.at for place in places])
    noise = Noise.of([log[a:b] for a, b in pairwise(ends)])
    levels = [noise.level(log[a:b]) for a, b in pairwise(ends)]
    jumps = []
    for number, place in enumerate(places):
        begin, at, end = ends[number : number + 3]
        evidence = float(place.scores[: max(1, end - place.seen)][: max(WINDOWS)].max())
        step = levels[number + 1] - levels[number]
        reach = noise.reach(at - begin, end - at)
        jumps.append(
            Jump(
                at=at,
                previous=at - 1,
                seen=place.seen,
                before=float(np.exp(levels[number])),
                after=float(np.exp(levels[number + 1])),
                low=float(np.exp(step - reach)),
                high=float(np.exp(step + reach)),
                p_value=p_value(evidence, len(log)),
            )
        )
    return Scan(basis=NoiseModel.POINTS, jumps=tuple(jumps), noise=noise.deviation)


def _settled(log: Floats, places: Sequence[int]) -> list[int]:
    """Where the line's levels begin and end: *places* as all commits of both levels have them."""
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
    """A Noise is a line's scatter around its levels, of logarithms: a share of the number.

    ``unit`` is the robust standard deviation by which what is far away is drawn in, ``deviation``
    that of what is left, ``rho`` its autocorrelation from commit to commit.
    """

    unit: float
    deviation: float
    rho: float
    freedom: float

    @classmethod
    def of(cls, levels: Sequence[Floats]) -> Noise:
        """The Noise in the numbers of each of *levels*."""
        residuals = np.concatenate([level - np.median(level) for level in levels])
        values, _, (unit,) = clipped(residuals[None, :], np.zeros((1, 0)), _counts([0]))
        freedom = max(1.0, len(residuals) - len(levels))
        squares = float((values[0] ** 2).sum())
        lagged = float((values[0][1:] * values[0][:-1]).sum())
        rho = lagged / squares if squares else 0.0
        # Kendall 1954, Biometrika 41:403: what an estimated mean takes from it
        rho += (1 + 4 * rho) / len(residuals)
        return cls(
            unit=float(unit),
            deviation=float(unit) * float(np.sqrt(squares / freedom)),
            rho=float(np.clip(rho, RHOS[0], RHOS[-1])),
            freedom=freedom,
        )

    def level(self, numbers: Floats) -> float:
        """The mean of *numbers* with what is far from their median drawn in (Huber 1964)."""
        middle = float(np.median(numbers))
        reach = CLIP * self.unit
        return middle + float(np.clip(numbers - middle, -reach, reach).mean())

    def reach(self, before: int, after: int) -> float:
        """Half the width of the interval of a change from *before* to *after* commits."""
        variance = sum(self._inflation(count) / count for count in (before, after))
        quantile = interval_quantile(self.freedom)
        return quantile * self.deviation * float(np.sqrt(variance))

    def _inflation(self, count: int) -> float:
        """How much the variance of a mean grows by autocorrelation (AR(1), exact)."""
        rho = self.rho
        return (1 + rho) / (1 - rho) - 2 * rho * (1 - rho**count) / (count * (1 - rho) ** 2)
