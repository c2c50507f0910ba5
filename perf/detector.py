"""The changepoint detector on simulated series, compared with asv's and with a naive threshold.

``python -m perf.detector`` prints one JSON line for each figure (some minutes on one core):
false alarms and how soon changes are found, each series read as commits come, one after the other.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
from asv.step_detect import detect_regressions, detect_steps

from landspeed.stats.changepoint_online import scan_points
from landspeed.stats.changepoint_short import scan_samples
from landspeed.stats.glr import Floats
from landspeed.stats.multiple_testing import RATE, discovery_limit
from perf.figure import Figure
from perf.noise import BEYOND, STATED, Noise, normal

COMMITS = 200
SEED = 4
NOISE = 0.02  # the standard deviation of the simulated numbers, as a share
HISTORIES = (30, 60, 100, 150)
_NEAR = 3  # a change is found if it is placed within so many commits of where it is
_EVER = 10**6

Alarms = Callable[[Floats], list[list[tuple[int, int]]]]
"""From logarithms (series × commits) to each series' alarms: where, and when seen."""


def ours(logs: Floats) -> list[list[tuple[int, int]]]:
    """landspeed's detector."""
    return [[(j.at, j.seen) for j in scan.jumps] for scan in scan_points(list(np.exp(logs)))]


def of_asv(logs: Floats, *, first: int = 10) -> list[list[tuple[int, int]]]:
    """asv's detector, asked again at every commit from *first* on; regressions alone, as it does.

    An alarm is a place that was not named by the commit before.
    """
    found = []
    for line in np.exp(logs):
        alarms: dict[int, int] = {}
        for now in range(first, len(line)):
            _, _, places = detect_regressions(detect_steps(line[: now + 1].tolist()))
            for place in places or ():
                alarms.setdefault(place[1], now)
        found.append(list(alarms.items()))
    return found


def naive(logs: Floats, *, share: float = 0.05) -> list[list[tuple[int, int]]]:
    """An alarm wherever a number is *share* above the one before: what many gates do."""
    rises = np.diff(logs, axis=1) > np.log1p(share)
    return [[(int(i) + 1, int(i) + 1) for i in np.flatnonzero(row)] for row in rises]


def false_alarms(detector: Alarms, noise: Noise, series: int, seed: int) -> float:
    """The share of *series* of COMMITS commits with any alarm."""
    logs = NOISE * noise(np.random.default_rng(seed), series, COMMITS)
    return sum(map(bool, detector(logs))) / series


def delays(
    detector: Alarms, size: float, history: int, *, series: int, seed: int, noise: Noise = normal
) -> Floats:
    """Return how many commits after a change of *size* deviations at *history* it is found."""
    logs = NOISE * noise(np.random.default_rng(seed), series, history + 40)
    logs[:, history:] += NOISE * size
    found = []
    for alarms in detector(logs):
        near = [seen for at, seen in alarms if abs(at - history) <= _NEAR and seen >= history]
        found.append(min(near, default=_EVER) - history)
    return np.array(found, dtype=float)


def alarm_figures(series: int, few: int, seed: int) -> Iterator[Figure]:
    """False alarms under each kind of noise; asv's detector, being slow, on the first *few*."""
    for name, noise in {**STATED, **BEYOND}.items():
        others = [
            f"asv {false_alarms(of_asv, noise, few, seed):.3f} of {few} series",
            f"5 % over the one before {false_alarms(naive, noise, series, seed):.3f}",
        ]
        yield Figure(
            figure=f"detector.false_alarms.{name}",
            value=false_alarms(ours, noise, series, seed),
            unit=f"share of {series} series of {COMMITS} commits with any",
            goal="<= 0.01" if name in STATED else "",
            beside=", ".join(others),
        )


def delay_figures(series: int, few: int, seed: int) -> Iterator[Figure]:
    """How soon changes are found: 3 deviations after some histories, other sizes, other noise."""
    for history in HISTORIES:
        found = delays(ours, 3, history, series=series, seed=seed)
        asv = delays(of_asv, 3, history, series=few, seed=seed)
        gate = delays(naive, 3, history, series=series, seed=seed)
        yield _within(
            f"detector.found_3_deviations.after_{history}",
            found,
            goal=">= 0.95 within 5" if history >= 100 else "",
            beside=f"asv {_shares(asv)} of {few} series; 5 % over the one before {_shares(gate)}",
        )
    for size in (1, 1.5, 2, 5):
        found = delays(ours, size, 100, series=series, seed=seed)
        yield _within(f"detector.found_{size}_deviations.after_100", found)
    for name in ("AR(1) 0.3", "AR(1) 0.6", "t(3)"):
        found = delays(ours, 3, 100, series=series, seed=seed, noise=STATED[name])
        yield _within(f"detector.found_3_deviations.after_100.{name}", found)


def _within(figure: str, found: Floats, *, goal: str = "", beside: str = "") -> Figure:
    return Figure(
        figure=figure,
        value=float((found <= 5).mean()),
        unit=f"share within 5 commits; within {_shares(found)}",
        goal=goal,
        beside=beside,
    )


