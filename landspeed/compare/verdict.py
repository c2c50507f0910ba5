"""The verdict about two or more sides after the blocks measured so far, and whether to go on.

Pure. A block is one run of every side, in random order. Whatever changes slowly on the machine
affects all runs of a block alike and cancels in their ratio. Verdicts are taken from one
confidence sequence (landspeed/stats/confidence_sequence.py). The probability that any of them
is wrong is therefore at most the probability that the sequence ever misses the true ratio,
however often one looks.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Self

import numpy as np

from benchmarks.workloads.metrics import Metric
from landspeed.stats.confidence_sequence import (
    Floats,
    Interval,
    blocks_needed,
    interval,
    log_wealth,
    typical,
)
from landspeed.stats.summary import Summary

SHOWN_CONFIDENCE = 0.95
"""Confidence of the second, narrower interval, which is shown and decides nothing."""

COUNTED_DIFFERENCE = 0.002
"""The smallest change of a counted metric that is a difference, as a share."""


class Verdict(StrEnum):
    """The verdict about side B against side A: FASTER means that B is faster."""

    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"
    UNDECIDED = "UNDECIDED"


@dataclass(frozen=True, kw_only=True)
class StoppingRule:
    """When a comparison ends.

    ``precision`` is the share within which sides are SAME. ``confidence`` holds for all verdicts
    of one comparison together, at all looks. With ``narrow`` the interval must be that precise
    even where a difference is proven. A ``counted`` metric needs a single block.
    """

    precision: float = 0.01
    confidence: float = 0.999
    higher_is_better: bool = False
    narrow: bool = False
    counted: bool = False

    def of(self, metric: Metric) -> Self:
        """Return the same rule for a comparison of *metric*."""
        return replace(self, higher_is_better=metric.higher_is_better, counted=metric.exact)

    def alpha(self, sides: int) -> float:
        """Return the error allowed for each ratio to the first of *sides* (Bonferroni)."""
        return (1 - self.confidence) / max(1, sides - 1)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What is known of one side (B) against the first (A).

    ``ratio`` is B's value by A's, None before the first block. ``interval`` has the confidence
    of the stopping rule, ``shown_interval`` 95 %; either is None while it is unbounded.
    ``is_settled`` says that no further block is wanted. ``needed`` estimates the blocks that this
    takes in all, None if it is unknown.
    """

    verdict: Verdict = Verdict.UNDECIDED
    ratio: float | None = None
    interval: Interval | None = None
    shown_interval: Interval | None = None
    blocks: int = 0
    is_settled: bool = False
    needed: int | None = None

    @property
    def blocks_left(self) -> int | None:
        """About how many more blocks are wanted; None if unknown."""
        if self.is_settled:
            return 0
        return None if self.needed is None else max(1, self.needed - self.blocks)

    def __str__(self) -> str:
        if self.ratio is None:
            return "no ratio yet"
        return f"ratio {self.ratio:.4f} [{self.interval or 'no interval yet'}]"

    def facts(self) -> dict[str, Any]:
        """Return the finding as JSON can hold it."""
        return {
            "verdict": self.verdict.value,
            "ratio": self.ratio,
            "interval": self.interval and list(astuple(self.interval)),
            "interval_95": self.shown_interval and list(astuple(self.shown_interval)),
            "blocks": self.blocks,
            "further_blocks": self.blocks_left,
        }


def judge(blocks: Floats, rule: StoppingRule) -> tuple[Finding, ...]:
    """Return the finding about every side but the first, in their order.

    *blocks* has a row for each block and a column for each side; all values are above zero.
    """
    sides = blocks.shape[1]
    logs = np.log(blocks)
    return tuple(_finding(logs[:, n] - logs[:, 0], rule, sides) for n in range(1, sides))


def _finding(differences: Floats, rule: StoppingRule, sides: int) -> Finding:
    if len(differences) == 0:
        return Finding()
    alpha = rule.alpha(sides)
    span = interval(differences, alpha)
    if span is None:
        verdict = Verdict.UNDECIDED
    elif span.within(rule.precision):
        verdict = Verdict.SAME
    # The ends of the interval are found on a grid: a ratio of 1 must be refuted as well.
    elif span.holds(1.0) or log_wealth(differences)[-1] < -np.log(alpha):
        verdict = Verdict.UNDECIDED
    else:
        verdict = direction(span.low, rule.higher_is_better)
    is_narrow = span is not None and span.high / span.low <= (1 + rule.precision) ** 2
    return Finding(
        verdict=verdict,
        ratio=float(np.exp(typical(differences))),
        interval=span,
        shown_interval=interval(differences, (1 - SHOWN_CONFIDENCE) / max(1, sides - 1)),
        blocks=len(differences),
        is_settled=verdict is not Verdict.UNDECIDED and (is_narrow or not rule.narrow),
        needed=blocks_needed(differences, rule.precision, alpha, narrow=rule.narrow),
    )


