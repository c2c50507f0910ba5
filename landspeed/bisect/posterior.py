"""The posterior probability of each step, of no step, and of a step downwards. Pure.

A Bayesian changepoint (Smith 1975; Carlin, Gelfand and Smith 1992) with two unknown levels
and unknown noise, summed over a grid instead of sampled:

- The logarithm of a run's value is the level of its server plus Student-t noise (Lange, Little
  and Taylor 1989). The data decide between 4 and 30 degrees of freedom (about normal) and the
  scale, which repeated runs of one server show.
- The lower level is unrestricted. The upper level is higher by at least the threshold t that
  was asked for; the rise d has a Pareto prior with density t / d², which assumes no scale.
- "No culprit" is one level for all positions; "reversed" is a single step downwards.
- All steps have the same prior, except that a step between identical servers has none.

A second change has the posterior odds of two steps against one, by the same model with a third
level. It sees only what the search happened to measure: two steps without a measured candidate
between them look like one, and a second step far smaller than the first is easily missed. A report
of a second change is therefore reliable; its absence proves little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from landspeed.bisect.model import Hypothesis, Observations, ServerSamples
from landspeed.bisect.probe_choice import Floats

# Prior probabilities of a step, of no step, and of a step downwards.
PRIOR_STEP, PRIOR_NONE, PRIOR_REVERSED = 0.45, 0.45, 0.10

Counts = NDArray[np.int64]
_FREEDOM = np.array([4.0, 30.0])
_LOG_NORMALISER = np.array(
    [lgamma((v + 1) / 2) - lgamma(v / 2) - log(v * pi) / 2 for v in _FREEDOM]
)
# How far the grid reaches around the data; it reaches further where there are few.
_SCALES = 13
_SCALE_REACH, _LEVEL_REACH, _FEW = 3.0, 5.0, 8.0
_SMALLEST_SCALE = 1e-7
# A step of just the size asked for must lie within the prior, not at its edge.
_FLOOR = 0.75


@dataclass(frozen=True, kw_only=True)
class Posterior:
    """Probabilities of each step (``steps[0]`` is unused), of no step, and of a step downwards.

    ``change`` is the expected difference of the two levels, as a logarithm, if there is a step.
    ``distance`` is that in standard deviations of a run around a level that is not known exactly.
    """

    steps: Floats
    none: float
    reversed: float
    distance: float
    change: float

    @property
    def step(self) -> float:
        """The probability that there is a step of the size asked for."""
        return float(self.steps.sum())


def posterior_of(hypothesis: Hypothesis, observations: Observations) -> Posterior:
    """Return the posterior after *observations*, in which both ends are measured."""
    servers = observations.by_server()
    steps, cuts, members, counts = cuts_of(hypothesis, servers)
    if not len(steps):
        nothing = np.zeros(hypothesis.last + 1)
        return Posterior(steps=nothing, none=1.0, reversed=0.0, distance=1.0, change=0.0)
    grid, left = likelihood_left(servers)
    right = left[-1][None] - left
    up, rise, spread = grid.integrate(left[cuts], right[cuts], hypothesis.threshold)
    down, _, _ = grid.integrate(right[cuts], left[cuts], hypothesis.threshold)
    flat = log_sum(left[-1])
    share = 1.0 / len(steps)
    highest = max(up.max(), down.max(), flat)
    weights = np.zeros(hypothesis.last + 1)
    weights[steps] = PRIOR_STEP * share * np.exp(up[members] - highest)
    falling = PRIOR_REVERSED * share * float((counts * np.exp(down - highest)).sum())
    none = PRIOR_NONE * float(np.exp(flat - highest))
    total = weights.sum() + none + falling
    # Where no step of that size fits the measurements, all cuts are equally unlikely.
    per_cut = counts * (np.exp(up - up.max()) if np.isfinite(up.max()) else 1.0)
    per_cut = per_cut / per_cut.sum()
    change = float(per_cut @ rise)

    return Posterior(
        steps=weights / total,
        none=none / total,
        reversed=falling / total,
        distance=change / float(per_cut @ spread),
        change=change,
    )


def cuts_of(
    hypothesis: Hypothesis, servers: Sequence[ServerSamples]
) -> tuple[Counts, Counts, Counts, Counts]:
    """Return the possible steps and the cuts between *servers* at which they lie.

    Identical servers enclose no change. A cut is the number of servers before it. Also the index
    of each step's cut, and how many steps each cut has.
    """
    allowed = np.ones(hypothesis.last + 1, dtype=bool)
    allowed[0] = False
    for one in servers:
        allowed[one.first + 1 : one.last + 1] = False
    steps = np.flatnonzero(allowed)
    before = np.searchsorted([one.first for one in servers], steps, side="left")
    return steps, *np.unique(before, return_inverse=True, return_counts=True)


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The grid over which levels and noise are summed.

    ``levels`` are multiples of ``width`` near the measured servers; ``scales`` are those of the
    noise.
    """

    levels: Floats
    width: float
    scales: Floats

    @classmethod
    def around(cls, values: Sequence[Sequence[float]]) -> Grid:
        """Return the grid that covers *values*, a sequence for each server."""
        medians = np.array([np.median(v) for v in values])
        residuals = np.concatenate(
            [np.asarray(v) - m for v, m in zip(values, medians, strict=True)]
        )
        spare = max(1, len(residuals) - len(values))
        scale = max(sqrt(float((residuals**2).sum()) / spare), _SMALLEST_SCALE)
        slack = 1 + _FEW / spare
        width = scale * min(0.25, 1.5 / sqrt(len(residuals)))
        reach = round(_LEVEL_REACH * slack * scale / width)
        cells = {
            cell
            for middle in {round(median / width) for median in medians}
            for cell in range(middle - reach, middle + reach + 1)
        }
        return cls(
            levels=width * np.array(sorted(cells), dtype=float),
            width=width,
            scales=scale * np.geomspace(1 / _SCALE_REACH, _SCALE_REACH * slack, _SCALES),
        )

    def likelihood(self, values: Sequence[float]) -> Floats:
        """Return the log likelihood of *values*; shape (noises, levels)."""
        noises = len(_FREEDOM) * len(self.scales)
        if not values:
            return np.zeros((noises, len(self.levels)))
        freedom = _FREEDOM[:, None, None, None]
        scale = self.scales[None, :, None, None]
        away = (np.asarray(values)[None, :] - self.levels[:, None]) / scale
        density = -(freedom + 1) / 2 * np.log1p(away**2 / freedom) - np.log(scale)
        density += _LOG_NORMALISER[:, None, None, None]
        return np.asarray(density.sum(axis=-1).reshape(noises, len(self.levels)))

    def integrate(
        self, low: Floats, high: Floats, threshold: float
    ) -> tuple[Floats, Floats, Floats]:
        """Return the log likelihood of each cut, with *low* at one level and *high* above it.

        Also the expected rise, and the standard deviation of a run around its expectation.
        Shapes (cuts, noises, levels) in, (cuts,) out.
        """
        rises = self.levels[None, :] - self.levels[:, None]
        prior = pareto(rises, self.width, threshold)
        tops = low.max(axis=2), high.max(axis=2)
        lows, highs = np.exp(low - tops[0][..., None]), np.exp(high - tops[1][..., None])
        inner = lows @ prior
        mass = (inner * highs).sum(axis=2)
        with np.errstate(divide="ignore"):
            logs = np.log(mass) + tops[0] + tops[1]
        top = np.maximum(logs.max(axis=1), -1e300)
        shares = np.exp(logs - top[:, None])
        total = shares.sum(axis=1)
        safe = np.maximum(total, 1e-300)
        conditional = shares / np.maximum(mass, 1e-300) / safe[:, None]
        levels = self.levels - self.levels.mean()
        above = ((inner * highs) @ levels * conditional).sum(axis=1)
        outer = highs @ prior.T
        below = ((outer * lows) @ levels * conditional).sum(axis=1)
        second = ((inner * highs) @ levels**2 * conditional).sum(axis=1) - above**2
        third = ((outer * lows) @ levels**2 * conditional).sum(axis=1) - below**2
        noise = np.tile(self.scales**2, len(_FREEDOM))
        around = (shares / safe[:, None]) @ noise + (second + third) / 2
        with np.errstate(divide="ignore"):
            return np.log(total) + top, above - below, np.sqrt(np.maximum(around, 1e-300))


