"""Verdicts of a Comparison: their direction, when it stops, what is exact, what is a pair."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from landspeed.compare.verdict import (
    Comparison,
    CountedValue,
    Finding,
    StoppingRule,
    Verdict,
    block_order,
    judge,
    judge_counts,
    whole_blocks,
)
from landspeed.stats.confidence_sequence import Floats
from tests.kits.made_up.noise import differences, drifting, heavy, normal

RULE = StoppingRule()


def blocks_of(logs: Floats) -> Floats:
    """Blocks of two sides whose log ratios these are; A's number is about 0.1 ms."""
    first = 0.1 * np.exp(np.random.default_rng(9).normal(0, 0.2, size=logs.shape))
    return np.stack([first, first * np.exp(logs)], axis=-1)


def quiet(effect: float, *, blocks: int = 60, seed: int = 1) -> Floats:
    """Blocks of a quiet machine (runs vary by 0.5 %) where B takes e^effect of A's time."""
    (logs,) = differences(normal, comparisons=1, blocks=blocks, seed=seed)
    return blocks_of(0.005 * logs + effect)


@pytest.mark.parametrize(
    ("effect", "higher", "verdict"),
    [
        (0.05, False, Verdict.SLOWER),
        (-0.05, False, Verdict.FASTER),
        (0.05, True, Verdict.FASTER),
        (-0.05, True, Verdict.SLOWER),
        (0.0, False, Verdict.SAME),
    ],
)
def test_faster_means_that_b_is_faster_whatever_the_metrics_direction(
    effect: float, higher: bool, verdict: Verdict
) -> None:
    (finding,) = judge(quiet(effect), StoppingRule(higher_is_better=higher))
    assert finding.verdict is verdict
    assert finding.ratio == pytest.approx(math.exp(effect), rel=0.003)
    assert finding.interval is not None
    assert finding.shown_interval is not None
    assert finding.interval.holds(math.exp(effect))
    assert finding.interval.low <= finding.shown_interval.low < finding.shown_interval.high
    assert finding.blocks_left == 0


def test_without_blocks_or_with_few_nothing_is_decided_and_no_interval_is_claimed() -> None:
    (none,) = judge(np.empty((0, 2)), RULE)
    assert (none.verdict, none.ratio, none.blocks_left) == (Verdict.UNDECIDED, None, None)
    (few,) = judge(quiet(0.5)[:12], RULE)
    assert (few.verdict, few.interval, few.blocks_left) == (Verdict.UNDECIDED, None, 1)
    assert few.facts()["interval"] is None


def stops(logs: Floats, rule: StoppingRule, every: int = 1) -> Finding:
    """The Finding at which a comparison of these log ratios ends, looking after *every* block."""
    blocks = blocks_of(logs)
    comparison = Comparison(rule=rule, sides=2)
    for n in range(13, len(blocks) + 1, every):
        comparison = replace(comparison, blocks=tuple(map(tuple, blocks[:n])))
        if comparison.is_settled:
            break
    return comparison.findings[0]


@pytest.mark.slow
@pytest.mark.parametrize("noise", [heavy, drifting])
def test_comparisons_that_stop_as_soon_as_they_may_are_right(noise: Any) -> None:
    for effect, verdict in ((0.0, Verdict.SAME), (0.04, Verdict.SLOWER), (-0.04, Verdict.FASTER)):
        logs = 0.01 * differences(noise, comparisons=6, blocks=120, seed=3) + effect
        found = [stops(row, StoppingRule(precision=0.02)).verdict for row in logs]
        assert found == [verdict] * 6


def test_a_difference_smaller_than_the_precision_is_the_same() -> None:
    (finding,) = judge(quiet(0.003, blocks=200), RULE)
    assert finding.verdict is Verdict.SAME
    assert finding.interval is not None
    assert not finding.interval.holds(1.0)


def test_a_proven_difference_ends_it_unless_its_size_is_asked_for() -> None:
    (logs,) = differences(normal, comparisons=1, blocks=200, seed=5)
    early = stops(0.03 * logs + 0.1, RULE)
    late = stops(0.03 * logs + 0.1, StoppingRule(narrow=True, precision=0.02))
    assert early.verdict is late.verdict is Verdict.SLOWER
    assert early.blocks < late.blocks < 200
    assert late.interval is not None
    assert late.interval.high / late.interval.low <= 1.02**2


