"""The rule for a timed metric: what to measure next, and when to stop. Pure.

The ends are measured first, in the order G B B G, so that a machine that drifts steadily favours
neither, until it is clear that there is a step to look for. Then each run is made where it gives
the most information for its cost, until one step has the confidence that was asked for. The rule
looks at the posterior itself, whose meaning does not change with the number of looks (Berger and
Wolpert, *The Likelihood Principle*, 1988).
"""

from __future__ import annotations

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
from landspeed.bisect.posterior import Posterior, posterior_of
from landspeed.bisect.probe_choice import best_probe

END_RUNS = 4
"""The fewest fresh runs of each end."""
# With two steps, a server between them is on neither side of one however often it is measured.
# More runs of the ends then show to which end it is closer.
_MOST_PER_END_RUN = 4
# The probability of a step from which on looking for it is worth more than measuring the ends.
_SEARCH_FROM = 0.5


def decide_timed(hypothesis: Hypothesis, observations: Observations, costs: Costs) -> Decision:
    """Return what to measure next, or the answer; both ends can be built."""
    ends = min(observations.runs(0), observations.runs(hypothesis.last))
    to_end = Probe(position=_end_with_fewer_runs(hypothesis, observations))
    if ends < END_RUNS:
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
        if observations.runs(position) < _MOST_PER_END_RUN * ends:
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


def _end_with_fewer_runs(hypothesis: Hypothesis, observations: Observations) -> int:
    good, bad = observations.runs(0), observations.runs(hypothesis.last)
    if good == bad:  # pairs alternate: G B, B G, …
        return 0 if good % 2 == 0 else hypothesis.last
    return 0 if good < bad else hypothesis.last
