"""Whether the measurements need two changes of level to be explained, or one. Pure.

The posterior odds of two steps against one, by the same model with a third level. It sees only
what the search happened to measure: two steps without a measured candidate between them look
like one, and a second step far smaller than the first is easily missed. A report of a second
change is therefore reliable; its absence proves little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from landspeed.bisect.model import Hypothesis, Observations
from landspeed.bisect.posterior import Grid, allowed_steps, log_sum, pareto, servers_before
from landspeed.bisect.probe_choice import Floats

# Prior probability that a range with one step of the size asked for has another.
_PRIOR_TWO = 0.2


@dataclass(frozen=True, kw_only=True)
class TwoChanges:
    """The best pair of changes, each as the steps it is among.

    ``probability`` is that of any two changes against one.
    """

    first: range
    second: range
    probability: float


def two_changes(hypothesis: Hypothesis, observations: Observations) -> TwoChanges | None:
    """Return the best pair of changes; None if too little is measured to tell two from one."""
    servers = observations.by_server()
    allowed = allowed_steps(hypothesis, servers)
    before = servers_before(hypothesis, servers)
    cuts, members = np.unique(before[allowed], return_inverse=True)
    if len(cuts) < 2:
        return None
    grid = Grid.around([one.values for one in servers if one.values])
    each = np.stack([grid.likelihood(one.values) for one in servers])
    left = np.concatenate([np.zeros_like(each[:1]), np.cumsum(each, axis=0)])
    counts = np.bincount(members, minlength=len(cuts)).astype(float)
    one, _, _ = grid.integrate(left[cuts], left[-1] - left[cuts], hypothesis.threshold)
    single = log_sum(one + np.log(counts / counts.sum()))
    pairs = _pairs(grid, left[cuts], left[-1], hypothesis.threshold)
    rows, columns = np.triu_indices(len(cuts), k=1)
    weights = counts[rows] * counts[columns] / (counts.sum() * (counts.sum() - 1) / 2)
    logs = pairs[rows, columns] + np.log(weights)
    odds = (log_sum(logs) - single) + np.log(_PRIOR_TWO / (1 - _PRIOR_TWO))
    best = int(np.argmax(logs))
    steps = np.flatnonzero(allowed)
    spans = [steps[members == index] for index in (rows[best], columns[best])]
    first, second = (range(int(span[0]), int(span[-1]) + 1) for span in spans)
    return TwoChanges(first=first, second=second, probability=float(1 / (1 + np.exp(-odds))))


def _pairs(grid: Grid, left: Floats, whole: Floats, threshold: float) -> Floats:
    """Return the log likelihood of changes at two cuts, up or down; only above the diagonal."""
    prior = pareto(np.abs(grid.levels[None, :] - grid.levels[:, None]), grid.width, threshold)
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
        found[i, i + 1 :] = [log_sum(row) for row in logs]
    return found