def test_with_more_sides_each_interval_is_wider_so_that_all_hold_together() -> None:
    two = quiet(0.05)
    three = np.column_stack([two, two[:, 1]])
    (alone,) = judge(two, RULE)
    beside, same = judge(three, RULE)
    assert beside == same
    assert alone.interval is not None
    assert beside.interval is not None
    assert beside.interval.low < alone.interval.low
    assert RULE.alpha(3) == pytest.approx(RULE.alpha(2) / 2)


@pytest.mark.slow
def test_the_projection_says_about_what_a_decision_takes() -> None:
    taken, said = [], []
    for row in differences(normal, comparisons=9, blocks=200, seed=6):
        logs = 0.02 * row + 0.02
        (early,) = judge(blocks_of(logs[:20]), RULE)
        said.append(early.blocks + (early.blocks_left or 0))
        taken.append(stops(logs, RULE, every=8).blocks)
    assert 0.5 < np.median(said) / np.median(taken) < 2


def test_the_lot_is_the_same_for_everybody_and_fair() -> None:
    assert block_order("abc", 5, 3) == block_order("abc", 5, 3)
    firsts = [block_order("abc", block, 2)[0][0] for block in range(1000)]
    assert 430 < sum(firsts) < 570
    assert {side for side, _ in block_order("abc", 1, 4)} == {0, 1, 2, 3}
    assert len({seed for _, seed in block_order("abc", 1, 4)}) == 1


@pytest.mark.parametrize(
    ("other", "spread", "verdict"),
    [
        (100.0, 0.01, Verdict.SAME),
        (100.1, 0.01, Verdict.SAME),
        (100.25, 0.01, Verdict.SLOWER),
        (99.75, 0.01, Verdict.FASTER),
        (100.2, 0.05, Verdict.UNDECIDED),
        (101.0, 2.0, Verdict.UNDECIDED),
    ],
)
def test_an_exact_metric_differs_by_a_fifth_of_a_percent_or_not_at_all(
    other: float, spread: float, verdict: Verdict
) -> None:
    finding = judge_counts(
        CountedValue(value=100.0, spread=spread), CountedValue(value=other, spread=spread)
    )
    assert finding.verdict is verdict
    assert finding.ratio == pytest.approx(other / 100)


@pytest.mark.parametrize("spread", [0.1, 0.11, 3.0])
def test_a_count_that_may_be_nothing_at_all_decides_nothing(spread: float) -> None:
    small, large = (CountedValue(value=value, spread=spread) for value in (0.1, 100.0))
    for sides in ((small, large), (large, small), (small, replace(small, value=0.09))):
        finding = judge_counts(*sides)
        assert (finding.verdict, finding.interval) == (Verdict.UNDECIDED, None)
        assert finding.ratio == sides[1].value / sides[0].value


def row(block: int, side: int, latency: float | None) -> dict[str, Any]:
    return {"block": block, "side": side, "latency_ms": latency}


def test_a_block_that_was_interrupted_is_no_pair() -> None:
    rows = [row(1, 0, 1.0), row(1, 1, 2.0), row(2, 1, 9.0), row(3, 1, 4.0), row(3, 0, 3.0)]
    rows += [row(4, 0, 5.0), row(4, 1, None)]
    assert whole_blocks(rows, "latency_ms", (0, 1)) == ((1.0, 2.0), (3.0, 4.0))
    assert whole_blocks(rows, "latency_ms", (1, 0)) == ((2.0, 1.0), (4.0, 3.0))
    assert whole_blocks([], "latency_ms", (0, 1, 2)) == ()


def test_a_comparison_grows_by_blocks_and_says_what_is_left() -> None:
    comparison = Comparison(rule=RULE, sides=3)
    assert (comparison.blocks_left, comparison.is_settled) == (None, False)
    assert comparison.summaries() == (None, None, None)
    for values in quiet(0.05, blocks=20):
        comparison = comparison.with_block((*values, values[0] * 1.3))
    assert comparison.is_settled
    assert comparison.blocks_left == 0
    assert [s.runs for s in comparison.summaries() if s] == [20, 20, 20]


def test_on_an_exact_metric_one_block_is_all_there_is_to_know() -> None:
    rule = StoppingRule(counted=True)
    none = Comparison(rule=rule, sides=3)
    assert not none.is_settled
    assert [one.verdict for one in none.findings] == [Verdict.UNDECIDED] * 2
    one = replace(none, blocks=((100.0, 100.1, 101.0),), spreads=(0.01, 0.01, 5.0))
    assert one.is_settled
    assert [found.verdict for found in one.findings] == [Verdict.SAME, Verdict.UNDECIDED]
    assert [found.verdict for found in replace(one, spreads=()).findings] == [
        Verdict.SAME,
        Verdict.SLOWER,
    ]
