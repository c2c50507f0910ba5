"""A Comparison: what the blocks measured so far say of two or more sides, and whether to go on.

Pure. A block is one Run of every side, side by side in time and in an order drawn by lot; what
the machine does slowly falls on all of a block's Runs alike and cancels in their ratio. Verdicts
are read off one confidence sequence (landspeed/stats/confidence_sequence.py), so all of them
together are wrong with the probability that its interval ever misses the true ratio, however often
one looks.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Self

import numpy as np

from landspeed.stats.confidence_sequence import (
    Floats,
    Interval,
    blocks_needed,
    interval,
    log_wealth,
    typical,
)
from landspeed.stats.summary import Summary

READABLE = 0.95
"""The confidence of the second, narrower interval that is shown and decides nothing."""

EXACT_DIFFERENCE = 0.002
"""The smallest change of an exact metric that is a difference, as a share."""


class Verdict(StrEnum):
    """A Verdict is what a Comparison says of B against A: FASTER means that B is faster."""

    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"
    UNDECIDED = "UNDECIDED"


@dataclass(frozen=True, kw_only=True)
class StoppingRule:
    """A Goal is what a Comparison must reach: a precision, as a share, and a confidence.

    ``confidence`` holds for all verdicts of one Comparison together, at all looks.
    ``narrow`` asks for the precision also where a difference is proven. On an ``exact`` metric
    one block is all there is to know.
    """

    precision: float = 0.01
    confidence: float = 0.999
    higher_is_better: bool = False
    narrow: bool = False
    exact: bool = False

    def alpha(self, sides: int) -> float:
        """The error allowed for each ratio to the first of *sides* (Bonferroni)."""
        return (1 - self.confidence) / max(1, sides - 1)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A Finding is what is known of one side (B) against the first (A).

    ``ratio`` is B's number by A's, None before the first block; an interval is None while it
    has no end. ``needed`` are about the blocks that a verdict takes in all, None if unknown.
    """

    verdict: Verdict
    ratio: float | None
    interval: Interval | None
    readable: Interval | None
    blocks: int
    needed: int | None

    @property
    def further(self) -> int | None:
        """About how many blocks a verdict still takes; 0 if it is there, None if unknown."""
        if self.verdict is not Verdict.UNDECIDED:
            return 0
        return None if self.needed is None else max(1, self.needed - self.blocks)

    def __str__(self) -> str:
        if self.ratio is None:
            return "no ratio yet"
        return f"ratio {self.ratio:.4f} [{self.interval or 'no interval yet'}]"

    def facts(self) -> dict[str, Any]:
        """The Finding as JSON can hold it."""
        return {
            "verdict": self.verdict.value,
            "ratio": self.ratio,
            "interval": _ends(self.interval),
            "interval_95": _ends(self.readable),
            "blocks": self.blocks,
            "further_blocks": self.further,
        }


def judge(blocks: Floats, goal: StoppingRule) -> tuple[Finding, ...]:
    """What *blocks* (a row for each block, a column for each side) say of every side but the first.

    One Finding each, in the order of the sides; all numbers are above zero.
    """
    sides = blocks.shape[1]
    logs = np.log(blocks)
    alpha = goal.alpha(sides)
    return tuple(_finding(logs[:, n] - logs[:, 0], goal, alpha, sides) for n in range(1, sides))


def _finding(differences: Floats, goal: StoppingRule, alpha: float, sides: int) -> Finding:
    if len(differences) == 0:
        return Finding(
            verdict=Verdict.UNDECIDED,
            ratio=None,
            interval=None,
            readable=None,
            blocks=0,
            needed=None,
        )
    sure = interval(differences, alpha)
    return Finding(
        verdict=_verdict(differences, sure, goal, alpha),
        ratio=float(np.exp(typical(differences))),
        interval=sure,
        readable=interval(differences, (1 - READABLE) / max(1, sides - 1)),
        blocks=len(differences),
        needed=blocks_needed(differences, goal.precision, alpha),
    )


def _verdict(
    differences: Floats, sure: Interval | None, goal: StoppingRule, alpha: float
) -> Verdict:
    if sure is None:
        return Verdict.UNDECIDED
    if sure.within(goal.precision):
        return Verdict.SAME
    # the interval's ends are found on a grid: "no difference" itself must be refuted as well
    if sure.holds(1.0) or log_wealth(differences)[-1] < -np.log(alpha):
        return Verdict.UNDECIDED
    return direction(sure.low, goal.higher_is_better)


