"""The next probe or the answer, by the rule for timed or for counted metrics. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

import numpy as np

from landspeed.bisect import rule_counted, rule_timed
from landspeed.bisect.model import Costs, Decision, Hypothesis, Observations
from landspeed.bisect.posterior import posterior_of
from landspeed.bisect.probe_choice import information
from landspeed.bisect.two_changes import two_changes

# The least probability of a second change at which it is reported.
_REPORTED = 0.95


@dataclass(frozen=True, kw_only=True)
class BisectProgress:
    """How far a bisection has come: the culprit is among steps ``first`` … ``last``.

    ``step`` is the probability that there is one, ``change`` its size as a logarithm, ``runs``
    an estimate of the runs that are left.
    """

    first: int
    last: int
    step: float
    change: float
    runs: float


def decide(hypothesis: Hypothesis, observations: Observations, costs: Costs) -> Decision:
    """Return what to measure next, or the answer."""
    if hypothesis.counted:
        return rule_counted.decide_counted(hypothesis, observations)
    return rule_timed.decide_timed(hypothesis, observations, costs)


def progress_of(hypothesis: Hypothesis, observations: Observations) -> BisectProgress:
    """Return how far the bisection has come."""
    last = hypothesis.last
    if not min(observations.runs(0), observations.runs(last)):
        # A run tells about half a bit of a change of two standard deviations.
        runs = log2(last) + 2 if hypothesis.counted else 8 + 3 * log2(last + 1)
        return BisectProgress(first=1, last=last, step=0.5, change=0.0, runs=runs)
    if hypothesis.counted:
        changes = rule_counted.level_changes(observations)
        largest = max(changes, key=lambda change: change.change)
        return BisectProgress(
            first=largest.first,
            last=largest.last,
            step=1.0,
            change=largest.change,
            runs=ceil(log2(largest.last - largest.first + 1)),
        )
    posterior = posterior_of(hypothesis, observations)
    if posterior.step == 0:
        return BisectProgress(first=1, last=last, step=0.0, change=0.0, runs=0.0)
    first, last = rule_timed.credible_range(hypothesis, posterior)
    shares = posterior.steps[posterior.steps > 0] / posterior.step
    entropy = float(-(shares * np.log2(shares)).sum())
    return BisectProgress(
        first=first,
        last=last,
        step=posterior.step,
        change=posterior.change,
        runs=runs_for(entropy, max(posterior.distance, 0.05), hypothesis.confidence),
    )


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
            for change in rule_counted.level_changes(observations)
            if abs(change.change) >= hypothesis.threshold
            and not change.first <= named <= change.last
        ]
    two = two_changes(hypothesis, observations)
    if two is None or two.probability < _REPORTED:
        return []
    return [steps for steps in (two.first, two.second) if named not in steps]
