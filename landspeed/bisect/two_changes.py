"""Is one step enough to explain what was measured, or are there two? Pure.

The posterior odds of two steps against one, by the same model with a third level. It sees only
what the search happened to measure: two steps with no measured candidate between them are one
to it, and a second step far smaller than the first is easily missed. So it may say "more than
one" and be believed; its silence says little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from landspeed.bisect.model import Evidence, Hypothesis
from landspeed.bisect.posterior import Lattice, allowed_steps, groups_before, pareto
from landspeed.bisect.probe_choice import Floats

# How often a stretch with one step of the size asked is held to have another, beforehand.
_PRIOR_TWO = 0.2


@dataclass(frozen=True, kw_only=True)
class TwoChanges:
    """A Two is the best pair of steps, each as the steps it is among, and its probability.

    ``probability`` is that of any two steps against one.
    """

    first: range
    second: range
    probability: float


def two_steps(quest: Hypothesis, evidence: Evidence) -> TwoChanges | None:
    """The best pair of steps; None where too little is measured to tell two from one."""
    groups = evidence.groups()
    allowed = allowed_steps(quest, groups)
    before = groups_before(quest, groups)
    cuts, members = np.unique(before[allowed], return_inverse=True)
    if len(cuts) < 2:
        return None
    lattice = Lattice.around([g.values for g in groups if g.values])
    each = np.stack([lattice.likelihood(group.values) for group in groups])
    left = np.concatenate([np.zeros_like(each[:1]), np.cumsum(each, axis=0)])
    counts = np.bincount(members, minlength=len(cuts)).astype(float)
    one, _, _ = lattice.integrate(left[cuts], left[-1] - left[cuts], quest.threshold)
    single = _log_sum(one + np.log(counts / counts.sum()))
    pairs = _pairs(lattice, left[cuts], left[-1], quest.threshold)
    rows, columns = np.triu_indices(len(cuts), k=1)
    weights = counts[rows] * counts[columns] / (counts.sum() * (counts.sum() - 1) / 2)
    logs = pairs[rows, columns] + np.log(weights)
    odds = (_log_sum(logs) - single) + np.log(_PRIOR_TWO / (1 - _PRIOR_TWO))
    best = int(np.argmax(logs))
    steps = np.flatnonzero(allowed)
    spans = [steps[members == index] for index in (rows[best], columns[best])]
    first, second = (range(int(span[0]), int(span[-1]) + 1) for span in spans)
    return TwoChanges(first=first, second=second, probability=float(1 / (1 + np.exp(-odds))))


def _pairs(lattice: Lattice, left: Floats, whole: Floats, threshold: float) -> Floats:
    """The log likelihood of steps at two cuts, either way each; only above the diagonal."""
    prior = pareto(
        np.abs(lattice.levels[None, :] - lattice.levels[:, None]), lattice.width, threshold
    )
    prior = prior / 2
    right = whole[None] - left
    lows, highs = left.max(axis=2), right.max(axis=2)
    from_left = np.exp(left - lows[..., None]) @ prior
    to_right = np.exp(right - highs[..., None]) @ prior.T
    found = np.full((len(left), len(left)), -np.inf)
    for i in range(len(left)):
        between = left[i + 1 :] - left[i]
        tops = between.max(axis=2)
        mass = (from_left[i] * np.exp(between - tops[..., None]) * to_right[i + 1 :]).sum(axis=2)
        with np.errstate(divide="ignore"):
            logs = np.log(mass) + tops + lows[i] + highs[i + 1 :]
        found[i, i + 1 :] = [_log_sum(row) for row in logs]
    return found


def _log_sum(logs: Floats) -> float:
    top = float(logs.max())
    return top + float(np.log(np.exp(logs - top).sum())) if np.isfinite(top) else top
