"""The schedule: every point gets its samples and none more, in random rounds, and goes on."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from base.build import Build, Origin, Variant
from base.version import Version
from benchmarks.workloads.points import Point, PointKey
from benchmarks.workloads.scenario import Cell, Mode, Protocol, Scenario, Tier
from landspeed.sampling.rounds import Turn, turns
from tests.kits.builds.buildkit import TOOLCHAIN


def point(number: int, *, twin: bool = False) -> Point:
    """Point *number*; its *twin* is another Build of the very same server."""
    build = Build(
        prefix=Path(f"/builds/{number}-{twin}"),
        identifier=f"{number}-{twin}",
        version=Version.parse("18.6"),
        origin=Origin(release="18.6", commit=None, tree="a" * 40, date="2026-08-13"),
        variant=Variant(),
        build_system="meson",
        quirks=(),
        toolchain=TOOLCHAIN,
        digest=f"{number // 2}",
        cpu_seconds=1.0,
    )
    scenario = Scenario(mode=Mode.READ_ONLY, protocol=Protocol.SIMPLE, tier=Tier.SMALL, scale=5)
    return Point(build=build, cell=Cell(scenario=scenario, clients=1 + number % 2, profile="tuned"))


points = st.integers(0, 12).map(lambda count: [point(number) for number in range(count)])
samples = st.integers(1, 8)
seeds = st.integers(0, 2**32)


def counted(made: list[Turn]) -> Counter[PointKey]:
    return Counter(turn.point.key for turn in made)


@given(points, samples, seeds)
def test_every_point_reaches_its_samples_and_none_more(wanted, count, seed):
    made = counted(list(turns(wanted, {}, samples=count, seed=seed)))
    assert made == Counter({p.key: count for p in wanted})


@given(points, samples, seeds)
def test_rounds_come_in_order_and_each_holds_every_point_once(wanted, count, seed):
    made = list(turns(wanted, {}, samples=count, seed=seed))
    rounds = [(number, list(group)) for number, group in groupby(made, key=lambda turn: turn.round)]
    assert [number for number, _ in rounds] == (list(range(1, count + 1)) if wanted else [])
    for _, group in rounds:
        assert sorted(turn.point.build.identifier for turn in group) == sorted(
            p.build.identifier for p in wanted
        )


@given(points, samples, seeds, st.data())
def test_from_any_part_of_it_done_exactly_the_rest_is_made(wanted, count, seed, data):
    whole = list(turns(wanted, {}, samples=count, seed=seed))
    done = [turn for turn in whole if data.draw(st.booleans())]
    rest = list(turns(wanted, counted(done), samples=count, seed=data.draw(seeds)))
    assert counted(done) + counted(rest) == counted(whole)
    assert [turn.round for turn in rest] == sorted(turn.round for turn in rest)


@given(points, samples, seeds)
def test_what_is_done_is_not_done_again(wanted, count, seed):
    more = {p.key: count + index for index, p in enumerate(wanted)}
    assert list(turns(wanted, more, samples=count, seed=seed)) == []


@given(points, samples, seeds)
def test_the_points_furthest_behind_come_first(wanted, count, seed):
    have = {p.key: index % 3 for index, p in enumerate(wanted)}
    for turn in turns(wanted, have, samples=count, seed=seed):
        assert turn.round == have[turn.point.key] + 1
        have[turn.point.key] += 1


@given(points, samples, seeds)
def test_two_builds_of_one_server_are_one_point(wanted, count, seed):
    twins = [point(number, twin=True) for number in range(len(wanted))]
    made = list(turns([*wanted, *twins], {}, samples=count, seed=seed))
    assert len(made) == len(wanted) * count


@given(points, samples, seeds)
def test_equal_seeds_make_equal_schedules(wanted, count, seed):
    one, other = (list(turns(wanted, {}, samples=count, seed=seed)) for _ in range(2))
    assert one == other


def test_the_order_differs_between_rounds_and_between_seeds():
    wanted = [point(number) for number in range(12)]
    orders = [
        tuple(turn.point.build.identifier for turn in group)
        for seed in range(20)
        for _, group in groupby(
            turns(wanted, {}, samples=5, seed=seed), key=lambda turn: turn.round
        )
    ]
    assert len(set(orders)) == len(orders) == 100


def test_every_point_is_first_of_a_round_as_often_as_any_other():
    wanted = [point(number) for number in range(4)]
    firsts = Counter(
        next(turns(wanted, {}, samples=1, seed=seed)).point.build.identifier for seed in range(4000)
    )
    assert all(800 < firsts[p.build.identifier] < 1200 for p in wanted)


@given(points, samples, seeds)
def test_every_run_has_a_random_seed_that_pgbench_takes(wanted, count, seed):
    made = [turn.seed for turn in turns(wanted, {}, samples=count, seed=seed)]
    assert all(0 < number < 2**31 for number in made)


def test_runs_of_one_point_have_different_random_seeds():
    made = [turn.seed for turn in turns([point(0)], {}, samples=100, seed=1)]
    assert len(set(made)) == 100