def direction(ratio: float, higher_is_better: bool) -> Verdict:
    """FASTER or SLOWER for a *ratio* of B's number to A's that is not 1."""
    return Verdict.FASTER if (ratio > 1) == higher_is_better else Verdict.SLOWER


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A Comparison is two or more sides, their blocks so far, and the Goal that ends it.

    Each of ``blocks`` has a number for every side, in the metric's unit, above zero. Of an
    exact metric the newest one counts, and ``spreads`` has each side's repeatability, in the
    metric's unit.
    """

    goal: StoppingRule
    sides: int
    blocks: tuple[tuple[float, ...], ...] = ()
    spreads: tuple[float, ...] = ()

    def with_block(self, values: Sequence[float]) -> Self:
        """The Comparison with one more block."""
        return replace(self, blocks=(*self.blocks, tuple(values)))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is known of every side but the first, against the first."""
        if self.goal.exact and self.blocks:
            spreads = self.spreads or (0.0,) * self.sides
            first, *others = map(ExactValue, self.blocks[-1], spreads)
            higher = self.goal.higher_is_better
            return tuple(judge_exact(first, one, higher_is_better=higher) for one in others)
        return judge(np.array(self.blocks, dtype=float).reshape(-1, self.sides), self.goal)

    @property
    def is_settled(self) -> bool:
        """Whether no further block is wanted: each ratio has its verdict, is narrow if asked."""
        if self.goal.exact:
            return bool(self.blocks)
        decided = all(finding.verdict is not Verdict.UNDECIDED for finding in self.findings)
        return decided and (
            not self.goal.narrow or all(_is_narrow(one, self.goal) for one in self.findings)
        )

    @property
    def further(self) -> int | None:
        """About how many blocks all verdicts still take; None if nobody can say yet."""
        each = [finding.further for finding in self.findings]
        return None if None in each else max(n for n in each if n is not None)

    def summaries(self) -> tuple[Summary | None, ...]:
        """Return the statistics of each side; nothing without a block."""
        return tuple(map(Summary.of, zip(*self.blocks, strict=True)))


def _is_narrow(finding: Finding, goal: StoppingRule) -> bool:
    if finding.interval is None:
        return False
    return finding.interval.high / finding.interval.low <= (1 + goal.precision) ** 2


def block_order(comparison: str, block: int, sides: int) -> list[tuple[int, int]]:
    """The lot for one *block*: its sides in the order they are run, each with pgbench's seed.

    It depends on nothing that was measured, and everybody can draw it again.
    """
    dice = random.Random(f"{comparison}/{block}")  # noqa: S311  an order, not a secret
    order = list(range(sides))
    dice.shuffle(order)
    # the same work for all sides of a block: what the seed makes of it cancels, too
    seed = dice.randint(1, 2**31 - 1)
    return [(side, seed) for side in order]


@dataclass(frozen=True)
class ExactValue:
    """An ExactValue is one measurement of a metric that repeats: its value and its repeatability.

    ``spread`` is by how much, in the metric's unit, another measurement may differ.
    """

    value: float
    spread: float


def judge_exact(first: ExactValue, other: ExactValue, *, higher_is_better: bool = False) -> Finding:
    """What one exact measurement a side says: they differ if by at least 0.2 %.

    The spreads must not reach over that limit: if they do, it is UNDECIDED.
    """
    low = (other.value - other.spread) / (first.value + first.spread)
    high = (other.value + other.spread) / (first.value - first.spread)
    spans = Interval(low=low, high=high)
    ratio = other.value / first.value
    nearest = min(abs(low - 1), abs(high - 1))
    if not spans.holds(1.0) and nearest >= EXACT_DIFFERENCE:
        verdict = direction(ratio, higher_is_better)
    elif max(abs(low - 1), abs(high - 1)) < EXACT_DIFFERENCE:
        verdict = Verdict.SAME
    else:
        verdict = Verdict.UNDECIDED
    return Finding(
        verdict=verdict, ratio=ratio, interval=spans, readable=spans, blocks=1, needed=None
    )


def whole_blocks(
    rows: Sequence[Mapping[str, Any]], column: str, sides: Sequence[int]
) -> tuple[tuple[float, ...], ...]:
    """The blocks that are whole in *rows* (scalars of records), oldest first.

    *sides* are the numbers that the records have for them, in the order that is asked for.

    A block that was interrupted, or a Run of it that has no such number, is left out as a
    whole: what is not side by side in time is no pair.
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


def _ends(interval_: Interval | None) -> list[float] | None:
    return None if interval_ is None else [interval_.low, interval_.high]
