"""Steps in short lines, by the scatter of their Runs, and in exact numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from landspeed.stats.changepoint_online import NoiseModel
from landspeed.stats.changepoint_short import EXACT_SHARE, scan_exact, scan_samples
from landspeed.stats.glr import Floats
from perf.noise import heavy, normal

levels = st.lists(st.floats(0.5, 2.0), min_size=2, max_size=8)


def line(seed: int, levels: list[float], runs: int = 8, noise: float = 0.02) -> list[Floats]:
    chance = np.random.default_rng(seed)
    return [level * np.exp(noise * chance.standard_normal(runs)) for level in levels]


def test_two_releases_are_enough_where_their_runs_tell_the_noise() -> None:
    scan = scan_samples(line(1, [1.0, 1.1]))
    assert scan.basis is NoiseModel.SAMPLES
    (jump,) = scan.jumps
    assert (jump.previous, jump.at, jump.seen) == (0, 1, 1)
    assert jump.low < 1.1 < jump.high
    assert jump.p_value is not None
    assert jump.p_value < 1e-4


@pytest.mark.parametrize("points", [[], [3], [2, 2], [8, 1], [8, 2, 1]])
def test_too_few_runs_say_nothing(points: list[int]) -> None:
    scan = scan_samples([np.ones(runs) for runs in points])
    assert scan.basis is NoiseModel.NONE
    assert scan.jumps == ()


def test_points_with_too_few_runs_are_skipped_and_the_others_keep_their_positions() -> None:
    points = line(2, [1.0, 1.0, 1.0, 1.2, 1.2])
    points[1] = points[1][:2]
    points[3] = points[3][:1]
    (jump,) = scan_samples(points).jumps
    assert (jump.previous, jump.at) == (2, 4)


@pytest.mark.parametrize("noise", [normal, heavy])
@pytest.mark.parametrize(("points", "runs"), [(2, 3), (4, 8), (12, 3)])
def test_at_most_one_in_a_hundred_series_without_a_jump_shows_one(
    noise: object, points: int, runs: int
) -> None:
    chance = np.random.default_rng(9)
    make = normal if noise is normal else heavy
    made = np.exp(0.02 * make(chance, 300 * points, runs)).reshape(300, points, runs)
    alarms = sum(bool(scan_samples(list(one)).jumps) for one in made)
    assert alarms <= 3 + 4 * np.sqrt(3)


def test_several_jumps_are_told_apart() -> None:
    found = scan_samples(line(3, [1.0, 1.0, 1.2, 1.2, 0.9, 1.0])).jumps
    assert [jump.at for jump in found] == [2, 4, 5]
    assert [jump.ratio > 1 for jump in found] == [True, False, True]


def test_with_equal_runs_every_change_is_a_jump() -> None:
    assert scan_samples([np.full(3, 1.0), np.full(3, 1.0)]).jumps == ()
    (jump,) = scan_samples([np.full(3, 1.0), np.full(3, 1.001)]).jumps
    assert jump.ratio == pytest.approx(1.001)


@given(levels=levels, seed=st.integers(0, 999), scale=st.floats(1e-3, 1e3))
@settings(max_examples=25)
def test_unit_and_direction_do_not_matter(levels: list[float], seed: int, scale: float) -> None:
    points = line(seed, levels)
    here = scan_samples(points).jumps
    scaled = scan_samples([scale * point for point in points]).jumps
    mirrored = scan_samples([1 / point for point in points]).jumps
    assert [j.at for j in here] == [j.at for j in scaled] == [j.at for j in mirrored]
    assert [j.ratio for j in scaled] == pytest.approx([j.ratio for j in here])
    assert [j.ratio for j in mirrored] == pytest.approx([1 / j.ratio for j in here])


# --- exact numbers -------------------------------------------------------------------------


@given(st.lists(st.floats(-0.01, 0.01), min_size=2, max_size=20))
def test_an_exact_number_jumps_where_neighbours_differ_by_two_in_a_thousand(
    changes: list[float],
) -> None:
    numbers = 50_000 * np.cumprod(1 + np.array(changes))
    scan = scan_exact(numbers)
    expected = [
        i
        for i in range(1, len(numbers))
        if abs(numbers[i] - numbers[i - 1]) >= EXACT_SHARE * numbers[i - 1]
    ]
    assert [jump.at for jump in scan.jumps] == expected
    assert all(jump.p_value is None for jump in scan.jumps)
    assert all(jump.low == jump.ratio == jump.high for jump in scan.jumps)


def test_one_exact_number_has_nothing_to_be_compared_with() -> None:
    assert scan_exact(np.array([1.0])).basis is NoiseModel.NONE
