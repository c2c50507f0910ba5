"""The ranking of block sizes, which are too few to be bisected, and whether neighbours differ.

Two neighbours are compared by Welch's test on the logarithms of their runs (Welch 1947). Several
pairs are tested at once, so the p-values are corrected by Holm's method (1979): the probability
that any pair is wrongly called different is at most what was asked for. A counted metric needs no
test: there is one count per variant, and neighbours differ by the rule for counted values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import exp
from statistics import median
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from landspeed.compare.verdict import COUNTED_DIFFERENCE, CountedValue, Verdict, judge_counts
from landspeed.console.format import change, counted, number
from landspeed.console.markdown import markdown_table
from landspeed.stats.multiple_testing import holm
from landspeed.stats.students_t import welch


@dataclass(frozen=True, kw_only=True)
class Neighbours:
    """Two variants of adjacent sizes, with the ratio of the second to the first.

    ``p`` is the corrected p-value, None if one has fewer than two runs. Counted variants have a
    ``verdict`` about the second instead.
    """

    first: str
    second: str
    ratio: float
    p: float | None = None
    verdict: Verdict | None = None


@dataclass(frozen=True, kw_only=True)
class SweepReport:
    """Variants from best to worst by median, and the pairs of neighbours in order of size.

    ``medians`` are in ``unit``. Of a counted metric they are the counts, and ``spreads`` is how
    well each repeats, in ``unit``. ``confidence`` is a share.
    """

    title: str
    unit: str
    confidence: float
    order: tuple[str, ...]
    medians: Mapping[str, float]
    runs: Mapping[str, int]
    neighbours: tuple[Neighbours, ...]
    spreads: Mapping[str, float] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """What identifies the sweep, however often it is carried out.

        With the mark of a heading, as comments of earlier versions were identified.
        """
        return f"# {self.title}"

    def facts(self) -> dict[str, Any]:
        """Return the report as JSON can hold it."""
        return dict(SWEEP_ADAPTER.dump_python(self, mode="json"))


SWEEP_ADAPTER = TypeAdapter(SweepReport)


def timed_sweep(
    values: Mapping[str, Sequence[float]],
    *,
    title: str,
    unit: str,
    confidence: float,
    higher_is_better: bool,
) -> SweepReport:
    """Return the report of *values*: runs by variant in order of size, at least one each."""
    medians = {name: median(runs) for name, runs in values.items()}
    logs = {name: np.log(runs) for name, runs in values.items()}
    pairs = list(pairwise(values))
    tested = [pair for pair in pairs if all(len(values[name]) > 1 for name in pair)]
    each = {pair: welch(*(list(logs[name]) for name in pair)) for pair in tested}
    each = {pair: p for pair, p in each.items() if np.isfinite(p)}
    corrected = dict(zip(each, holm(list(each.values())), strict=True))
    return SweepReport(
        title=title,
        unit=unit,
        confidence=confidence,
        order=_order(medians, higher_is_better=higher_is_better),
        medians=medians,
        runs={name: len(runs) for name, runs in values.items()},
        neighbours=tuple(
            Neighbours(
                first=first,
                second=second,
                ratio=exp(float(logs[second].mean() - logs[first].mean())),
                p=corrected.get((first, second)),
            )
            for first, second in pairs
        ),
    )


def counted_sweep(
    counts: Mapping[str, CountedValue],
    *,
    title: str,
    unit: str,
    confidence: float,
    higher_is_better: bool,
) -> SweepReport:
    """Return the report of *counts*, one by variant in order of size."""
    medians = {name: count.value for name, count in counts.items()}
    neighbours = []
    for first, second in pairwise(counts):
        found = judge_counts(counts[first], counts[second], higher_is_better=higher_is_better)
        ratio = medians[second] / medians[first]
        neighbours.append(
            Neighbours(first=first, second=second, ratio=ratio, verdict=found.verdict)
        )
    return SweepReport(
        title=title,
        unit=unit,
        confidence=confidence,
        order=_order(medians, higher_is_better=higher_is_better),
        medians=medians,
        runs=dict.fromkeys(counts, 1),
        neighbours=tuple(neighbours),
        spreads={name: count.spread for name, count in counts.items()},
    )


def _order(medians: Mapping[str, float], *, higher_is_better: bool) -> tuple[str, ...]:
    return tuple(sorted(medians, key=medians.__getitem__, reverse=higher_is_better))


def sweep_markdown(report: SweepReport) -> str:
    """Return *report* as Markdown."""
    counts, medians, unit = bool(report.spreads), report.medians, report.unit
    best = medians[report.order[0]]
    ranks = [
        (
            str(rank),
            name,
            *(
                (number(medians[name]), f"{report.spreads[name]:.1f}")
                if counts
                else (str(report.runs[name]), number(medians[name]))
            ),
            change(medians[name] / best),
        )
        for rank, name in enumerate(report.order, start=1)
    ]
    columns = (unit, "±") if counts else ("runs", f"median {unit}")
    pairs = [
        (
            pair.first,
            pair.second,
            change(pair.ratio),
            *(() if counts else ("" if pair.p is None else f"{pair.p:.3g}",)),
            _conclusion(pair, report),
        )
        for pair in report.neighbours
    ]
    asked = counted(len(report.neighbours), "pair")
    note = (
        "Each variant is counted once; ± is how well its count repeats. Neighbours differ if "
        f"their counts differ by at least {100 * COUNTED_DIFFERENCE:.1g} % beyond that."
        if counts
        else f"{asked} of neighbours: the p-values are corrected (Holm), so that the probability "
        f"of calling any pair different that is not stays below {1 - report.confidence:.2g}."
    )
    titles = ("from", "to", "change", *(() if counts else ("p",)), "")
    return "\n".join(
        (
            f"# {report.title}",
            "",
            markdown_table(("rank", "variant", *columns, "against best"), ranks, align="rlr"),
            "",
            markdown_table(titles, pairs, align="llrl" if counts else "llrrl"),
            "",
            note,
        )
    )


def _conclusion(pair: Neighbours, report: SweepReport) -> str:
    match pair:
        case Neighbours(verdict=Verdict.SAME):
            return "the same"
        case Neighbours(verdict=Verdict.FASTER | Verdict.SLOWER):
            return "differs"
        case Neighbours(verdict=Verdict.UNDECIDED):
            return "undecided"
        case Neighbours(p=float(p)):
            return "differs" if p <= 1 - report.confidence else "not shown to differ"
        case _:
            return "too few runs"
