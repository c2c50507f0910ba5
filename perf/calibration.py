"""Calibrate the step detector: which score noise alone reaches how rarely.

``python -m perf.calibration > landspeed/stats/glr_table.py`` makes the table that landspeed
judges by (about half an hour on one core); the seed and what was simulated are in it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

import numpy as np

from landspeed.stats.glr import Batch, Floats, scores
from perf.noise import STATED, Noise

COMMITS = 200
SEED = 20261120
CHUNK = 500
PROBABILITIES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005)


def fresh(values: Floats) -> Batch:
    """A Batch of lines of which nothing is known yet."""
    rows, commits = values.shape
    none = np.zeros(rows, dtype=np.int64)
    return Batch(
        current=values,
        lengths=np.full(rows, commits),
        old=np.zeros((rows, 0)),
        ages=none,
        levels=none,
    )


def highest(noise: Noise, series: int, chance: np.random.Generator) -> Floats:
    """The highest score that each of so many *series* of *noise* ever reaches."""
    parts = []
    for begin in range(0, series, CHUNK):
        rows = min(CHUNK, series - begin)
        parts.append(scores(fresh(noise(chance, rows, COMMITS))).max(1))
    return np.concatenate(parts)


def tails(series: int, seed: int) -> Mapping[str, list[float]]:
    """The score that is exceeded with each of PROBABILITIES, by kind of noise."""
    sources = np.random.default_rng(seed).spawn(len(STATED))
    return {
        name: np.quantile(highest(noise, series, chance), [1 - p for p in PROBABILITIES]).tolist()
        for (name, noise), chance in zip(STATED.items(), sources, strict=True)
    }


def table(series: int, seed: int) -> Iterator[str]:
    """The lines of landspeed/stats/glr_table.py."""
    found = tails(series, seed)
    worst = [max(column) for column in zip(*found.values(), strict=True)]
    yield '"""The scores that noise alone reaches; generated, do not edit.'
    yield ""
    yield f"``python -m perf.calibration --series {series} --seed {seed}``"
    yield ""
    yield f"The highest scores in {COMMITS} commits without a change, over {series} series of each"
    yield f"kind of noise ({', '.join(found)}), for the probabilities of TAILS:"
    yield ""
    for name, values in found.items():
        yield f"{name}: {', '.join(f'{value:.3f}' for value in values)}"
    yield '"""'
    yield ""
    yield "from __future__ import annotations"
    yield ""
    yield f"COMMITS = {COMMITS}"
    yield '"""Length of the series."""'
    yield ""
    yield "TAILS: tuple[tuple[float, float], ...] = ("
    for probability, score in zip(PROBABILITIES, worst, strict=True):
        yield f"    ({probability}, {score:.3f}),"
    yield ")"
    yield '"""Pairs of a probability and the score exceeded with it, for the worst noise."""'


def main() -> None:
    """Print the table as a module of Python."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    for line in table(arguments.series, arguments.seed):
        print(line)


if __name__ == "__main__":
    main()
