"""Which commit to count next, and which commits changed a level, over many series at once. Pure.

The ends and a grid are counted first, for every series. A series has an open question between two
of its counted neighbours whose levels differ by the size asked for, less what two counts of one
server may be apart. The next commit is the one that settles the most open questions per second, and
only the series with an open question there are counted. A question ends when no commit between the
two neighbours can be counted. Then the neighbours of every step are counted for all series, which
may open new questions.

What is promised: a step of at least the size between a commit and its parent is found, unless other
changes between the same two counted commits cancel it. A level that drifts by smaller steps is
followed only until each part is below the size; it is no step. docs/atlas.md derives the number of
builds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import ceil, log, log2

from benchmarks.counted.slope import SPREAD_LIMIT
from landspeed.bisect.decide import LevelChange, most_informative


@dataclass(frozen=True, kw_only=True)
class AtlasQuestion:
    """What is looked for: steps of ``size`` (a share) or more in ``series``.

    Positions are 0 … ``last``; the grid's points are at most ``spacing`` apart. ``build`` and
    ``count`` are the seconds that a build and a count take. Only positions of the ``share``, its
    first and its last, are counted; those of other shares are for other machines.
    """

    last: int
    series: tuple[str, ...]
    size: float
    spacing: int
    build: float
    count: float
    share: tuple[int, int] | None = None

    def is_ours(self, position: int) -> bool:
        """Return whether *position* is in the share."""
        return self.share is None or self.share[0] <= position <= self.share[1]

    @property
    def threshold(self) -> float:
        """The least difference of two counts that may hold a step of the size, as a logarithm."""
        return log((1 + self.size) / (1 + 2 * SPREAD_LIMIT))


@dataclass(kw_only=True)
class KnownLevels:
    """What is known so far.

    ``levels`` are logarithms by series and position. Nothing can be counted at ``broken``
    positions, and one series cannot be counted where ``missing`` says so. ``built`` positions have
    a build already.
    """

    levels: dict[str, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    broken: set[int] = field(default_factory=set)
    missing: set[tuple[str, int]] = field(default_factory=set)
    built: set[int] = field(default_factory=set)

    def can_count(self, series: str, position: int) -> bool:
        """Return whether a count is neither known nor known to be impossible."""
        known = position in self.levels[series] or position in self.broken
        return not known and (series, position) not in self.missing


@dataclass(frozen=True, kw_only=True)
class AtlasProbe:
    """A commit to build, and the series to count there."""

    position: int
    series: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AtlasStep:
    """A change of level at positions ``first`` … ``last``: several only where none can be counted.

    ``changes`` are logarithms by series.
    """

    first: int
    last: int
    changes: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class LevelInterval:
    """Two counted neighbours of one series whose levels differ, and what can be counted between."""

    series: str
    first: int
    last: int
    change: float
    free: tuple[int, ...]


def grid(question: AtlasQuestion, known: KnownLevels) -> list[int]:
    """Return the positions counted for every series; the nearest one instead of a broken one."""
    last, broken = question.last, known.broken
    parts = ceil(last / question.spacing)
    points = (round(part * last / parts) for part in range(parts + 1))
    whole = [position for position in range(last + 1) if position not in broken]
    return sorted({min(whole, key=lambda one: abs(one - point)) for point in points})


def intervals(question: AtlasQuestion, known: KnownLevels) -> Iterator[LevelInterval]:
    """Return the intervals whose ends differ by the threshold, open and settled ones."""
    for name in question.series:
        for (first, before), (last, after) in pairwise(sorted(known.levels[name].items())):
            if abs(after - before) >= question.threshold:
                between = range(first + 1, last)
                free = tuple(p for p in between if known.can_count(name, p))
                yield LevelInterval(
                    series=name, first=first, last=last, change=after - before, free=free
                )


def open_intervals(question: AtlasQuestion, known: KnownLevels) -> list[LevelInterval]:
    """Return the intervals with something to count in the share, which ``free`` is limited to."""
    ours = (
        replace(one, free=tuple(filter(question.is_ours, one.free)))
        for one in intervals(question, known)
    )
    return [one for one in ours if one.free]


def steps(question: AtlasQuestion, known: KnownLevels) -> list[AtlasStep]:
    """Return the steps that are found so far, in order."""
    found: dict[tuple[int, int], dict[str, float]] = defaultdict(dict)
    for one in intervals(question, known):
        if not one.free:
            found[one.first + 1, one.last][one.series] = one.change
    return [
        AtlasStep(first=first, last=last, changes=changes)
        for (first, last), changes in sorted(found.items())
    ]


def next_probe(question: AtlasQuestion, known: KnownLevels) -> AtlasProbe | None:
    """Return what to count next; None when everything is settled."""
    points = grid(question, known)
    ends = [points[0], points[-1]]
    for position in [*ends, *points]:
        if due := _due(question, known, position):
            return AtlasProbe(position=position, series=due)
    if probe := _most_telling(question, known):
        return probe
    for position in _beside_steps(question, known):
        if due := _due(question, known, position):
            return AtlasProbe(position=position, series=due)
    return None


def counts_due(question: AtlasQuestion, known: KnownLevels) -> dict[int, int]:
    """Return how many series lack a count at points of the grid and beside steps, by position."""
    points = {*grid(question, known), *_beside_steps(question, known)}
    dues = {position: len(_due(question, known, position)) for position in sorted(points)}
    return {position: due for position, due in dues.items() if due}


def _beside_steps(question: AtlasQuestion, known: KnownLevels) -> list[int]:
    return [at for step in steps(question, known) for at in (step.first - 1, step.last)]


def work_left(question: AtlasQuestion, known: KnownLevels) -> tuple[int, int]:
    """Return about how many builds and counts the grid and the open questions still need."""
    dues = counts_due(question, known)
    builds = sum(point not in known.built for point in dues)
    counts = sum(dues.values())
    depths: dict[tuple[int, int], int] = {}
    for one in open_intervals(question, known):
        depth = ceil(log2(len(one.free) + 1))
        depths[one.first, one.last] = max(depths.get((one.first, one.last), 0), depth)
        counts += depth
    return builds + sum(depths.values()), counts


def _due(question: AtlasQuestion, known: KnownLevels, position: int) -> tuple[str, ...]:
    if not question.is_ours(position):
        return ()
    return tuple(name for name in question.series if known.can_count(name, position))


def _most_telling(question: AtlasQuestion, known: KnownLevels) -> AtlasProbe | None:
    """Return the probe with the most bits per second; None if no question is open."""
    questions = open_intervals(question, known)
    spans = {(one.first, one.last): one for one in questions}
    middles = {
        most_informative(
            list(one.free), LevelChange(first=first + 1, last=last, change=0.0), known.broken
        )
        for (first, last), one in spans.items()
    }
    best: tuple[float, AtlasProbe] | None = None
    for position in sorted(middles | known.built):
        there = [one for one in questions if position in one.free]
        if not there:
            continue
        bits = sum(_entropy((position - one.first) / (one.last - one.first)) for one in there)
        build = 0.0 if position in known.built else question.build
        worth = bits / (build + len(there) * question.count)
        if best is None or worth > best[0]:
            series = tuple(dict.fromkeys(one.series for one in there))
            best = worth, AtlasProbe(position=position, series=series)
    return best[1] if best else None


def _entropy(share: float) -> float:
    return -share * log2(share) - (1 - share) * log2(1 - share)
