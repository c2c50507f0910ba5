"""The confidence sequence: its error rates on made-up noise, and that it decides in the end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from landspeed.stats.confidence_sequence import (
    blocks_needed,
    fewest_blocks,
    half_width,
    interval,
    log_wealth,
    typical,
)
from tests.kits.made_up.noise import NOISES, differences, heavy, normal

COMPARISONS = 2_000


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("alpha", "at_most"), [(0.05, 120), (0.001, 8)])
def test_a_server_against_itself_is_refuted_at_any_look_no_oftener_than_stated(
    noise: str, alpha: float, at_most: int
) -> None:
    """*at_most* is what 2,000 comparisons at exactly *alpha* exceed less than once in 1,000."""
    wealth = log_wealth(differences(NOISES[noise], comparisons=COMPARISONS, blocks=60, seed=1))
    refuted = int((wealth.max(axis=1) >= -math.log(alpha)).sum())
    assert refuted <= at_most


@settings(max_examples=60)
@given(st.lists(st.floats(-50, 50, allow_nan=False), min_size=1, max_size=10))
def test_the_wealth_is_a_fair_game_over_all_signs_the_lot_can_give(sizes: list[float]) -> None:
    blocks = len(sizes)
    signs = np.array([[1 - 2 * (n >> b & 1) for b in range(blocks)] for n in range(2**blocks)])
    wealth = np.exp(log_wealth(signs * np.abs(np.array(sizes))))
    assert np.mean(wealth[:, -1]) == pytest.approx(1.0)


@pytest.mark.parametrize(("alpha", "blocks"), [(0.05, 7), (0.001, 13)])
def test_the_fewest_blocks_are_few_and_fewer_refute_nothing(alpha: float, blocks: int) -> None:
    assert fewest_blocks(alpha) == blocks
    same = np.full(blocks, 3.0)
    found = interval(same, alpha)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((math.exp(3), math.exp(3)), 1e-6)
    assert interval(same[:-1], alpha) is None


@pytest.mark.parametrize(
    ("effect", "median", "most"), [(0.4, 160, 320), (1.0, 32, 60), (2.0, 17, 22), (5.0, 13, 13)]
)
def test_a_difference_is_found_in_about_the_blocks_that_an_exact_t_test_takes(
    effect: float, median: int, most: int
) -> None:
    """Effects are in standard deviations of a difference, that is, of sqrt(2) runs."""
    found = differences(normal, comparisons=200, blocks=most, seed=2, effect=effect * math.sqrt(2))
    refuted = log_wealth(found) >= math.log(1000)
    taken = np.where(refuted.any(axis=1), refuted.argmax(axis=1) + 1, most + 1)
    assert np.median(taken) <= median
    assert np.quantile(taken, 0.9) <= most


@pytest.mark.slow
def test_the_interval_holds_the_true_ratio_and_narrows() -> None:
    found = differences(heavy, comparisons=60, blocks=100, seed=3, effect=0.2)
    widths = []
    for blocks in (20, 100):
        intervals = [i for row in found if (i := interval(row[:blocks], 0.001))]
        assert len(intervals) == len(found)
        assert all(i.holds(math.exp(0.2)) for i in intervals)
        widths.append(np.median([math.log(i.high / i.low) for i in intervals]))
    early, late = widths
    assert late < early / 2


def test_the_interval_is_the_same_seen_from_the_other_side() -> None:
    (found,) = differences(normal, comparisons=1, blocks=25, seed=4)
    here, there = interval(found, 0.01), interval(-found, 0.01)
    assert here is not None
    assert there is not None
    assert (here.low, here.high) == pytest.approx((1 / there.high, 1 / there.low))


def test_one_wild_run_moves_neither_the_ratio_nor_the_interval_far() -> None:
    (found,) = differences(normal, comparisons=1, blocks=40, seed=5)
    wild = found.copy()
    wild[7] = 500.0
    assert typical(wild) == pytest.approx(typical(found), abs=0.2)
    before, after = interval(found, 0.001), interval(wild, 0.001)
    assert before is not None
    assert after is not None
    assert math.log(after.high / after.low) < 2 * math.log(before.high / before.low)


@pytest.mark.parametrize("blocks", [16, 30, 100])
def test_the_projected_width_is_near_the_real_one(blocks: int) -> None:
    found = differences(normal, comparisons=20, blocks=blocks, seed=6) / math.sqrt(2)
    widths = [math.log(i.high / i.low) / 2 for row in found if (i := interval(row, 0.001))]
    assert np.median(widths) == pytest.approx(half_width(1.0, blocks, 0.001), rel=0.2)


def test_what_a_decision_takes_depends_on_the_noise_and_on_the_difference() -> None:
    (found,) = differences(normal, comparisons=1, blocks=20, seed=7)
    noisy = blocks_needed(found * 0.05, 0.01, 0.001)
    quiet = blocks_needed(found * 0.001, 0.01, 0.001)
    far = blocks_needed(found * 0.05 + 0.3, 0.01, 0.001)
    assert noisy is not None
    assert quiet is not None
    assert far is not None
    assert quiet <= far < noisy
    assert blocks_needed(found[:1], 0.01, 0.001) is None


def test_runs_that_are_exactly_alike_are_no_difference() -> None:
    assert log_wealth(np.zeros(30)).tolist() == pytest.approx([0.0] * 30, abs=1e-12)
    assert typical(np.zeros(30)) == 0.0
