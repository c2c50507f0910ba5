"""Block sizes are too few to be bisected: all are measured and ranked, neighbours held together.

Whether two neighbours differ is asked by Welch's test on logarithms of Runs (Welch 1947), and
because several pairs are asked at once its p values are raised by Holm's method (1979): the
probability that any pair is called different that is not is at most what was asked for. What is
counted needs no test: one count a variant, and neighbours differ by the rule for exact values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from math import exp
from statistics import median
from typing import Any

import numpy as np

from landspeed.compare.verdict import COUNTED_DIFFERENCE, CountedValue, Verdict, judge_counts
from landspeed.console.markdown import markdown_table
from landspeed.stats.multiple_testing import holm
from landspeed.stats.students_t import welch


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Neighbours are two variants of adjacent sizes: the ratio of the second to the first.

    ``p`` is Holm's, over all pairs asked; None where one has fewer than two Runs, and of what
    is counted: that has a ``verdict`` on the second instead.
    """

    first: str
    second: str
    ratio: float
    p: float | None
    verdict: Verdict | None = None


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """A Ranking is variants from best to worst by median, and what each step in size does.

    Of what is counted the median is the count, and ``spreads`` how far it may be off, in its unit.
    """

    order: tuple[str, ...]
    medians: Mapping[str, float]
    runs: Mapping[str, int]
    neighbours: tuple[Neighbours, ...]
    spreads: Mapping[str, float] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """The Ranking as JSON can hold it."""
        return asdict(self)


def ranking(values: Mapping[str, Sequence[float]], *, higher_is_better: bool) -> Ranking:
    """The Ranking of *values*, Runs by variant in order of size, at least one each."""
    medians = {name: median(runs) for name, runs in values.items()}
    pairs = list(pairwise(values))
    each = [_p(values[first], values[second]) for first, second in pairs]
    corrected = iter(holm([p for p in each if p is not None]))
    raised = [None if p is None else next(corrected) for p in each]
    return Ranking(
        order=_order(medians, higher_is_better=higher_is_better),
        medians=medians,
        runs={name: len(runs) for name, runs in values.items()},
        neighbours=tuple(
            Neighbours(
                first=first,
                second=second,
                ratio=exp(_level(values[second]) - _level(values[first])),
                p=p,
            )
            for (first, second), p in zip(pairs, raised, strict=True)
        ),
    )


def counted_ranking(counts: Mapping[str, CountedValue], *, higher_is_better: bool) -> Ranking:
    """The Ranking of *counts*, one by variant in order of size."""
    medians = {name: count.value for name, count in counts.items()}
    return Ranking(
        order=_order(medians, higher_is_better=higher_is_better),
        medians=medians,
        runs=dict.fromkeys(counts, 1),
        neighbours=tuple(
            _counted_neighbours(first, second, counts, higher_is_better=higher_is_better)
            for first, second in pairwise(counts)
        ),
        spreads={name: count.spread for name, count in counts.items()},
    )


def _counted_neighbours(
    first: str, second: str, counts: Mapping[str, CountedValue], *, higher_is_better: bool
) -> Neighbours:
    found = judge_counts(counts[first], counts[second], higher_is_better=higher_is_better)
    ratio = counts[second].value / counts[first].value
    return Neighbours(first=first, second=second, ratio=ratio, p=None, verdict=found.verdict)


def _order(medians: Mapping[str, float], *, higher_is_better: bool) -> tuple[str, ...]:
    return tuple(sorted(medians, key=medians.__getitem__, reverse=higher_is_better))


def _level(runs: Sequence[float]) -> float:
    return float(np.log(runs).mean())


def _p(first: Sequence[float], second: Sequence[float]) -> float | None:
    if min(len(first), len(second)) < 2:
        return None
    p = welch(list(np.log(first)), list(np.log(second)))
    return p if np.isfinite(p) else None


def ranking_markdown(found: Ranking, title: str, unit: str, confidence: float) -> str:
    """The Ranking as Markdown."""
    if found.spreads:
        return "\n".join([f"# {title}", "", *_counted_tables(found, unit)])
    best = found.medians[found.order[0]]
    ranks = (
        (
            str(rank),
            name,
            str(found.runs[name]),
            f"{found.medians[name]:.4g}",
            f"{found.medians[name] / best - 1:+.2%}",
        )
        for rank, name in enumerate(found.order, start=1)
    )
    titles = ("rank", "variant", "runs", f"median {unit}", "against best")
    pairs = (
        (
            pair.first,
            pair.second,
            f"{pair.ratio - 1:+.2%}",
            "" if pair.p is None else f"{pair.p:.3g}",
            _word(pair.p, 1 - confidence),
        )
        for pair in found.neighbours
    )
    lines = [
        f"# {title}",
        "",
        markdown_table(titles, ranks, align="rlr"),
        "",
        markdown_table(("from", "to", "change", "p (Holm)", ""), pairs, align="llrrl"),
    ]
    asked = len(found.neighbours)
    lines += [
        "",
        f"{asked} pair{'s' * (asked != 1)} of neighbours: "
        "the p values are raised so that the chance of calling any pair different that "
        f"is not stays below {1 - confidence:.2g} in all.",
    ]
    return "\n".join(lines)


def _counted_tables(found: Ranking, unit: str) -> Iterator[str]:
    best = found.medians[found.order[0]]
    ranks = (
        (
            str(rank),
            name,
            f"{found.medians[name]:,.1f}",
            f"{found.spreads[name]:.1f}",
            f"{found.medians[name] / best - 1:+.2%}",
        )
        for rank, name in enumerate(found.order, start=1)
    )
    yield markdown_table(("rank", "variant", unit, "±", "against best"), ranks, align="rlr")
    yield ""
    pairs = (
        (pair.first, pair.second, f"{pair.ratio - 1:+.2%}", _counted_word(pair))
        for pair in found.neighbours
    )
    yield markdown_table(("from", "to", "change", ""), pairs, align="llrl")
    yield ""
    yield (
        "Counted once each; ± is how far the two slopes of a count were apart. Neighbours differ "
        f"if by {COUNTED_DIFFERENCE * 100:.1g} % or more even so."
    )


def _counted_word(pair: Neighbours) -> str:
    match pair.verdict:
        case Verdict.SAME:
            return "the same"
        case Verdict.FASTER | Verdict.SLOWER:
            return "differs"
        case _:
            return "undecided"


def _word(p: float | None, allowed: float) -> str:
    if p is None:
        return "too few runs"
    return "differs" if p <= allowed else "not shown to differ"
