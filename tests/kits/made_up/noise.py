"""Runs of an A/A or A/B comparison, made up: noise as machines have it, in the order of the lot."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from landspeed.stats.confidence_sequence import Floats

Noise = Callable[[np.random.Generator, tuple[int, int]], Floats]


def normal(chance: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Independent normal noise of standard deviation 1."""
    return chance.normal(size=shape)


def heavy(chance: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Independent t(3) noise, scaled to standard deviation 1."""
    return chance.standard_t(3, size=shape) / np.sqrt(3)


def drifting(chance: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """AR(1) noise from run to run, rho = 0.6, of standard deviation 1."""
    rho = 0.6
    steps = chance.normal(size=shape) * np.sqrt(1 - rho**2)
    runs = np.empty(shape)
    runs[:, 0] = chance.normal(size=shape[0])
    for n in range(1, shape[1]):
        runs[:, n] = rho * runs[:, n - 1] + steps[:, n]
    return runs


def trending(chance: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Independent noise on a machine that gets slower with every run, by 0.3 each."""
    return normal(chance, shape) + 0.3 * np.arange(shape[1])


def skewed(chance: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Exponential noise: mostly fast, sometimes very slow, as with busy neighbours."""
    return chance.exponential(size=shape)


NOISES: Mapping[str, Noise] = {
    "normal": normal,
    "t(3)": heavy,
    "AR(1) rho 0.6": drifting,
    "trend": trending,
    "exponential": skewed,
}


def differences(
    noise: Noise, *, comparisons: int, blocks: int, seed: int, effect: float = 0.0
) -> Floats:
    """Log ratios, a row for each comparison: B's run less A's, whichever the lot put first.

    *effect* is in the noise's units, and so are the results.
    """
    chance = np.random.default_rng(seed)
    runs = noise(chance, (comparisons, 2 * blocks)).reshape(comparisons, blocks, 2)
    second_is_b = chance.integers(0, 2, size=(comparisons, blocks)).astype(bool)
    later = runs[:, :, 1] - runs[:, :, 0]
    return np.where(second_is_b, later, -later) + effect
