"""Which rule a Hypothesis is pursued by: the one for noisy metrics, or the one for exact ones. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

import numpy as np

from landspeed.bisect import rule_counted, rule_timed
from landspeed.bisect.model import Costs, Decision, Evidence, Hypothesis
from landspeed.bisect.posterior import believe
from landspeed.bisect.probe_choice import bits
from landspeed.bisect.two_changes import two_steps

# Such a probability of two steps is said, a smaller one is not worth a word.
_SAID = 0.95


@dataclass(frozen=True, kw_only=True)
class Remainder:
    """A Remainder is how far a bisection has come: the step is among ``first`` … ``last``.

    ``step`` is the probability that there is one, ``change`` its size as a logarithm; ``runs``
    about how many are still to be made.
    """

    first: int
    last: int
    step: float
    change: float
    runs: float


def decide(quest: Hypothesis, evidence: Evidence, costs: Costs) -> Decision:
    """What to do next, or the answer."""
    if quest.is_exact:
        return rule_counted.decide_exactly(quest, evidence)
    return rule_timed.decide(quest, evidence, costs)


def remainder(quest: Hypothesis, evidence: Evidence) -> Remainder:
    """How far the bisection has come."""
    ends_are_known = min(evidence.runs(0), evidence.runs(quest.last)) > 0
    if not ends_are_known:
        return Remainder(first=1, last=quest.last, step=0.5, change=0.0, runs=_whole(quest))
    if quest.is_exact:
        largest = max(rule_counted.rises(evidence), key=lambda rise: rise.change)
        return Remainder(
            first=largest.first,
            last=largest.last,
            step=1.0,
            change=largest.change,
            runs=ceil(log2(largest.last - largest.first + 1)),
        )
    belief = believe(quest, evidence)
    if belief.step == 0:
        return Remainder(first=1, last=quest.last, step=0.0, change=0.0, runs=0.0)
    first, last = rule_timed.interval(quest, belief)
    shares = belief.steps[belief.steps > 0] / belief.step
    unknown = float(-(shares * np.log2(shares)).sum()) - log2(1 - quest.confidence)
    told = float(bits(np.array([0.5]), np.array([max(belief.distance, 0.05)]))[0, 0])
    return Remainder(
        first=first, last=last, step=belief.step, change=belief.change, runs=unknown / told
    )


def _whole(quest: Hypothesis) -> float:
    # of a step of two standard deviations a Run tells about half a bit
    return log2(quest.last) + 2 if quest.is_exact else 8 + 3 * log2(quest.last + 1)


def other_steps(quest: Hypothesis, evidence: Evidence, named: int) -> list[range]:
    """The steps, beside the *named* one, that the measurements cannot be explained without."""
    if quest.is_exact:
        return [
            range(rise.first, rise.last + 1)
            for rise in rule_counted.rises(evidence)
            if abs(rise.change) >= quest.threshold and not rise.first <= named <= rise.last
        ]
    two = two_steps(quest, evidence)
    if two is None or two.probability < _SAID:
        return []
    return [span for span in (two.first, two.second) if named not in span]
