"""The rules of bisection on made-up lines: what they name, what it costs, when they say no."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from landspeed.bisect.decide import credible_range, decide_counted, decide_timed, level_changes
from landspeed.bisect.model import (
    Costs,
    Culprit,
    Hypothesis,
    NoCulprit,
    Observations,
    Probe,
    Reversed,
)
from landspeed.bisect.posterior import posterior_of, two_changes
from landspeed.bisect.probe_choice import build_probability, information
from tests.kits.made_up.bisect_world import (
    SIGMA,
    World,
    asv_find,
    git_bisect,
    search_counted,
    search_timed,
)

SIZE = float(np.expm1(2 * SIGMA))
HYPOTHESIS = Hypothesis(last=16, size=SIZE)


def world(number: int = 1, *, last: int = 1024, **changes) -> World:
    return World(last=last, dice=np.random.default_rng([7, number]), **changes)


def measured(levels: dict[int, float], *, runs: int = 6, **more) -> Observations:
    """*runs* samples at each position, evenly around its level, that differ by about sigma."""
    spread = SIGMA * np.linspace(-1.4, 1.4, runs)
    samples = {p: tuple(level + spread) for p, level in levels.items()}
    return Observations(samples=samples, servers={p: f"server {p}" for p in levels} | more)


# --- the exact rule ----------------------------------------------------------------------------


@given(last=st.integers(1, 300), data=st.data())
@settings(max_examples=150)
def test_the_exact_rule_is_always_right_in_log_n_plus_2_measurements(last, data):
    step = data.draw(st.integers(1, last))
    searched = search_counted(world(last=last, steps={step: 0.01}, sigma=1e-6), size=0.002)
    assert searched.decision == Culprit(first=step, last=step, confidence=1.0)
    assert searched.runs <= math.ceil(math.log2(last)) + 2 if last > 1 else 2


@given(last=st.integers(2, 120), data=st.data())
@settings(max_examples=150)
def test_the_exact_rule_names_the_range_that_does_not_build_around_the_step(last, data):
    step = data.draw(st.integers(1, last))
    broken = frozenset(data.draw(st.sets(st.integers(1, last - 1))))
    made = world(last=last, steps={step: 0.01}, sigma=1e-6, broken=broken)
    found = search_counted(made, size=0.002).decision
    assert isinstance(found, Culprit)
    assert found.first <= step <= found.last
    assert set(range(found.first, found.last)) <= broken
    assert {found.first - 1, found.last} & broken == set()


def test_the_exact_rule_says_no_culprit_reversed_and_that_the_level_crept_up():
    hypothesis = Hypothesis(last=64, size=0.002)
    for change, answer in ((0.001, NoCulprit), (-0.01, Reversed)):
        searched = search_counted(world(last=64, steps={20: change}, sigma=1e-6), size=0.002)
        assert isinstance(searched.decision, answer)
        assert searched.runs == 2
    crept = search_counted(
        world(last=64, steps=dict.fromkeys(range(1, 65), 1e-4), sigma=0), size=0.002
    )
    assert isinstance(crept.decision, NoCulprit)
    assert max(rise.change for rise in level_changes(crept.observations)) < hypothesis.threshold


def test_the_exact_rule_finds_the_largest_of_several_steps_and_shows_the_others():
    steps = {10: 0.003, 40: 0.005, 60: 0.004}
    searched = search_counted(world(last=64, steps=steps, sigma=1e-6), size=0.002)
    assert isinstance(searched.decision, Culprit)
    named = searched.decision.last
    others = [
        r for r in level_changes(searched.observations) if r.change > 0.002 and r.last != named
    ]
    hidden = set(steps) - {named}
    assert hidden
    assert all(any(rise.first <= step <= rise.last for rise in others) for step in hidden)


def test_a_twin_costs_the_exact_rule_no_measurement():
    servers = dict.fromkeys(range(30), "before") | dict.fromkeys(range(30, 65), "after")
    searched = search_counted(
        world(last=64, steps={30: 0.01}, sigma=0, servers=servers), size=0.002
    )
    assert searched.decision == Culprit(first=30, last=30, confidence=1.0)
    assert searched.runs == 2


# --- the posterior -----------------------------------------------------------------------------


def test_the_posterior_does_not_ask_for_the_unit_nor_for_the_order_of_the_runs():
    plain = measured({0: 0.0, 8: 0.0, 16: 2 * SIGMA})
    moved = {p: tuple(v + 5 for v in reversed(values)) for p, values in plain.samples.items()}
    one, other = (
        posterior_of(HYPOTHESIS, observations)
        for observations in (plain, Observations(samples=moved, servers=plain.servers))
    )
    assert one.steps == pytest.approx(other.steps, abs=1e-4)
    assert one.none == pytest.approx(other.none, abs=1e-4)
    assert one.step + one.none + one.reversed == pytest.approx(1)


def test_the_posterior_lies_where_the_level_rises_and_evenly_where_nothing_is_known():
    posterior = posterior_of(HYPOTHESIS, measured({0: 0.0, 8: 0.0, 16: 3 * SIGMA}))
    assert posterior.steps[9:].sum() > 0.97
    assert posterior.steps[9:] == pytest.approx(posterior.steps[9], rel=1e-9)
    assert posterior.change == pytest.approx(3 * SIGMA, rel=0.15)
    assert credible_range(HYPOTHESIS, posterior)[0] >= 9


def test_one_wild_run_does_not_move_the_posterior_much():
    observations = measured({0: 0.0, 8: 0.0, 16: 2 * SIGMA})
    wild = {**observations.samples, 8: (*observations.samples[8], 12 * SIGMA)}
    posterior = posterior_of(HYPOTHESIS, Observations(samples=wild, servers=observations.servers))
    assert posterior.steps[9:].sum() > 0.8


def test_no_step_lies_between_two_commits_that_are_one_server():
    observations = measured({0: 0.0, 16: 2 * SIGMA})
    servers = {**observations.servers, 3: "server 0", 11: "server 16"}
    posterior = posterior_of(
        HYPOTHESIS, Observations(samples=observations.samples, servers=servers)
    )
    assert posterior.steps[:4].sum() + posterior.steps[12:].sum() == 0
    assert posterior.step > 0.9


def test_ends_that_are_one_server_are_no_culprit_and_that_is_certain():
    observations = Observations(samples={0: (0.1,) * 4}, servers={0: "same", 16: "same"})
    assert decide_timed(HYPOTHESIS, observations, Costs()) == NoCulprit(confidence=1.0)


def test_a_run_at_equal_odds_tells_most_and_no_more_than_a_bit():
    shares = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
    told = information(shares, np.array([0.0, 2.0, 50.0]))
    assert told[0] == pytest.approx(0, abs=1e-9)
    assert told[1][2] == pytest.approx(0.486, abs=0.001)  # the capacity at 0 dB
    assert told[2][2] == pytest.approx(1)
    assert told[1].argmax() == 2
    assert told[1][1] == pytest.approx(told[1][3])


def test_what_is_next_to_a_commit_that_does_not_build_is_less_likely_to_build():
    assert list(build_probability([1, 2, 3], [])) == [1, 1, 1]
    near, further, far = build_probability([5, 7, 20], [4])
    assert near < further < far < 1


# --- the noisy rule ----------------------------------------------------------------------------


def test_both_ends_are_measured_first_in_pairs_that_take_turns():
    order: list[int] = []
    while len(order) < 8:
        samples = {p: (0.0,) * order.count(p) for p in set(order)}
        probe = decide_timed(HYPOTHESIS, Observations(samples=samples), Costs())
        assert isinstance(probe, Probe)
        order.append(probe.position)
    assert order == [0, 16, 16, 0, 0, 16, 16, 0]


def test_what_is_built_is_measured_again_rather_than_something_new_built_dearly():
    observations = measured({0: 0.0, 9: SIGMA, 16: 2 * SIGMA})
    cheap = decide_timed(HYPOTHESIS, observations, Costs(run=1, build=0))
    dear = decide_timed(HYPOTHESIS, observations, Costs(run=1, build=1000))
    assert dear == Probe(position=9)
    assert cheap != dear


@pytest.mark.slow
def test_a_step_of_two_sigma_is_found_among_1024_commits():
    right, runs, builds = [], [], []
    for number in range(16):
        step = int(np.random.default_rng(number).integers(1, 1025))
        made = world(number, steps={step: 2 * SIGMA})
        searched = search_timed(made, size=SIZE)
        right.append(searched.is_right(made))
        runs.append(searched.runs)
        builds.append(searched.builds)
    assert sum(right) >= 14
    assert np.median(runs) <= 50
    assert np.median(builds) <= 15


def test_where_there_is_no_step_that_is_said():
    searched = [search_timed(world(number, steps={}), size=SIZE) for number in range(20)]
    assert sum(isinstance(one.decision, NoCulprit) for one in searched) >= 19
    assert all(one.builds <= 4 for one in searched[:10])


def test_a_step_within_commits_that_do_not_build_is_named_as_their_range():
    made = world(last=64, steps={33: 4 * SIGMA}, broken=frozenset(range(30, 41)))
    found = search_timed(made, size=SIZE).decision
    assert isinstance(found, Culprit)
    assert (found.first, found.last) == (30, 41)


def test_a_bad_that_is_better_than_good_is_told_as_such():
    searched = search_timed(world(last=64, steps={20: -4 * SIGMA}), size=SIZE)
    assert isinstance(searched.decision, Reversed)
    assert searched.builds == 2


def test_commits_none_of_which_build_leave_the_whole_range():
    made = world(last=8, steps={5: 4 * SIGMA}, broken=frozenset(range(1, 8)))
    found = search_timed(made, size=SIZE).decision
    assert isinstance(found, Culprit)
    assert (found.first, found.last) == (1, 8)


def test_two_steps_are_told_from_one():
    one = two_changes(HYPOTHESIS, measured({0: 0, 4: 0, 8: 0.04, 12: 0.04, 16: 0.04}, runs=8))
    two = two_changes(HYPOTHESIS, measured({0: 0, 4: 0, 8: 0.03, 12: 0.03, 16: 0.06}, runs=8))
    assert one is not None
    assert one.probability < 0.5
    assert two is not None
    assert two.probability > 0.95
    assert (two.first, two.second) == (range(5, 9), range(13, 17))


@pytest.mark.slow
@pytest.mark.parametrize("heights", [(14.6, 12.2), (10, 10), (5, 5), (3, 3), (12, 4)])
def test_of_two_steps_one_is_named_however_far_they_are_above_the_noise(heights):
    runs = []
    for number in range(8):
        made = world(number, last=64, steps={})
        low, high = sorted(made.dice.choice(np.arange(1, 65), 2, replace=False).tolist())
        made.steps = {low: heights[0] * SIGMA, high: heights[1] * SIGMA}
        searched = search_timed(made, size=SIZE)
        assert searched.is_right(made)
        runs.append(searched.runs)
    # a server between them is like neither end: it was measured until the budget was spent
    assert max(runs) < 200
    assert np.median(runs) < 60


def test_two_measured_commits_cannot_tell_two_steps_from_one():
    assert two_changes(HYPOTHESIS, measured({0: 0.0, 16: 0.04})) is None


def test_searches_that_ask_once_are_often_wrong_on_the_same_commits():
    wrong = {"git bisect": 0, "asv find": 0}
    for number in range(20):
        for name, search in (
            ("git bisect", git_bisect),
            ("asv find", lambda w: asv_find(w, repeats=1)),
        ):
            made = world(number, steps={300: 2 * SIGMA})
            wrong[name] += not search(made).is_right(made)
    assert min(wrong.values()) >= 10


def test_an_exact_rule_asks_for_the_ends_first():
    hypothesis = Hypothesis(last=8, size=0.002)
    assert decide_counted(hypothesis, Observations()) == Probe(position=0)
    assert decide_counted(hypothesis, Observations(samples={0: (1.0,)})) == Probe(position=8)
