"""A search that several machines share, on synthetic histories: what each is given, and the union.

Machines know only what was known when their shares were made, and what they find themselves.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Collection
from copy import deepcopy
from dataclasses import replace
from itertools import count, pairwise

import pytest

from landspeed.atlas.search import (
    AtlasStep,
    KnownLevels,
    counts_due,
    next_probe,
    open_intervals,
    steps,
)
from landspeed.atlas.shares import shares, work_chunks
from tests.landspeed.atlas.test_search import QUESTION, SHORT, World, cycle

Steps = dict[tuple[int, int], set[str]]
SMALL = replace(QUESTION, last=600, series=tuple(f"s{number}" for number in range(32)), spacing=30)


def found(some: list[AtlasStep]) -> Steps:
    return {(one.first, one.last): set(one.changes) for one in some}


def searched(world: World, share: tuple[int, int], known: KnownLevels) -> World:
    """What a machine makes of its *share* if *known* is what it has been told."""
    here = replace(
        world,
        question=replace(world.question, share=share),
        known=replace(deepcopy(known), built=set()),
        builds=0,
    )
    here.explore()
    return here


def union(series: tuple[str, ...], all_known: list[KnownLevels]) -> KnownLevels:
    """What several machines know together."""
    levels: dict[str, dict[int, float]] = defaultdict(dict)
    for name in series:
        for one in all_known:
            levels[name].update(one.levels[name])
    return KnownLevels(
        levels=levels,
        broken=set().union(*(one.broken for one in all_known)),
        missing=set().union(*(one.missing for one in all_known)),
    )


def goes(world: World, machines: int, dice: random.Random, lost: Collection[int] = ()) -> Steps:
    """Search in goes until all is settled; of those *lost* (by number) one machine is killed."""
    counted: Counter[tuple[str, int]] = Counter()
    for go in count():
        given = shares(world.question, world.known, machines)
        assert_whole(world, given, machines)
        if not given:
            break
        ended = [searched(world, share, world.known) for share in given]
        world.builds += sum(one.builds for one in ended)
        if go in lost:
            ended.pop(dice.randrange(len(ended)))
        for one in ended:
            counted.update((name, at) for name in one.known.levels for at in one.known.levels[name])
            for name, levels in world.known.levels.items():
                counted.subtract((name, at) for at in levels)
        dice.shuffle(ended)  # who comes first makes no difference
        world.known = union(world.question.series, [world.known, *(one.known for one in ended)])
    assert next_probe(world.question, world.known) is None
    assert set(counted.values()) <= {1}
    return found(steps(world.question, world.known))


def assert_whole(world: World, given: list[tuple[int, int]], machines: int) -> None:
    """All positions are in one share each, and no question that is open now is in two."""
    question, known = world.question, world.known
    assert len(given) <= machines
    assert bool(given) == (next_probe(question, known) is not None)
    if given:
        assert (given[0][0], given[-1][1]) == (0, question.last)
        assert all(before[1] + 1 == after[0] for before, after in pairwise(given))
    for share in given:
        assert next_probe(replace(question, share=share), known), "a machine has nothing to do"
    dues = counts_due(question, known)
    for one in open_intervals(question, known):
        if not any(one.first < at < one.last for at in dues):
            assert len([s for s in given if s[0] <= one.free[-1] and one.free[0] <= s[1]]) == 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("machines", [1, 2, 7, 40])
def test_machines_that_share_a_search_find_what_one_machine_finds_and_count_nothing_twice(
    machines, seed
):
    alone = cycle(seed, SMALL)
    expected = {(at, at): set(names) for at, names in alone.jumps.items()}
    assert found(alone.explore()) == expected
    several = cycle(seed, SMALL)
    assert goes(several, machines, random.Random(seed)) == expected
    # what one machine tells is known to the others only afterwards
    assert several.builds <= 1.25 * alone.builds


@pytest.mark.parametrize("seed", range(4))
def test_what_a_killed_machine_had_to_do_is_done_in_the_next_go(seed):
    world = cycle(seed, SMALL)
    expected = {(at, at): set(names) for at, names in world.jumps.items()}
    assert goes(world, 6, random.Random(seed), lost={0, 1}) == expected


def test_the_grid_is_divided_first_and_each_machine_goes_on_between_its_own_points():
    given = shares(replace(QUESTION, last=3000, spacing=75), KnownLevels(), 8)
    assert len(given) == 8
    points = [[at for at in range(0, 3001, 75) if first <= at <= last] for first, last in given]
    assert {len(some) for some in points} == {5, 6}
    world = World(question=SHORT, jumps={9: {"a": 0.02}}, dice=random.Random(1))
    assert shares(SHORT, KnownLevels(), 2) == [(0, 31), (32, 64)]
    here = searched(world, (0, 31), KnownLevels())
    assert found(steps(SHORT, here.known)) == {(9, 9): {"a"}}
    assert not {at for levels in here.known.levels.values() for at in levels} - set(range(32))


def test_an_open_question_is_one_machines_and_a_point_of_the_grid_that_is_due_divides_it():
    known = KnownLevels()
    for at, level in ((0, 10.0), (16, 10.0), (32, 10.02), (48, 10.02), (64, 10.02)):
        known.levels["a"][at] = known.levels["b"][at] = level
    assert [(one.first, one.last) for one in work_chunks(SHORT, known)] == [(17, 31)]
    assert [shares(SHORT, known, machines) for machines in (1, 5)] == [[(0, 64)]] * 2
    del known.levels["a"][16], known.levels["a"][48]
    assert [(one.first, one.last) for one in work_chunks(SHORT, known)] == [
        (16, 16),
        (17, 31),
        (48, 48),
    ]
    assert shares(SHORT, known, 5) == [(0, 16), (17, 47), (48, 64)]


def test_nothing_is_shared_when_all_is_settled():
    known = KnownLevels(levels=defaultdict(dict, a=dict.fromkeys(range(0, 65, 16), 10.0)))
    question = replace(SHORT, series=("a",))
    assert [shares(question, known, machines) for machines in (1, 8)] == [[], []]
