"""How often a comparison errs, and how many blocks it takes, simulated with realistic noise.

About 4 minutes. Each of the false-alarm figures is the share of A/A comparisons that would
have ended FASTER or SLOWER at any of 100 looks, and its exact 95 % upper limit.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import beta

from landspeed.stats.confidence_sequence import log_wealth
from perf.figure import Figure
from tests.kits.made_up.noise import NOISES, Noise, differences, heavy, normal

_ALPHA = 0.001
_COMPARISONS = 100_000
_BLOCKS = 100
_BATCH = 5_000


def upper_limit(events: int, trials: int) -> float:
    """The upper end of the exact (Clopper-Pearson) 95 % interval of a share."""
    return float(beta.ppf(0.975, events + 1, trials - events)) if events < trials else 1.0


def false_alarms(noise: Noise) -> int:
    """How many of the A/A comparisons are refuted at any look."""
    alarms = 0
    for batch in range(_COMPARISONS // _BATCH):
        found = differences(noise, comparisons=_BATCH, blocks=_BLOCKS, seed=100 + batch)
        alarms += int((log_wealth(found).max(axis=1) >= -math.log(_ALPHA)).sum())
    return alarms


def blocks_to_decide(noise: Noise, effect: float) -> tuple[float, float]:
    """Median and 90th percentile of the blocks until a difference of *effect* is found.

    *effect* is in standard deviations of one run.
    """
    most = int(60 / effect**2) + 60
    found = differences(noise, comparisons=400, blocks=most, seed=7, effect=effect)
    refuted = log_wealth(found) >= -math.log(_ALPHA)
    taken = np.where(refuted.any(axis=1), refuted.argmax(axis=1) + 1, math.inf)
    return float(np.median(taken)), float(np.quantile(taken, 0.9))


def main() -> None:
    """Print all figures."""
    for name, noise in NOISES.items():
        alarms = false_alarms(noise)
        Figure(
            figure=f"compare: false FASTER or SLOWER, A/A, {name} noise",
            value=round(100 * alarms / _COMPARISONS, 4),
            unit="%",
            goal="<= 0.1",
            beside=f"{alarms} of {_COMPARISONS} comparisons, each looked at after every one of "
            f"{_BLOCKS} blocks; upper limit {100 * upper_limit(alarms, _COMPARISONS):.3f} %",
        ).show()
    for noise in (normal, heavy):
        for effect in (0.5, 1.0, 2.0, 4.0):
            median, most = blocks_to_decide(noise, effect)
            Figure(
                figure=f"compare: blocks to find a difference of {effect:g} sd of a run, "
                f"{noise.__name__} noise",
                value=median,
                unit="blocks",
                beside=f"90 % of 400 comparisons within {most:.0f}",
            ).show()


if __name__ == "__main__":
    main()