def direction(ratio: float, higher_is_better: bool) -> Verdict:
    """Return FASTER or SLOWER for a *ratio* of B's value to A's that is not 1."""
    return Verdict.FASTER if (ratio > 1) == higher_is_better else Verdict.SLOWER


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two or more sides, their blocks so far, and the rule that ends the comparison.

    Each of ``blocks`` has a value for every side, in the metric's unit, above zero. For a counted
    metric the newest block is used, and ``spreads`` has the repeatability of each side's count,
    in the metric's unit.
    """

    rule: StoppingRule
    sides: int
    blocks: tuple[tuple[float, ...], ...] = ()
    spreads: tuple[float, ...] = ()

    def with_block(self, values: Sequence[float]) -> Self:
        """Return the comparison with one more block."""
        return replace(self, blocks=(*self.blocks, tuple(values)))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The finding about every side but the first, against the first."""
        if self.rule.counted and self.blocks:
            spreads = self.spreads or (0.0,) * self.sides
            first, *others = map(CountedValue, self.blocks[-1], spreads)
            higher = self.rule.higher_is_better
            return tuple(judge_counts(first, one, higher_is_better=higher) for one in others)
        return judge(np.array(self.blocks, dtype=float).reshape(-1, self.sides), self.rule)

    @property
    def is_settled(self) -> bool:
        """Whether no further block is wanted."""
        return all(one.is_settled for one in self.findings)

    @property
    def blocks_left(self) -> int | None:
        """About how many more blocks are wanted; None if it is unknown."""
        each = [finding.blocks_left for finding in self.findings]
        return None if None in each else max(n for n in each if n is not None)

    def summaries(self) -> tuple[Summary | None, ...]:
        """Return the statistics of each side; None for each without a block."""
        if not self.blocks:
            return (None,) * self.sides
        return tuple(map(Summary.of, zip(*self.blocks, strict=True)))


def block_order(comparison: str, block: int, sides: int) -> list[tuple[int, int]]:
    """Return the random order of *sides* in *block*, each with the seed for pgbench.

    The order depends on nothing that was measured, and anybody can compute it again.
    """
    dice = random.Random(f"{comparison}/{block}")  # noqa: S311  an order, not a secret
    order = list(range(sides))
    dice.shuffle(order)
    # All sides of a block get the same seed, so that its effect cancels in the ratio.
    seed = dice.randint(1, 2**31 - 1)
    return [(side, seed) for side in order]


@dataclass(frozen=True)
class CountedValue:
    """A counted value and its repeatability, in the metric's unit.

    ``spread`` is the most by which a second count may differ.
    """

    value: float
    spread: float


def judge_counts(
    first: CountedValue, other: CountedValue, *, higher_is_better: bool = False
) -> Finding:
    """Return the finding from one count of each side: they differ by at least 0.2 % or not.

    UNDECIDED if the spreads of the counts reach across that limit. The ratio has no bounds, and
    the finding no interval, if a spread is as large as its count.
    """
    ratio = other.value / first.value
    if first.spread >= first.value or other.spread >= other.value:
        return Finding(ratio=ratio, blocks=1, is_settled=True)
    low = (other.value - other.spread) / (first.value + first.spread)
    high = (other.value + other.spread) / (first.value - first.spread)
    span = Interval(low=low, high=high)
    nearest = min(abs(low - 1), abs(high - 1))
    if not span.holds(1.0) and nearest >= COUNTED_DIFFERENCE:
        verdict = direction(ratio, higher_is_better)
    elif max(abs(low - 1), abs(high - 1)) < COUNTED_DIFFERENCE:
        verdict = Verdict.SAME
    else:
        verdict = Verdict.UNDECIDED
    return Finding(
        verdict=verdict,
        ratio=ratio,
        interval=span,
        shown_interval=span,
        blocks=1,
        is_settled=True,
    )


def whole_blocks(
    rows: Sequence[Mapping[str, Any]], column: str, sides: Sequence[int]
) -> tuple[tuple[float, ...], ...]:
    """Return the complete blocks in *rows* (scalars of records), oldest first.

    *sides* are the numbers that sides have in the records, in the order wanted. A block is left
    out as a whole if it was interrupted or one of its runs has no value in *column*, because
    runs that were not made side by side are no pair.
    """
    runs: dict[int, dict[int, float]] = {}
    for row in rows:
        if row[column]:
            runs.setdefault(row["block"], {})[row["side"]] = row[column]
    return tuple(
        tuple(runs[block][side] for side in sides)
        for block in sorted(runs)
        if runs[block].keys() >= set(sides)
    )
