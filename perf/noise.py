"""Simulated noise: independent, autocorrelated, heavy-tailed; each with variance 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Floats]
"""From a generator, rows and commits to that many numbers."""


def normal(chance: np.random.Generator, rows: int, commits: int) -> Floats:
    """Independent, normally distributed."""
    return chance.standard_normal((rows, commits))


def heavy(chance: np.random.Generator, rows: int, commits: int) -> Floats:
    """Independent, Student's t with 3 degrees of freedom, scaled to variance 1."""
    scaled: Floats = chance.standard_t(3, (rows, commits)) / np.sqrt(3)
    return scaled


def autocorrelated(rho: float, *, innovations: Noise = normal) -> Noise:
    """A stationary AR(1) with coefficient *rho* and variance 1."""
    before = 50 if innovations is not normal else 1

    def noise(chance: np.random.Generator, rows: int, commits: int) -> Floats:
        values = innovations(chance, rows, before + commits)
        values[:, 1:] *= np.sqrt(1 - rho * rho)
        for now in range(1, values.shape[1]):
            values[:, now] += rho * values[:, now - 1]
        return values[:, before:]

    return noise


STATED: Mapping[str, Noise] = {
    "normal": normal,
    "AR(1) 0.3": autocorrelated(0.3),
    "AR(1) 0.6": autocorrelated(0.6),
    "t(3)": heavy,
}
"""What the detector is calibrated for, and its error rates are stated under."""

BEYOND: Mapping[str, Noise] = {
    "AR(1) 0.6 of t(3)": autocorrelated(0.6, innovations=heavy),
    "AR(1) 0.8": autocorrelated(0.8),
    "random walk": lambda chance, rows, commits: chance.standard_normal((rows, commits)).cumsum(1),
}
"""What it is not calibrated for: shown, so that nobody has to guess."""