def _shares(found: Floats) -> str:
    return ", ".join(f"{last}: {(found <= last).mean():.3f}" for last in (3, 4, 5, 10, 20, 40))


def step_figures(series: int, seed: int) -> Iterator[Figure]:
    """Place, size and false neighbours of a change of 3 deviations after 100 of 200 commits."""
    logs = NOISE * normal(np.random.default_rng(seed), series, COMMITS)
    logs[:, 100:] += 3 * NOISE
    scans = scan_points(list(np.exp(logs)))
    near = [[j for j in scan.jumps if abs(j.at - 100) <= _NEAR][:1] for scan in scans]
    found = [one[0] for one in near if one]
    truth = float(np.exp(3 * NOISE))
    figures = {
        "place_exact": (np.mean([j.at == 100 for j in found]), "share of those found", ""),
        "interval_holds_truth": (
            np.mean([j.low <= truth <= j.high for j in found]),
            "share of 95 % intervals",
            ">= 0.93",
        ),
        "other_steps": (
            np.mean([len(scan.jumps) > len(one) for scan, one in zip(scans, near, strict=True)]),
            "share of series with any besides",
            "<= 0.02",
        ),
    }
    for name, (value, unit, goal) in figures.items():
        yield Figure(figure=f"detector.{name}", value=float(value), unit=unit, goal=goal)


def few_figures(series: int, seed: int) -> Iterator[Figure]:
    """Short series, judged by runs: false alarms, and changes of 5 % where runs vary by 2 %."""
    chance = np.random.default_rng(seed)
    for kind in ("normal", "t(3)"):
        for points, runs in ((2, 8), (4, 3), (4, 8), (20, 8), (40, 3)):
            noise = STATED[kind](chance, series * points, runs).reshape(series, points, runs)
            quiet, stepped = np.exp(NOISE * noise), np.exp(NOISE * noise)
            stepped[:, points // 2 :] *= 1.05
            alarms = np.mean([bool(scan_samples(list(one)).jumps) for one in quiet])
            found = np.mean([bool(scan_samples(list(one)).jumps) for one in stepped])
            yield Figure(
                figure=f"detector.few.{points}_points_of_{runs}_runs.{kind}",
                value=float(alarms),
                unit=f"share of {series} series with a false alarm",
                goal="<= 0.01",
                beside=f"a step of 2.5 deviations of a Run is found in {found:.3f}",
            )


def family_figures(families: int, seed: int) -> Iterator[Figure]:
    """200 series of one machine, 10 of which change by 3 deviations: which are found."""
    chance = np.random.default_rng(seed)
    false_shares, found, alone = [], [], []
    for _ in range(families):
        # half of the variance is the machine's own good and bad hours, the same for all series
        shared = normal(chance, 1, 160) + normal(chance, 200, 160)
        logs = NOISE * shared / np.sqrt(2)
        logs[:10, 100:] += 3 * NOISE
        scans = scan_points(list(np.exp(logs)))
        p = np.array([min((j.p_value or 0 for j in s.jumps), default=1.0) for s in scans])
        named = p <= discovery_limit(p.tolist())
        false_shares.append(named[10:].sum() / max(1, named.sum()))
        found.append(named[:10].mean())
        alone.append(bool((p[10:] < 1).any()))
    yield Figure(
        figure="detector.family.false_share",
        value=float(np.mean(false_shares)),
        unit=f"share of the series named, mean of {families} families of 200",
        goal=f"<= {RATE}",
        beside=f"without the control {np.mean(alone):.2f} of families have a false alarm",
    )
    yield Figure(
        figure="detector.family.found",
        value=float(np.mean(found)),
        unit="share of the 10 steps named, 60 commits after them",
    )


def time_figures(seed: int) -> Iterator[Figure]:
    """Seconds for 1,000 series of 200 commits, a twentieth of which have a change."""
    logs = NOISE * normal(np.random.default_rng(seed), 1000, COMMITS)
    logs[::20, 120:] += 4 * NOISE
    lines = list(np.exp(logs))
    begun = time.process_time()
    scan_points(lines)
    seconds = time.process_time() - begun
    begun = time.process_time()
    for line in lines[:50]:
        detect_steps(line.tolist())
    asv = 20 * (time.process_time() - begun)
    yield Figure(
        figure="detector.seconds_1000_series_200_commits",
        value=seconds,
        unit="CPU s",
        beside=f"asv's detector {asv:.0f} (asked once, at the last commit)",
    )


def main() -> None:
    """Print all figures, one JSON line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=10_000)
    parser.add_argument("--few", type=int, default=100, help="series that asv's detector reads")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    some = max(1, given.series // 4)
    for figures in (
        time_figures(given.seed),
        alarm_figures(given.series, given.few, given.seed),
        delay_figures(some, given.few, given.seed + 1),
        step_figures(some, given.seed + 2),
        few_figures(some, given.seed + 3),
        family_figures(max(1, given.series // 100), given.seed + 4),
    ):
        for figure in figures:
            figure.show()


if __name__ == "__main__":
    main()
