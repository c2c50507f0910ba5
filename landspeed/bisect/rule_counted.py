"""The rule for an exact metric, whose value one Run tells. Pure.

Between two measured neighbours the level rises by a known amount. Always the interval with the
largest rise is cut in the middle, until it holds one step: with a single step among n that is
⌈log2 n⌉ + 2 measurements, and always right. If the rises that are left are all smaller than the
size asked, the level crept up and no one step did it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from landspeed.bisect.model import (
    Culprit,
    Decision,
    Evidence,
    Hypothesis,
    NoCulprit,
    Probe,
    Reversed,
)
from landspeed.bisect.probe_choice import building


@dataclass(frozen=True, kw_only=True)
class Rise:
    """A Rise is a change of level, as a logarithm, by one of steps ``first`` … ``last``."""

    first: int
    last: int
    change: float


def decide_exactly(quest: Hypothesis, evidence: Evidence) -> Decision:
    """What to measure next, or the answer; both ends can be built."""
    levels = _levels(evidence)
    for end in (0, quest.last):
        if end not in levels:
            return Probe(position=end)
    change = levels[quest.last] - levels[0]
    if change <= -quest.threshold:
        return Reversed(confidence=1.0)
    largest = max(rises(evidence), key=lambda rise: rise.change)
    if change < quest.threshold or largest.change < quest.threshold:
        return NoCulprit(confidence=1.0)
    between = [p for p in range(largest.first, largest.last) if p not in evidence.skipped]
    if between:
        return Probe(position=_fairest(between, largest, evidence.skipped))
    return Culprit(first=largest.first, last=largest.last, confidence=1.0)


def _fairest(between: list[int], interval: Rise, skipped: Collection[int]) -> int:
    """The position nearest to the middle, unless what is near it does not build."""
    middle = (interval.first + interval.last - 1) / 2
    aside = np.abs(np.array(between) - middle) / (interval.last - interval.first + 1)
    # what a cut that far from the middle tells, near enough: the entropy of its two parts
    return between[int(np.argmax((1 - 4 * aside**2) * building(between, skipped)))]


def rises(evidence: Evidence) -> list[Rise]:
    """The change of level between each two measured neighbours, falls being negative."""
    levels = sorted(_levels(evidence).items())
    return [
        Rise(first=lower + 1, last=upper, change=after - before)
        for (lower, before), (upper, after) in pairwise(levels)
    ]


def _levels(evidence: Evidence) -> dict[int, float]:
    """The level at every position whose server is measured, wherever that was done."""
    known = {
        evidence.servers.get(position, position): sum(values) / len(values)
        for position, values in evidence.samples.items()
        if values
    }
    positions = {*evidence.samples, *evidence.servers}
    names = {p: evidence.servers.get(p, p) for p in positions}
    return {p: known[name] for p, name in names.items() if name in known}