def likelihood_left(servers: Sequence[ServerSamples]) -> tuple[Grid, Floats]:
    """Return the grid for *servers*, and the log likelihood of the first 0, 1, … of them.

    They are at one level. Shape (servers + 1, noises, levels).
    """
    grid = Grid.around([one.values for one in servers if one.values])
    each = np.stack([grid.likelihood(one.values) for one in servers])
    return grid, np.concatenate([np.zeros_like(each[:1]), np.cumsum(each, axis=0)])


def pareto(rises: Floats, width: float, threshold: float) -> Floats:
    """Return the prior mass of each of *rises*, cells of *width*: density f / rise² above f.

    f is somewhat below the threshold.
    """
    threshold = _FLOOR * threshold
    low, high = rises - width / 2, rises + width / 2
    below = np.where(low > threshold, threshold / np.maximum(low, threshold), 1.0)
    above = np.where(high > threshold, threshold / np.maximum(high, threshold), 1.0)
    return np.asarray(below - above)


def log_sum(logs: Floats) -> float:
    """Return the logarithm of the sum of exp(*logs*)."""
    top = float(logs.max())
    return top + float(np.log(np.exp(logs - top).sum())) if np.isfinite(top) else top


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
    steps, cuts, members, counts = cuts_of(hypothesis, servers)
    if len(cuts) < 2:
        return None
    grid, left = likelihood_left(servers)
    one, _, _ = grid.integrate(left[cuts], left[-1] - left[cuts], hypothesis.threshold)
    single = log_sum(one + np.log(counts / counts.sum()))
    pairs = _pairs(grid, left[cuts], left[-1], hypothesis.threshold)
    rows, columns = np.triu_indices(len(cuts), k=1)
    weights = counts[rows] * counts[columns] / (counts.sum() * (counts.sum() - 1) / 2)
    logs = pairs[rows, columns] + np.log(weights)
    odds = (log_sum(logs) - single) + np.log(_PRIOR_TWO / (1 - _PRIOR_TWO))
    best = int(np.argmax(logs))
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
