"""A made-up range of commits to bisect: levels, noise, commits that do not build; and searches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from landspeed.bisect.decide import decide_counted, decide_timed
from landspeed.bisect.model import Costs, Culprit, Decision, Hypothesis, Observations, Probe

Noise = Callable[[np.random.Generator], float]
SIGMA = 0.01
# With a kept tree a neighbour builds in about the time of two Runs.
COSTS = Costs(run=1.0, build=2.0)


def normal(dice: np.random.Generator) -> float:
    return float(dice.standard_normal())


def heavy(dice: np.random.Generator) -> float:
    """Student's t with 3 degrees of freedom, scaled to a standard deviation of one."""
    return float(dice.standard_t(3) / math.sqrt(3))


@dataclass
class Autoregressive:
    """Noise that remembers: AR(1) with *rho*, of standard deviation one."""

    rho: float
    last: float | None = None

    def __call__(self, dice: np.random.Generator) -> float:
        fresh = float(dice.standard_normal())
        if self.last is not None:
            fresh = self.rho * self.last + math.sqrt(1 - self.rho**2) * fresh
        self.last = fresh
        return fresh


@dataclass(kw_only=True)
class World:
    """A range of positions 0 … ``last`` whose level changes at ``steps`` (in logarithms).

    Positions with one name in ``servers`` are the same server; those in ``broken`` do not build.
    """

    last: int
    steps: Mapping[int, float]
    dice: np.random.Generator
    noise: Noise = normal
    sigma: float = SIGMA
    broken: frozenset[int] = frozenset()
    servers: Mapping[int, str] = field(default_factory=dict)
    runs: int = 0
    builds: int = 0

    def level(self, position: int) -> float:
        return sum(change for step, change in self.steps.items() if position >= step)

    def run(self, position: int) -> float:
        self.runs += 1
        return self.level(position) + self.sigma * self.noise(self.dice)


@dataclass(frozen=True, kw_only=True)
class Searched:
    """The answer of a search, what it cost, and what it observed."""

    decision: Decision
    runs: int
    builds: int
    observations: Observations = field(default_factory=Observations)

    def is_right(self, world: World) -> bool:
        """Whether it named the one step, or the span that cannot be told apart around it."""
        found = self.decision
        return isinstance(found, Culprit) and any(
            found.first <= step <= found.last for step in world.steps
        )


def search(
    world: World,
    rule: Callable[[Observations], Decision],
    *,
    most: int = 600,
    observations: Observations | None = None,
) -> Searched:
    """Follow *rule* through *world* until it decides, or *most* Runs are made."""
    samples: dict[int, tuple[float, ...]] = dict(observations.samples) if observations else {}
    servers: dict[int, str] = dict(observations.servers) if observations else {}
    skipped: set[int] = set()
    while True:
        known = Observations(samples=samples, skipped=frozenset(skipped), servers=servers)
        decision = rule(known)
        if not isinstance(decision, Probe) or world.runs >= most:
            return Searched(
                decision=decision, runs=world.runs, builds=world.builds, observations=known
            )
        position = decision.position
        if position not in servers:
            world.builds += 1
            if position in world.broken:
                skipped.add(position)
                continue
            servers[position] = world.servers.get(position, f"server {position}")
            if known.runs(position) or Observations(samples=samples, servers=servers).runs(
                position
            ):
                continue  # identical to a measured server
        samples[position] = (*samples.get(position, ()), world.run(position))


def search_timed(world: World, *, size: float, confidence: float = 0.95) -> Searched:
    """Search *world* for a step of *size* (a share) by the rule for timed metrics."""
    hypothesis = Hypothesis(last=world.last, size=size, confidence=confidence)
    return search(world, lambda observations: decide_timed(hypothesis, observations, COSTS))


def search_counted(world: World, *, size: float) -> Searched:
    """Search *world* by the rule for counted metrics."""
    hypothesis = Hypothesis(last=world.last, size=size)
    return search(world, lambda observations: decide_counted(hypothesis, observations))


def git_bisect(world: World) -> Searched:
    """One Run a step, held against the middle of the two ends: what a script under git does."""
    builds, middle = 2, (world.run(0) + world.run(world.last)) / 2
    good, bad, skipped = 0, world.last, set[int]()
    while rest := [p for p in range(good + 1, bad) if p not in skipped]:
        position = rest[len(rest) // 2]
        builds += 1
        if position in world.broken:
            skipped.add(position)
        elif world.run(position) > middle:
            bad = position
        else:
            good = position
    found = Culprit(first=good + 1, last=bad, confidence=1.0)
    return Searched(decision=found, runs=world.runs, builds=builds)


def asv_find(world: World, *, repeats: int) -> Searched:
    """``asv find``: each commit once (the mean of *repeats*), into the half with the larger rise.

    Where nothing is there to be found it names a commit as well.
    """
    known: dict[int, float | None] = {}

    def result(position: int) -> float | None:
        if position not in known:
            broken = position in world.broken
            values = [] if broken else [world.run(position) for _ in range(repeats)]
            known[position] = sum(values) / repeats if values else None
        return known[position]

    low, high = 0, world.last
    while high - low > 1:
        middle = (low + high) // 2
        low = _first_with(result, range(low, high))
        middle = _first_with(result, range(middle, high))
        high = _first_with(result, range(high, middle, -1))
        lower, center, upper = (known[p] or 0.0 for p in (low, middle, high))
        low, high = (low, middle) if center - lower >= upper - center else (middle, high)
    return Searched(
        decision=Culprit(first=high, last=high, confidence=1.0), runs=world.runs, builds=len(known)
    )


def _first_with(result: Callable[[int], float | None], positions: Iterable[int]) -> int:
    *_, last = positions = list(positions)
    return next((p for p in positions if result(p) is not None), last)


def broken_runs(dice: np.random.Generator, last: int, share: float) -> frozenset[int]:
    """About *share* of the positions between the ends, in runs of one to five."""
    found: set[int] = set()
    for position in range(1, last):
        if dice.random() < share / 3:
            found |= set(range(position, min(last, position + int(dice.integers(1, 6)))))
    return frozenset(found)
