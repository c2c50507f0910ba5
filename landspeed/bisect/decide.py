"""What to measure next, or the answer: the rules for timed and for counted metrics. Pure.

*Timed*: The ends are measured first, in the order G B B G, so that a machine that drifts steadily
favours neither, until it is clear that there is a step to look for. Then each run is made where it
gives the most information for its cost, until one step has the confidence that was asked for. The
rule looks at the posterior itself, whose meaning does not change with the number of looks (Berger
and Wolpert, *The Likelihood Principle*, 1988).

*Counted*: A single run gives the level, so the level changes by a known amount between two measured
neighbours. The interval with the largest rise is always cut in the middle, until it holds one step.
With a single change among n steps this takes ⌈log2 n⌉ + 2 measurements and is always right. If
every rise that is left is smaller than asked, the level rose gradually and no single step caused
it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log2

import numpy as np

from landspeed.bisect.model import (
    Costs,
    Culprit,
    Decision,
    Hypothesis,
    NoCulprit,
    Observations,
    Probe,
    Reversed,
)
from landspeed.bisect.posterior import Posterior, posterior_of, two_changes
from landspeed.bisect.probe_choice import best_probe, build_probability, information

END_RUNS = 4
"""The fewest fresh runs of each end."""
# With two steps, a server between them is on neither side of one however often it is measured.
# More runs of the ends then show to which end it is closer.
_MOST_PER_END_RUN = 4
# The probability of a step from which on looking for it is worth more than measuring the ends.
_SEARCH_FROM = 0.5


def decide_timed(hypothesis: Hypothesis, observations: Observations, costs: Costs) -> Decision:
    """Return what to measure next, or the answer; both ends can be built."""
    good, bad = observations.runs(0), observations.runs(hypothesis.last)
    # Pairs alternate: G B, B G, …
    is_good_next = good < bad or (good == bad and good % 2 == 0)
    to_end = Probe(position=0 if is_good_next else hypothesis.last)
    if min(good, bad) < END_RUNS:
        return to_end
    posterior = posterior_of(hypothesis, observations)
    # Nobody looks again where no culprit was found: only a tenth of the error is allowed.
    if posterior.none >= 1 - (1 - hypothesis.confidence) / 10:
        return NoCulprit(confidence=posterior.none)
    if posterior.reversed >= hypothesis.confidence:
        return Reversed(confidence=posterior.reversed)
    # A step of just the size asked for is at the edge of the prior, and the model is not the
    # machine: more is demanded of the posterior than of the answer.
    wanted = 1 - (1 - hypothesis.confidence) * 0.4
    found = most_likely(hypothesis, observations, posterior)
    if found.confidence >= wanted:
        # Both sides of the culprit must have been measured.
        unseen = [p for p in (found.first - 1, found.last) if not observations.runs(p)]
        return Probe(position=unseen[0]) if unseen else found
    between = inside(hypothesis, observations)
    # It may be clear where the step is before it is clear that there is one.
    is_placed = found.confidence >= wanted * posterior.step
    if posterior.step >= _SEARCH_FROM and between and not is_placed:
        upper = np.cumsum(posterior.steps) / posterior.step
        position = best_probe(
            between,
            upper[between],
            distance=posterior.distance,
            built=observations.servers,
            skipped=observations.skipped,
            costs=costs,
        )
        if observations.runs(position) < _MOST_PER_END_RUN * min(good, bad):
            return Probe(position=position)
    return to_end


def most_likely(
    hypothesis: Hypothesis, observations: Observations, posterior: Posterior
) -> Culprit:
    """Return the most likely step, or steps that cannot be told apart, however likely."""
    starts = [1, *(p + 1 for p in inside(hypothesis, observations))]
    masses = np.add.reduceat(posterior.steps, starts)
    best = int(np.argmax(masses))
    stop = starts[best + 1] if best + 1 < len(starts) else hypothesis.last + 1
    possible = np.flatnonzero(posterior.steps[starts[best] : stop]) + starts[best]
    if not len(possible):
        return Culprit(first=1, last=hypothesis.last, confidence=0.0)
    return Culprit(first=int(possible[0]), last=int(possible[-1]), confidence=float(masses[best]))


def credible_range(hypothesis: Hypothesis, posterior: Posterior) -> tuple[int, int]:
    """Return the central range of steps with the confidence asked for, if there is a step."""
    mass = np.cumsum(posterior.steps) / posterior.step
    tail = (1 - hypothesis.confidence) / 2
    first = int(np.searchsorted(mass, tail, side="right"))
    last = int(np.searchsorted(mass, 1 - tail, side="left"))
    return max(1, first), min(hypothesis.last, last)


def inside(hypothesis: Hypothesis, observations: Observations) -> list[int]:
    """Return the positions between the ends that may be measured."""
    return [p for p in range(1, hypothesis.last) if p not in observations.skipped]


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
        return Probe(position=most_informative(between, largest, skipped))
    return Culprit(first=largest.first, last=largest.last, confidence=1.0)


def most_informative(between: list[int], interval: LevelChange, skipped: Collection[int]) -> int:
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


# The least probability of a second change at which it is reported.
_REPORTED = 0.95


@dataclass(frozen=True, kw_only=True)
class BisectProgress(LevelChange):
    """How far a bisection has come: where the culprit is if there is one, and its likely size.

    ``runs`` is an estimate of the runs that are left.
    """

    runs: float


def decide(hypothesis: Hypothesis, observations: Observations, costs: Costs) -> Decision:
    """Return what to measure next, or the answer."""
    if hypothesis.counted:
        return decide_counted(hypothesis, observations)
    return decide_timed(hypothesis, observations, costs)


def progress_of(hypothesis: Hypothesis, observations: Observations) -> BisectProgress:
    """Return how far the bisection has come."""
    last = hypothesis.last
    if not min(observations.runs(0), observations.runs(last)):
        # A run tells about half a bit of a change of two standard deviations.
        runs = log2(last) + 2 if hypothesis.counted else 8 + 3 * log2(last + 1)
        return BisectProgress(first=1, last=last, change=0.0, runs=runs)
    if hypothesis.counted:
        largest = max(level_changes(observations), key=lambda change: change.change)
        runs = ceil(log2(largest.last - largest.first + 1))
        return BisectProgress(**vars(largest), runs=runs)
    posterior = posterior_of(hypothesis, observations)
    if posterior.step == 0:
        return BisectProgress(first=1, last=last, change=0.0, runs=0.0)
    first, last = credible_range(hypothesis, posterior)
    shares = posterior.steps[posterior.steps > 0] / posterior.step
    entropy = float(-(shares * np.log2(shares)).sum())
    runs = runs_for(entropy, max(posterior.distance, 0.05), hypothesis.confidence)
    return BisectProgress(first=first, last=last, change=posterior.change, runs=runs)


def runs_for(entropy: float, distance: float, confidence: float) -> float:
    """Return about how many runs it takes to find a step with *confidence*.

    *entropy* is that of its place, in bits; *distance* that of the two levels, in standard
    deviations of a run.
    """
    bits = float(information(np.array([0.5]), np.array([distance]))[0, 0])
    return (entropy - log2(1 - confidence)) / max(bits, 1e-9)


def other_changes(hypothesis: Hypothesis, observations: Observations, named: int) -> list[range]:
    """Return the steps at which the level changes as well, beside the *named* one."""
    if hypothesis.counted:
        return [
            range(change.first, change.last + 1)
            for change in level_changes(observations)
            if abs(change.change) >= hypothesis.threshold
            and not change.first <= named <= change.last
        ]
    two = two_changes(hypothesis, observations)
    if two is None or two.probability < _REPORTED:
        return []
    return [steps for steps in (two.first, two.second) if named not in steps]
