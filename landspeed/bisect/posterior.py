"""The posterior over "the step is between i-1 and i", for all i, and over "there is none". Pure.

A Bayesian change point (Smith 1975; Carlin, Gelfand and Smith 1992) with two unknown levels
and unknown noise, summed over a lattice instead of sampled:

- A Run's logarithm is its server's level plus Student-t noise (Lange, Little and Taylor 1989):
  whether with 4 degrees of freedom or, about normal, with 30 is left to the data, and so is the
  scale, which the repeats at one server tell.
- The lower level may be anything. The upper is higher by at least the threshold t that was
  asked for; how much more is a Pareto prior, density t / d², which takes no scale for granted.
- "No culprit" is one level for all; "reversed" is a single step downwards.
- Every step has the same prior, but those that two identical servers enclose have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

from landspeed.bisect.model import Evidence, Group, Hypothesis
from landspeed.bisect.probe_choice import Floats

# What is held likely before anything is measured: a step, none, one the other way.
PRIOR_STEP, PRIOR_NONE, PRIOR_REVERSED = 0.45, 0.45, 0.10
Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]
_FREEDOM = np.array([4.0, 30.0])
_LOG_NORMALISER = np.array(
    [lgamma((v + 1) / 2) - lgamma(v / 2) - log(v * pi) / 2 for v in _FREEDOM]
)
# The lattice reaches this far around what the data look like, and further the fewer they are.
_SCALES = 13
_SCALE_REACH, _LEVEL_REACH, _FEW = 3.0, 5.0, 8.0
_SMALLEST_SCALE = 1e-7
# A step of just the size asked must lie within the prior, not at its edge.
_FLOOR = 0.75


@dataclass(frozen=True, kw_only=True)
class Posterior:
    """A Belief is the posterior: ``steps[i]`` for step i (0 unused), ``none``, ``reversed``.

    ``distance`` is how far the two levels are apart if there is a step, in standard deviations
    of a Run's value around a level that is not known exactly; ``change`` the same as logarithm.
    """

    steps: Floats
    none: float
    reversed: float
    distance: float
    change: float
    scale: float

    @property
    def step(self) -> float:
        """The probability that there is a step of the size asked."""
        return float(self.steps.sum())


def believe(quest: Hypothesis, evidence: Evidence) -> Posterior:
    """The posterior after *evidence*, in which both ends are measured."""
    groups = evidence.groups()
    allowed = allowed_steps(quest, groups)
    if not allowed.any():
        nothing = np.zeros(quest.last + 1)
        return Posterior(steps=nothing, none=1.0, reversed=0.0, distance=1.0, change=0.0, scale=0.0)
    lattice = Lattice.around([g.values for g in groups if g.values])
    before = groups_before(quest, groups)
    cuts, members = np.unique(before[allowed], return_inverse=True)
    # likelihood of all that is left and right of a cut, at one level each
    each = np.stack([lattice.likelihood(group.values) for group in groups])
    left = np.concatenate([np.zeros_like(each[:1]), np.cumsum(each, axis=0)])
    right = left[-1][None] - left
    up, rise, spread = lattice.integrate(left[cuts], right[cuts], quest.threshold)
    down, _, _ = lattice.integrate(right[cuts], left[cuts], quest.threshold)
    flat = lattice.one_level(left[-1])
    share = 1.0 / allowed.sum()
    highest = max(up.max(), down.max(), flat)
    weights = np.zeros(quest.last + 1)
    weights[allowed] = PRIOR_STEP * share * np.exp(up[members] - highest)
    counts = np.bincount(members, minlength=len(cuts))
    falling = PRIOR_REVERSED * share * float((counts * np.exp(down - highest)).sum())
    none = PRIOR_NONE * float(np.exp(flat - highest))
    total = weights.sum() + none + falling
    # where no step of that size fits what was measured, all are as unlikely
    per_cut = counts * (np.exp(up - up.max()) if np.isfinite(up.max()) else 1.0)
    per_cut = per_cut / per_cut.sum()
    change = float(per_cut @ rise)
    scale = float(per_cut @ spread)
    return Posterior(
        steps=weights / total,
        none=none / total,
        reversed=falling / total,
        distance=change / scale,
        change=change,
        scale=scale,
    )


def allowed_steps(quest: Hypothesis, groups: Sequence[Group]) -> Flags:
    """For each step whether it can be one: not between two candidates that are one server."""
    allowed = np.ones(quest.last + 1, dtype=bool)
    allowed[0] = False
    for group in groups:
        allowed[group.first + 1 : group.last + 1] = False
    return allowed


def groups_before(quest: Hypothesis, groups: Sequence[Group]) -> Counts:
    """For each step how many of *groups* lie before it."""
    firsts = [group.first for group in groups]
    return np.searchsorted(firsts, np.arange(quest.last + 1), side="left")


@dataclass(frozen=True, kw_only=True)
class Lattice:
    """A Lattice is where the two levels and the noise are summed over.

    ``levels`` are multiples of ``width``, only those near a measured server; ``scales`` of noise.
    """

    levels: Floats
    width: float
    scales: Floats

    @classmethod
    def around(cls, values: Sequence[Sequence[float]]) -> Lattice:
        """A Lattice that covers what *values*, a sequence for each server, make possible."""
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
        """The logarithm of the likelihood of *values*; shape (noises, levels)."""
        noises = len(_FREEDOM) * len(self.scales)
        if not values:
            return np.zeros((noises, len(self.levels)))
        freedom = _FREEDOM[:, None, None, None]
        scale = self.scales[None, :, None, None]
        away = (np.asarray(values)[None, :] - self.levels[:, None]) / scale
        density = -(freedom + 1) / 2 * np.log1p(away**2 / freedom) - np.log(scale)
        density += _LOG_NORMALISER[:, None, None, None]
        return np.asarray(density.sum(axis=-1).reshape(noises, len(self.levels)))

    def one_level(self, all_of_them: Floats) -> float:
        """The logarithm of the likelihood of all at one level, summed over it and the noise."""
        highest = float(all_of_them.max())
        return float(np.log(np.exp(all_of_them - highest).sum())) + highest

    def integrate(
        self, low: Floats, high: Floats, threshold: float
    ) -> tuple[Floats, Floats, Floats]:
        """For each cut: log likelihood with *low* at one level and *high* at another above it.

        Beside it the rise from one to the other as it is expected, and how far a Run may be from
        what is expected of it. Shapes (cuts, noises, levels) in, (cuts,) out.
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


def pareto(rises: Floats, width: float, threshold: float) -> Floats:
    """The prior mass of each of *rises*, cells of *width*: density f / rise² above f.

    f is somewhat below the threshold.
    """
    threshold = _FLOOR * threshold
    low, high = rises - width / 2, rises + width / 2
    below = np.where(low > threshold, threshold / np.maximum(low, threshold), 1.0)
    above = np.where(high > threshold, threshold / np.maximum(high, threshold), 1.0)
    return np.asarray(below - above)
