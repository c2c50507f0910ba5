"""The rule for a counted metric, whose level a single run gives. Pure.

The level changes by a known amount between two measured neighbours. The interval with the
largest rise is always cut in the middle, until it holds one step. With a single change among n
steps this takes ⌈log2 n⌉ + 2 measurements and is always right. If every rise that is left is
smaller than asked, the level rose gradually and no single step caused it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from landspeed.bisect.model import (
    Culprit,
    Decision,
    Hypothesis,
    NoCulprit,
    Observations,
    Probe,
    Reversed,
)
from landspeed.bisect.probe_choice import build_probability


@dataclass(frozen=True, kw_only=True)
class LevelChange:
    """A change of level, as a logarithm, within steps ``first`` … ``last``."""

    first: int
    last: int
    change: float


def decide_counted(hypothesis: Hypothesis, observations: Observations) -> Decision:
    """Return what to measure next, or the answer; both ends can be built."""
    levels = _levels(observations)
    for end in (0, hypothesis.last):
        if end not in levels:
            return Probe(position=end)
    change = levels[hypothesis.last] - levels[0]
    if change <= -hypothesis.threshold:
        return Reversed(confidence=1.0)
    largest = max(level_changes(observations), key=lambda one: one.change)
    if change < hypothesis.threshold or largest.change < hypothesis.threshold:
        return NoCulprit(confidence=1.0)
    skipped = observations.skipped
    between = [p for p in range(largest.first, largest.last) if p not in skipped]
    if between:
        return Probe(position=_most_informative(between, largest, skipped))
    return Culprit(first=largest.first, last=largest.last, confidence=1.0)


def _most_informative(between: list[int], interval: LevelChange, skipped: Collection[int]) -> int:
    """Return the position nearest to the middle, weighed by how likely it can be built."""
    middle = (interval.first + interval.last - 1) / 2
    aside = np.abs(np.array(between) - middle) / (interval.last - interval.first + 1)
    # Approximately the entropy of the two parts of a cut at that distance from the middle.
    bits = 1 - 4 * aside**2
    return between[int(np.argmax(bits * build_probability(between, skipped)))]


def level_changes(observations: Observations) -> list[LevelChange]:
    """Return the change of level between each two measured neighbours; falls are negative."""
    levels = sorted(_levels(observations).items())
    return [
        LevelChange(first=lower + 1, last=upper, change=after - before)
        for (lower, before), (upper, after) in pairwise(levels)
    ]


def _levels(observations: Observations) -> dict[int, float]:
    """Return the level at every position whose server is measured at that or another position."""
    servers = observations.servers
    known = {
        servers.get(position, position): sum(values) / len(values)
        for position, values in observations.samples.items()
        if values
    }
    names = {p: servers.get(p, p) for p in {*observations.samples, *servers}}
    return {p: known[name] for p, name in names.items() if name in known}
