"""Which commit to count next, and which commits changed a level, over many series at once. Pure.

The ends and a grid are counted first, for every series; one that cannot be counted at an end, at
the nearest commit where it can. A series has an open question between two
of its counted neighbours whose levels differ by the size asked for, less what two counts of one
server may be apart. The next commit is the one that settles the most open questions per second, and
only the series with an open question there are counted. A prior may say which commits are likely. A
question ends when no commit between the two neighbours can be counted, or the series could not be
at five of them. Then the neighbours of every step are counted for all series, which may open new
questions.

What is promised: a step of at least the size between a commit and its parent is found, unless other
changes between the same two counted commits cancel it. A level that drifts by smaller steps is
followed only until each part is below the size; it is no step. docs/atlas.md derives the number of
builds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import ceil, log, log2

import numpy as np

from benchmarks.counted.slope import SPREAD_LIMIT
from landspeed.atlas.prior import change_reached
from landspeed.bisect.probe_choice import build_probability

# A series that cannot be counted at so many positions between two neighbours will not be at the
# others either, and each of them would be a build.
_MOST_REFUSED = 5


def threshold(size: float) -> float:
    """Return the least difference of two counts that may hold a step of *size*, as a logarithm."""
    return log((1 + size) / (1 + 2 * SPREAD_LIMIT))


@dataclass(frozen=True, kw_only=True)
class AtlasQuestion:
    """What is looked for: steps of ``size`` (a share) or more in ``series``.

    Positions are 0 … ``last``; the grid's points are at most ``spacing`` apart. ``build`` and
    ``count`` are the seconds that one more build and one more count take, with the loading of data
    and with several counts side by side. Only positions of the ``share``, its first and its last,
    are counted; those of other shares are for other machines.
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

    def seconds(self, builds: float, counts: float) -> float:
        """Return how long so many *builds* and *counts* take."""
        return builds * self.build + counts * self.count

    @property
    def threshold(self) -> float:
        """The `threshold` of the size."""
        return threshold(self.size)


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
    found = set()
    for point in points:
        after = bisect_left(whole, point)
        near = whole[max(0, after - 1) : after + 1]
        found.add(min(near, key=lambda one: abs(one - point)))
    return sorted(found)


def _instead_of_ends(question: AtlasQuestion, known: KnownLevels) -> dict[int, list[str]]:
    """Return the series that an end refused, by the position at which to count them instead.

    That is the nearest position where a series may be counted, after at most five refusals.
    """
    found: dict[int, list[str]] = defaultdict(list)
    inwards = range(question.last + 1)
    for name in question.series:
        for way in (inwards, reversed(inwards)):
            refused = 0
            for position in way:
                if (name, position) in known.missing:
                    refused += 1
                    if refused >= _MOST_REFUSED:
                        break
                elif known.can_count(name, position):
                    if refused and question.is_ours(position):
                        found[position].append(name)
                    break
                elif position in known.levels[name]:
                    break
    return found


def intervals(question: AtlasQuestion, known: KnownLevels) -> Iterator[LevelInterval]:
    """Return the intervals whose ends differ by the threshold, open and settled ones."""
    for name in question.series:
        for (first, before), (last, after) in pairwise(sorted(known.levels[name].items())):
            if abs(after - before) >= question.threshold:
                between = range(first + 1, last)
                refused = sum((name, p) in known.missing for p in between)
                can = between if refused < _MOST_REFUSED else ()
                free = tuple(p for p in can if known.can_count(name, p))
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


Prior = Callable[[LevelInterval], Mapping[int, float]]
"""Returns the weights of the positions at which an interval's level may have changed."""


def no_prior(_: LevelInterval) -> Mapping[int, float]:
    """Return no weights: all positions are alike."""
    return {}


def next_probe(
    question: AtlasQuestion, known: KnownLevels, prior: Prior = no_prior
) -> AtlasProbe | None:
    """Return what to count next; None when everything is settled."""
    points = grid(question, known)
    ends = [points[0], points[-1]]
    for position in [*ends, *points]:
        if due := _due(question, known, position):
            return AtlasProbe(position=position, series=due)
    for position, names in _instead_of_ends(question, known).items():
        return AtlasProbe(position=position, series=tuple(names))
    if probe := _most_telling(question, known, prior):
        return probe
    for position in _beside_steps(question, known):
        if due := _due(question, known, position):
            return AtlasProbe(position=position, series=due)
    return None


def counts_due(question: AtlasQuestion, known: KnownLevels) -> dict[int, int]:
    """Return how many series lack a count at points of the grid and beside steps, by position."""
    points = {*grid(question, known), *_beside_steps(question, known)}
    dues = {position: len(_due(question, known, position)) for position in points}
    for position, names in _instead_of_ends(question, known).items():
        dues.setdefault(position, len(names))
    return {position: due for position, due in sorted(dues.items()) if due}


def _beside_steps(question: AtlasQuestion, known: KnownLevels) -> list[int]:
    """Return the neighbours of the steps, those of the largest first: time may run out."""
    largest = sorted(
        steps(question, known), key=lambda step: max(map(abs, step.changes.values())), reverse=True
    )
    return [at for step in largest for at in (step.first - 1, step.last)]


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


def _most_telling(question: AtlasQuestion, known: KnownLevels, prior: Prior) -> AtlasProbe | None:
    """Return the probe with the most bits per second; None if no question is open."""
    told = [(one.series, _bits(one, prior(one))) for one in open_intervals(question, known)]
    best: tuple[float, AtlasProbe] | None = None
    for position in sorted({_best(bits, known.broken) for _, bits in told} | known.built):
        here = {series: bits[position] for series, bits in told if position in bits}
        if not here:
            continue
        # A series to which the position tells little is counted where it is told more.
        series = tuple(name for name, some in here.items() if some >= max(here.values()) / 2)
        build = 0.0 if position in known.built else question.build
        worth = sum(here[name] for name in series) / (build + len(series) * question.count)
        if best is None or worth > best[0]:
            best = worth, AtlasProbe(position=position, series=series)
    return best[1] if best else None


def _bits(interval: LevelInterval, weights: Mapping[int, float]) -> dict[int, float]:
    """Return what a count at each free position would tell of *interval*."""
    reached = change_reached(interval.first, interval.last, weights)
    share = reached[np.array(interval.free) - interval.first]
    bits = -share * np.log2(share) - (1 - share) * np.log2(1 - share)
    return dict(zip(interval.free, bits.tolist(), strict=True))


def _best(bits: Mapping[int, float], broken: set[int]) -> int:
    """Return the position that tells most, weighed by how likely it can be built."""
    positions = list(bits)
    worth = np.array(list(bits.values())) * build_probability(positions, broken)
    return positions[int(np.argmax(worth))]
