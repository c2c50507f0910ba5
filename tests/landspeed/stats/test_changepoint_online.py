"""The step detector: what it says of noise, of steps, and that it says it of any such numbers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from landspeed.stats import glr
from landspeed.stats.changepoint_online import (
    LEVEL,
    SHORTEST,
    SMALLEST_P,
    Jump,
    NoiseModel,
    p_value,
    scan_points,
)
from landspeed.stats.glr import Floats
from landspeed.stats.glr_table import COMMITS, TAILS
from perf.calibration import PROBABILITIES, highest
from perf.noise import STATED, normal

pytestmark = pytest.mark.slow

SERIES = 150
seeds = st.integers(0, 2**32 - 1)


def noisy(seed: int, levels: dict[int, float], commits: int = 120, noise: float = 0.02) -> Floats:
    """Normal *noise* around levels, by the commit that each begins with; the first is 1."""
    line = noise * np.random.default_rng(seed).standard_normal(commits)
    for begin, level in levels.items():
        line[begin:] += np.log(level)
    return np.exp(line)


def jumps(line: Floats) -> tuple[Jump, ...]:
    (scan,) = scan_points([line])
    return scan.jumps


@cache
def highest_scores(kind: str) -> Floats:
    return highest(STATED[kind], SERIES, np.random.default_rng(4))


# --- noise ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", STATED)
def test_noise_exceeds_the_scores_of_the_table_as_rarely_as_it_says(kind: str) -> None:
    scores = highest_scores(kind)
    for probability, score in TAILS:
        # a one-sided bound of 4 standard errors: a table that is off by half is noticed
        error = np.sqrt(probability * (1 - probability) / SERIES)
        assert (scores > score).mean() <= probability + 4 * error
    bar = dict(TAILS)[0.1]
    assert (scores > bar).mean() >= 0.03, "the table is far too strict for this noise"


def test_the_table_was_made_of_long_enough_series_and_falls() -> None:
    assert COMMITS == 200
    assert tuple(probability for probability, _ in TAILS) == PROBABILITIES
    scores = [score for _, score in TAILS]
    assert scores == sorted(scores)


@pytest.mark.parametrize("kind", STATED)
def test_at_most_one_in_a_hundred_series_without_a_jump_shows_one(kind: str) -> None:
    lines = np.exp(0.03 * STATED[kind](np.random.default_rng(8), SERIES, COMMITS))
    alarms = sum(bool(scan.jumps) for scan in scan_points(list(lines)))
    assert alarms <= 0.01 * SERIES + 4 * np.sqrt(0.01 * SERIES)


def test_one_outlier_is_no_jump() -> None:
    lines = [noisy(seed, {}) for seed in range(40)]
    for line in lines:
        line[60] *= 100
        line[90] /= 100
    assert sum(bool(scan.jumps) for scan in scan_points(lines)) <= 1
    quiet = np.tile([1.0, 1.01], 40)
    quiet[50] = 50.0
    assert jumps(quiet) == ()


def test_a_series_of_one_repeated_number_has_no_jump() -> None:
    assert jumps(np.full(50, 3.0)) == ()


# --- steps ---------------------------------------------------------------------------------


def test_jumps_of_three_deviations_are_found_within_five_commits() -> None:
    """95 % are stated (python -m perf.detector); so few series can show 90 % for certain."""
    lines = normal(np.random.default_rng(3), 100, 110)
    lines[:, 100:] += 3
    scans = scan_points(list(np.exp(0.01 * lines)))
    near = [[j for j in scan.jumps if abs(j.at - 100) <= 3 and j.seen <= 105] for scan in scans]
    assert np.mean([bool(found) for found in near]) >= 0.9
    assert np.mean([found[0].at == 100 for found in near if found]) >= 0.7


@given(seed=seeds, begin=st.integers(20, 100), ratio=st.floats(1.12, 3.0), up=st.booleans())
@settings(max_examples=15)
def test_a_large_jump_is_found_where_it_is_with_its_size(
    seed: int, begin: int, ratio: float, up: bool
) -> None:
    ratio = ratio if up else 1 / ratio
    found = [j for j in jumps(noisy(seed, {begin: ratio})) if abs(j.at - begin) <= 1]
    assert len(found) == 1
    assert found[0].ratio == pytest.approx(ratio, rel=0.04)
    assert found[0].low < found[0].ratio < found[0].high
    assert found[0].previous == found[0].at - 1
    assert found[0].seen >= found[0].at
    assert found[0].p_value is not None
    assert found[0].p_value <= LEVEL


def test_a_jump_and_its_repair_are_two_jumps() -> None:
    found = jumps(noisy(1, {50: 1.1, 65: 1 / 1.1}))
    assert [(j.at, j.ratio > 1) for j in found] == [(50, True), (65, False)]


def test_a_small_jump_is_found_later() -> None:
    (found,) = jumps(noisy(10, {60: 1.03}, commits=160))
    assert abs(found.at - 60) <= 6
    assert 65 < found.seen < 95
    assert found.low < 1.03 < found.high


# --- whatever the numbers ------------------------------------------------------------------


@given(seed=seeds, scale=st.floats(1e-6, 1e6))
@settings(max_examples=10)
@pytest.mark.slow
def test_the_unit_of_the_numbers_does_not_matter(seed: int, scale: float) -> None:
    line = noisy(seed, {60: 1.1})
    there, here = jumps(scale * line), jumps(line)
    assert [(j.at, j.seen) for j in there] == [(j.at, j.seen) for j in here]
    for one, other in zip(there, here, strict=True):
        assert one.ratio == pytest.approx(other.ratio)
        assert one.before == pytest.approx(scale * other.before)


@given(seed=seeds)
@settings(max_examples=10)
@pytest.mark.slow
def test_an_improvement_is_a_regression_in_the_mirror(seed: int) -> None:
    line = noisy(seed, {60: 1.1})
    there, here = jumps(1 / line), jumps(line)
    assert [(j.at, j.seen) for j in there] == [(j.at, j.seen) for j in here]
    for one, other in zip(there, here, strict=True):
        assert one.ratio == pytest.approx(1 / other.ratio)
        assert (one.low, one.high) == pytest.approx((1 / other.high, 1 / other.low))


@given(seed=seeds, now=st.integers(75, 119))
@settings(max_examples=10)
@pytest.mark.slow
def test_a_jump_stays_when_commits_are_added(seed: int, now: int) -> None:
    line = noisy(seed, {60: 1.1})
    then, later = jumps(line[: now + 1]), jumps(line)
    assert [j.seen for j in then] == [j.seen for j in later if j.seen <= now]
    for one, other in zip(then, later, strict=False):
        assert abs(one.at - other.at) <= 6
        assert one.p_value is not None
        assert other.p_value is not None
        assert other.p_value <= one.p_value or len(later) > len(then)


def test_a_single_jump_is_the_same_read_backwards() -> None:
    """Lines are read forwards, so this holds for steps with enough commits on both sides."""
    for seed in (0, 1, 2, 3, 4):
        line = noisy(seed, {60: 1.1})
        (forth,), (back,) = jumps(line), jumps(line[::-1].copy())
        assert back.at == len(line) - forth.at
        assert back.ratio == pytest.approx(1 / forth.ratio, rel=1e-6)


@pytest.mark.slow
def test_series_scanned_together_are_judged_as_if_alone() -> None:
    lines = [noisy(seed, {40 + seed: 1.2}, commits=80 + 7 * seed) for seed in range(10)]
    together = scan_points(lines)
    assert together == [scan_points([line])[0] for line in lines]


def test_a_score_depends_only_on_the_last_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glr, "LONGEST", 100)
    late = noisy(1, {60: 1.1}, commits=120)
    early = [noisy(seed, {}, commits=40) * level for seed, level in ((2, 1.0), (3, 7.0))]
    scores = [
        glr.scores(
            glr.Batch(
                current=np.log(np.concatenate([line, late]))[None, :],
                lengths=np.array([160]),
                old=np.zeros((1, 0)),
                ages=np.array([0]),
                levels=np.array([0]),
            )
        )[0, 140:]
        for line in early
    ]
    assert scores[0].tolist() == scores[1].tolist()


def test_a_short_series_shows_nothing() -> None:
    (scan,) = scan_points([noisy(1, {6: 2.0}, commits=SHORTEST - 1)])
    assert scan.basis is NoiseModel.NONE
    assert scan.jumps == ()


def test_p_values_fall_with_the_score_and_rise_with_the_length() -> None:
    scores = np.linspace(2, 12, 60)
    values = [p_value(score, COMMITS) for score in scores]
    assert values == sorted(values, reverse=True)
    assert values[-1] == SMALLEST_P
    assert p_value(4.5, 50) == p_value(4.5, COMMITS)
    assert p_value(4.5, 400) == pytest.approx(2 * p_value(4.5, COMMITS))
    for probability, score in TAILS:
        assert p_value(score, COMMITS) == pytest.approx(probability)
