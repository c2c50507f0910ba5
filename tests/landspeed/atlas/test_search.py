"""The search over many series, on synthetic histories whose steps are known."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import log

import pytest

from benchmarks.counted.slope import SPREAD_LIMIT
from landspeed.atlas.search import (
    AtlasProbe,
    AtlasQuestion,
    AtlasStep,
    KnownLevels,
    LevelInterval,
    Prior,
    next_probe,
    no_prior,
    steps,
)


@dataclass(kw_only=True)
class World:
    """A history with known ``jumps``, logarithms by position and series, and noisy counts."""

    question: AtlasQuestion
    jumps: dict[int, dict[str, float]]
    dice: random.Random
    broken: frozenset[int] = frozenset()
    refused: frozenset[tuple[str, int]] = frozenset()
    prior: Prior = no_prior
    builds: int = 0
    known: KnownLevels = field(default_factory=KnownLevels)

    def explore(self) -> list[AtlasStep]:
        """Count what the search asks for until it asks for nothing."""
        while probe := next_probe(self.question, self.known, self.prior):
            self.builds += probe.position not in self.known.built
            if probe.position in self.broken:
                self.known.broken.add(probe.position)
                continue
            self.known.built.add(probe.position)
            for name in probe.series:
                assert self.known.can_count(name, probe.position), "counted twice"
                if (name, probe.position) in self.refused:
                    self.known.missing.add((name, probe.position))
                    continue
                self.known.levels[name][probe.position] = self.level(name, probe.position)
        return steps(self.question, self.known)

    def level(self, name: str, position: int) -> float:
        """Return a noisy count: two of one server are at most twice the limit apart."""
        exact = sum(jump.get(name, 0.0) for at, jump in self.jumps.items() if at <= position)
        return 10.0 + exact + log(1 + self.dice.uniform(-SPREAD_LIMIT, SPREAD_LIMIT))


QUESTION = AtlasQuestion(
    last=3000,
    series=tuple(f"s{number}" for number in range(64)),
    size=0.01,
    spacing=75,
    build=100.0,
    count=10.0,
)


def cycle(seed: int, question: AtlasQuestion = QUESTION) -> World:
    """Return a cycle with 40 steps, of which 8 share a commit, and 3 % of broken commits."""
    dice = random.Random(seed)
    last, names = question.last, list(question.series)
    places = dice.sample(range(1, last + 1), 33)
    broken = {one for one in range(1, last) if dice.random() < 0.03}
    broken -= {near for place in places for near in (place - 1, place)}
    jumps: dict[int, dict[str, float]] = {place: {} for place in places}
    for place, several in zip(places, [8] + [1] * 32, strict=True):
        for name in dice.sample(names, several):
            size = question.size * dice.choice([1.05, 1.5, 3.0, 20.0])
            jumps[place][name] = log(1 + size) * dice.choice([-1, 1])
    return World(question=question, jumps=jumps, dice=dice, broken=frozenset(broken))


@pytest.mark.parametrize("refused", [1, 4, 5])
def test_a_series_that_both_ends_refuse_is_searched_from_the_nearest_that_count_it(refused):
    question = replace(QUESTION, last=64, series=("s0", "s1"), spacing=64)
    world = World(
        question=question,
        jumps={30: {"s0": 0.1, "s1": 0.1}, 40: {"s0": -0.1}},
        dice=random.Random(0),
        refused=frozenset(("s0", at) for at in [*range(refused), *range(65 - refused, 65)]),
    )
    found = {one.last: set(one.changes) for one in world.explore()}
    # after five refusals an end is given up: s0 is counted only beside the step of s1
    assert found == {30: {"s0", "s1"}} | ({40: {"s0"}} if refused < 5 else {})


def least_builds(commits: int, changed: int) -> float:
    """Return the least expected builds to place *changed* independent steps among *commits*.

    A build tells of each step on which side of it the step is; see docs/atlas.md.
    """
    total, nodes = 0.0, 1
    while nodes < commits:
        # Of the last level, only intervals of two commits are to be halved.
        share = min(1.0, commits / nodes - 1)
        total += share * nodes * (1 - (1 - 1 / nodes) ** changed)
        nodes *= 2
    return total


@pytest.mark.parametrize(("seed", "size"), [(0, 0.01), (1, 0.01), (2, 0.005), (3, 0.005)])
@pytest.mark.slow
def test_every_step_of_a_cycle_is_found_at_its_very_commit_and_no_other(seed, size):
    world = cycle(seed, replace(QUESTION, size=size))
    found = world.explore()
    assert {(one.first, one.last): set(one.changes) for one in found} == {
        (place, place): set(names) for place, names in world.jumps.items()
    }
    assert world.builds <= 1.3 * (2 + least_builds(QUESTION.last, len(world.jumps)))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.slow
def test_a_prior_that_is_right_saves_builds_and_a_wrong_one_hides_nothing(seed):
    builds = {}
    for name in ("none", "right", "wrong"):
        world = cycle(seed)
        culprits = {series: at for at, jump in world.jumps.items() for series in jump}

        def prior(interval: LevelInterval, name: str = name, culprits=culprits) -> Mapping:
            place = culprits.get(interval.series, 0)
            off = 0 if name == "right" else 1 + interval.last % 7
            return dict.fromkeys((place + off, place + 90), 0.8)

        world.prior = no_prior if name == "none" else prior
        found = {(one.first, one.last) for one in world.explore()}
        assert found == {(place, place) for place in world.jumps}
        builds[name] = world.builds
    assert builds["right"] < 0.65 * builds["none"]
    assert builds["wrong"] < 1.5 * builds["none"]


SHORT = replace(QUESTION, last=64, series=("a", "b"), spacing=16)


def shape(world: World) -> list[tuple[int, int]]:
    return [(one.first, one.last) for one in world.explore()]


def test_a_drift_of_small_steps_is_followed_only_until_each_part_is_small():
    jumps = {at: {"a": 0.004} for at in range(1, 17)}
    world = World(question=SHORT, jumps=jumps, dice=random.Random(1))
    assert shape(world) == []
    assert world.builds <= 5 + 12


def test_steps_that_cancel_are_found_once_a_commit_between_them_is_counted():
    jumps = {20: {"a": 0.02}, 28: {"a": -0.02}, 22: {"b": 0.02}}
    hidden = {at: jump for at, jump in jumps.items() if "a" in jump}
    assert shape(World(question=SHORT, jumps=hidden, dice=random.Random(1))) == []
    # The neighbours of the step of b are counted for a too, which shows both steps of a.
    world = World(question=SHORT, jumps=jumps, dice=random.Random(1))
    assert shape(world) == [(20, 20), (22, 22), (28, 28)]


def test_steps_next_to_commits_that_cannot_be_counted_are_ranges():
    jumps = {20: {"a": 0.02, "b": 0.02}}
    world = World(
        question=SHORT,
        jumps=jumps,
        dice=random.Random(1),
        broken=frozenset({19, 32}),
        refused=frozenset({("b", 20), ("b", 16)}),
    )
    assert shape(world) == [(19, 20), (19, 21)]


def test_a_series_that_cannot_be_counted_again_and_again_costs_five_builds():
    refused = frozenset(("b", at) for at in range(17, 32))
    jumps = {24: {"b": 0.02}}
    world = World(question=SHORT, jumps=jumps, dice=random.Random(1), refused=refused)
    assert shape(world) == [(17, 32)]
    assert world.builds == 5 + 5


def test_beside_the_largest_step_all_series_are_counted_first():
    known = KnownLevels(built={0, 19, 20, 39, 40, 48})
    known.levels["a"] |= {0: 1.0, 19: 1.0, 20: 1.02, 48: 1.02}
    known.levels["b"] |= {0: 1.0, 39: 1.0, 40: 0.7, 48: 0.7}
    question = replace(SHORT, last=48, spacing=48)
    assert next_probe(question, known) == AtlasProbe(position=39, series=("a",))


def test_with_a_single_step_builds_are_the_grid_and_one_for_each_halving():
    world = World(question=SHORT, jumps={9: {"a": 0.02}}, dice=random.Random(1))
    assert shape(world) == [(9, 9)]
    assert world.builds == 5 + 4
