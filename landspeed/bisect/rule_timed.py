"""The rule for a noisy metric: what to measure next, and when it is enough. Pure.

The ends come first, in pairs G B B G, so that a machine that drifts steadily favours neither,
until it is clear that there is a step to look for. Then each Run goes where it tells most for
what it costs, until one step has the confidence that was asked for. What is looked at is the
posterior itself, and looking at it often does not change what it means (Berger and Wolpert,
*The Likelihood Principle*, 1988).
"""

from __future__ import annotations

import numpy as np

from landspeed.bisect.model import (
    Costs,
    Culprit,
    Decision,
    Evidence,
    Hypothesis,
    NoCulprit,
    Probe,
    Reversed,
)
from landspeed.bisect.posterior import Posterior, believe
from landspeed.bisect.probe_choice import best_probe

END_RUNS = 4
"""How often both ends are measured at least, afresh."""
# A server that is like neither end, because there are two steps, is on neither side of one however
# often it is measured: what then tells is which end it is nearer to.
_MOST_AN_END_RUN = 4
# How likely a step must be before looking for it is worth more than the ends.
_ENTER = 0.5


def decide(quest: Hypothesis, evidence: Evidence, costs: Costs) -> Decision:
    """What to do next, knowing *evidence*; both ends can be built."""
    if min(evidence.runs(0), evidence.runs(quest.last)) < END_RUNS:
        return Probe(position=_poorer_end(quest, evidence))
    return _decide(quest, evidence, costs, believe(quest, evidence))


def _decide(quest: Hypothesis, evidence: Evidence, costs: Costs, belief: Posterior) -> Decision:
    if belief.none >= _nothing_at(quest.confidence):
        return NoCulprit(confidence=belief.none)
    if belief.reversed >= quest.confidence:
        return Reversed(confidence=belief.reversed)
    found = best_block(quest, evidence, belief)
    if found.confidence >= _named_at(quest.confidence):
        # nothing is named of which one side was never seen
        unseen = [p for p in (found.first - 1, found.last) if not evidence.runs(p)]
        return Probe(position=unseen[0]) if unseen else found
    between = inside(quest, evidence)
    # where the step is may be clear before it is that there is one
    is_placed = found.confidence >= _named_at(quest.confidence) * belief.step
    if belief.step < _ENTER or is_placed or not between:
        return Probe(position=_poorer_end(quest, evidence))
    upper = np.cumsum(belief.steps) / belief.step
    position = best_probe(
        between,
        upper[between],
        distance=belief.distance,
        built=evidence.servers,
        skipped=evidence.skipped,
        costs=costs,
    )
    ends = min(evidence.runs(0), evidence.runs(quest.last))
    if evidence.runs(position) >= _MOST_AN_END_RUN * ends:
        position = _poorer_end(quest, evidence)
    return Probe(position=position)


def _named_at(confidence: float) -> float:
    # a step of just the size asked is at the edge of the prior, and a model is not the machine
    return 1 - (1 - confidence) * 0.4


def _nothing_at(confidence: float) -> float:
    # nobody looks again where nothing was said to be: a tenth of the error is allowed
    return 1 - (1 - confidence) / 10


def best_block(quest: Hypothesis, evidence: Evidence, belief: Posterior) -> Culprit:
    """The most likely step, or steps that cannot be told apart, whether likely enough or not."""
    starts = [1, *(p + 1 for p in inside(quest, evidence))]
    masses = np.add.reduceat(belief.steps, starts)
    best = int(np.argmax(masses))
    stop = starts[best + 1] if best + 1 < len(starts) else quest.last + 1
    possible = np.flatnonzero(belief.steps[starts[best] : stop]) + starts[best]
    if not len(possible):
        return Culprit(first=1, last=quest.last, confidence=0.0)
    return Culprit(first=int(possible[0]), last=int(possible[-1]), confidence=float(masses[best]))


def interval(quest: Hypothesis, belief: Posterior) -> tuple[int, int]:
    """The shortest span of steps that has the confidence asked for, given that there is a step."""
    mass = np.cumsum(belief.steps) / belief.step
    tail = (1 - quest.confidence) / 2
    first = int(np.searchsorted(mass, tail, side="right"))
    last = int(np.searchsorted(mass, 1 - tail, side="left"))
    return max(1, first), min(quest.last, last)


def inside(quest: Hypothesis, evidence: Evidence) -> list[int]:
    """The positions between the ends that may be measured."""
    return [p for p in range(1, quest.last) if p not in evidence.skipped]


def _poorer_end(quest: Hypothesis, evidence: Evidence) -> int:
    good, bad = evidence.runs(0), evidence.runs(quest.last)
    if good == bad:  # pairs take turns: G B, B G, …
        return 0 if good % 2 == 0 else quest.last
    return 0 if good < bad else quest.last
