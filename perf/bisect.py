"""How often a bisection is right and what it costs, simulated: 1,024 commits, a step of 2 sigma.

``python -m perf.bisect [BISECTIONS]`` (1000; about 15 minutes) prints one JSON line a figure;
``git bisect`` with one run a step and ``asv find`` search the same simulated commits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np

from landspeed.bisect.model import Culprit, Hypothesis, NoCulprit
from landspeed.bisect.posterior import two_changes
from perf.figure import Figure
from tests.kits.made_up.bisect_world import (
    SIGMA,
    Autoregressive,
    Noise,
    Searched,
    World,
    asv_find,
    broken_runs,
    git_bisect,
    heavy,
    normal,
    search_counted,
    search_timed,
)

LAST = 1024
STEP = 2 * SIGMA
SIZE = float(np.expm1(STEP))
Search = Callable[[World], Searched]
# What --confidence may ask for where it is seen whether the stated one is the observed one, and
# the first of the worlds that this is tried on.
_ASKED = (0.5, 0.75, 0.875, 0.95)
_OTHERS = 1_000_000
Worlds = Callable[[int], World]


def worlds(
    *,
    height: float = STEP,
    broken: float = 0.0,
    noise: Callable[[], Noise] = lambda: normal,
    both: bool = False,
) -> Worlds:
    """World number i, the same for every search: its step is anywhere; 0 is no step at all."""

    def make(number: int) -> World:
        dice = np.random.default_rng([20261120, number])
        first, second = (int(step) for step in dice.integers(1, LAST + 1, 2))
        steps = {first: height, second: height} if both else {first: height}
        return World(
            last=LAST,
            steps=steps if height else {},
            dice=dice,
            noise=noise(),
            broken=broken_runs(dice, LAST, broken) if broken else frozenset(),
        )

    return make


def landspeed(world: World) -> Searched:
    """landspeed's search, asked for a step of the size there is."""
    return search_timed(world, size=SIZE)


def figures(name: str, make: Worlds, search: Search, count: int) -> Iterator[Figure]:
    """How often *search* was right in *count* worlds, and its median cost."""
    right, runs, builds, stated = [], [], [], []
    for number in range(count):
        world = make(number)
        searched = search(world)
        runs.append(searched.runs)
        builds.append(searched.builds)
        if world.steps:
            right.append(searched.is_right(world))
        else:
            right.append(isinstance(searched.decision, NoCulprit))
        if isinstance(searched.decision, Culprit):
            stated.append((searched.decision.confidence, right[-1]))
    beside = f"{count} bisections, runs {_spread(runs)}, builds {_spread(builds)}"
    yield Figure(figure=f"bisect right, {name}", value=_share(right), unit="share", beside=beside)
    if stated and search is landspeed:
        yield _calibrated(f"where one was named, {name}", stated)


def _calibrated(of: str, named: list[tuple[float, bool]]) -> Figure:
    """How far off the stated confidences are, each with whether it was right."""
    stated, observed = np.mean(np.array(named, dtype=float), axis=0)
    return Figure(
        figure=f"bisect observed - stated confidence {of}",
        value=round(float(observed - stated), 4),
        unit="share",
        goal="within 0.02",
        beside=f"stated {stated:.4f}, observed {observed:.4f}, {len(named)} named",
    )


def calibration(name: str, make: Worlds, count: int) -> Iterator[Figure]:
    """Whether a stated confidence is what is observed, also below what one would ask for."""
    for asked in _ASKED:
        named = []
        for number in range(count):
            world = make(_OTHERS + number)
            searched = search_timed(world, size=SIZE, confidence=asked)
            if isinstance(searched.decision, Culprit):
                named.append((searched.decision.confidence, searched.is_right(world)))
        yield _calibrated(f"at --confidence {asked:.1%}, {name}", named)


def several(name: str, make: Worlds, count: int) -> Figure:
    """How often "more than one step" is said after a commit was named."""
    said = []
    for number in range(count):
        searched = search_timed(make(number), size=SIZE)
        if isinstance(searched.decision, Culprit):
            two = two_changes(Hypothesis(last=LAST, size=SIZE), searched.observations)
            said.append(two is not None and two.probability >= 0.95)
    return Figure(figure=f"more than one step said, {name}", value=_share(said), unit="share")


def _share(truths: list[bool]) -> float:
    return round(float(np.mean(truths)), 4)


def _spread(numbers: list[int]) -> str:
    return f"median {np.median(numbers):g}, 90 % within {np.percentile(numbers, 90):g}"


def main(count: int) -> None:
    """Print all figures."""
    cases: dict[str, Worlds] = {
        "2 sigma": worlds(),
        "2 sigma, 10 % do not build": worlds(broken=0.1),
        "no step": worlds(height=0.0),
        "2 sigma, noise t(3)": worlds(noise=lambda: heavy),
        "2 sigma, noise AR(1) 0.6": worlds(noise=lambda: Autoregressive(0.6)),
        "4 sigma, asked for 2": worlds(height=2 * STEP),
        "two steps of 12 sigma, either": worlds(height=12 * SIGMA, both=True),
    }
    for number, (name, make) in enumerate(cases.items()):
        # the first are the goals; the others show what happens beyond them
        for figure in figures(name, make, landspeed, count if number < 3 else max(1, count // 3)):
            figure.show()
    for case in list(cases)[:2]:
        for figure in calibration(case, cases[case], max(1, count // 5)):
            figure.show()
    others: dict[str, Search] = {
        "git bisect, one run a step": git_bisect,
        "asv find, one run a commit": lambda world: asv_find(world, repeats=1),
        "asv find, four runs a commit": lambda world: asv_find(world, repeats=4),
    }
    for name, search in others.items():
        for case in list(cases)[:3]:
            for figure in figures(f"{case}: {name}", cases[case], search, count):
                figure.show()
    small = max(1, count // 5)
    several("one step of 2 sigma", worlds(), small).show()
    several("two steps of 2 sigma", worlds(both=True), small).show()

    def exact(world: World) -> Searched:
        world.sigma = 1e-5
        return search_counted(world, size=0.002)

    for figure in figures("exact metric", worlds(broken=0.1), exact, count):
        figure.show()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
