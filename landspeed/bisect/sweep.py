"""``--over variants``: measure every block size between two, interleaved, and rank them.

Two neighbours are compared by Welch's test on the logarithms of their runs (Welch 1947). Several
pairs are tested at once, so the p-values are corrected by Holm's method (1979): the probability
that any pair is wrongly called different is at most what was asked for. A counted metric needs no
test: each variant is counted once, or read from the records, and neighbours differ by the rule for
counted values.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import exp
from statistics import median

import numpy as np

from base.build import BLOCK_SIZES, WAL_BLOCK_SIZES, Build, Variant
from base.errors import MeasureError, UsageError
from benchmarks.machine.lock import measuring
from benchmarks.workloads.metrics import Metric
from benchmarks.workloads.points import Point, count_samples
from landspeed.bisect.journal import Number
from landspeed.compare.plan import ComparePlan, CompareSide
from landspeed.compare.run import compare
from landspeed.compare.verdict import (
    COUNTED_DIFFERENCE,
    CountedValue,
    StoppingRule,
    Verdict,
    judge_counts,
)
from landspeed.console.format import change, counted, number
from landspeed.console.markdown import markdown_table
from landspeed.console.progress import meter, say
from landspeed.sampling.rounds import turns
from landspeed.sampling.sampler import Sampler
from landspeed.session.session import built
from landspeed.session.target import Target
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
    medians: Mapping[str, Number]
    runs: Mapping[str, int]
    neighbours: tuple[Neighbours, ...]
    spreads: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # what a job hands over may be forged
        told = [self.medians, self.runs, self.spreads or self.medians]
        if not self.order or any(sorted(self.order) != sorted(one) for one in told):
            raise ValueError("order, medians, runs and spreads are not of the same variants")

    @property
    def identity(self) -> str:
        """What identifies the sweep, however often it is carried out.

        With the mark of a heading, as comments of earlier versions were identified.
        """
        return f"# {self.title}"


def timed_sweep(
    values: Mapping[str, Sequence[float]], metric: Metric, *, title: str, confidence: float
) -> SweepReport:
    """Return the report of *values*: runs by variant in order of size, at least one each."""
    logs = {name: np.log(runs) for name, runs in values.items()}
    pairs = list(pairwise(values))
    tested = [pair for pair in pairs if all(len(values[name]) > 1 for name in pair)]
    each = {(a, b): p for a, b in tested if np.isfinite(p := welch(logs[a], logs[b]))}
    corrected = dict(zip(each, holm(list(each.values())), strict=True))
    neighbours = [
        Neighbours(
            first=first,
            second=second,
            ratio=exp(float(logs[second].mean() - logs[first].mean())),
            p=corrected.get((first, second)),
        )
        for first, second in pairs
    ]
    medians = {name: median(runs) for name, runs in values.items()}
    report = _report(medians, metric, neighbours, title=title, confidence=confidence)
    return replace(report, runs={name: len(runs) for name, runs in values.items()})


def counted_sweep(
    counts: Mapping[str, CountedValue], metric: Metric, *, title: str, confidence: float
) -> SweepReport:
    """Return the report of *counts*, one by variant in order of size."""
    neighbours = []
    for first, second in pairwise(counts):
        found = judge_counts(
            counts[first], counts[second], higher_is_better=metric.higher_is_better
        )
        ratio = counts[second].value / counts[first].value
        neighbours.append(
            Neighbours(first=first, second=second, ratio=ratio, verdict=found.verdict)
        )
    values = {name: count.value for name, count in counts.items()}
    report = _report(values, metric, neighbours, title=title, confidence=confidence)
    return replace(report, spreads={name: count.spread for name, count in counts.items()})


def _report(
    medians: Mapping[str, float],
    metric: Metric,
    neighbours: Sequence[Neighbours],
    *,
    title: str,
    confidence: float,
) -> SweepReport:
    order = sorted(medians, key=medians.__getitem__, reverse=metric.higher_is_better)
    return SweepReport(
        title=title,
        unit=metric.unit,
        confidence=confidence,
        order=tuple(order),
        medians=medians,
        runs=dict.fromkeys(medians, 1),
        neighbours=tuple(neighbours),
    )


def sweep_markdown(report: SweepReport) -> str:
    """Return *report* as Markdown."""
    is_counted, medians = bool(report.spreads), report.medians
    best = medians[report.order[0]]
    ranks, pairs = [], []
    for rank, name in enumerate(report.order, start=1):
        row = [str(report.runs[name]), number(medians[name])]
        if is_counted:
            row = [number(medians[name]), f"{report.spreads[name]:.1f}"]
        ranks.append([str(rank), name, *row, change(medians[name] / best)])
    for pair in report.neighbours:
        p = [] if is_counted else ["" if pair.p is None else f"{pair.p:.3g}"]
        pairs.append([pair.first, pair.second, change(pair.ratio), *p, _conclusion(pair, report)])
    columns = (report.unit, "±") if is_counted else ("runs", f"median {report.unit}")
    titles = ("from", "to", "change", *(() if is_counted else ("p",)), "")
    note = (
        "Each variant is counted once; ± is how well its count repeats. Neighbours differ if "
        f"their counts differ by at least {100 * COUNTED_DIFFERENCE:.1g} % beyond that."
        if is_counted
        else f"{counted(len(pairs), 'pair')} of neighbours: the p-values are corrected (Holm), so "
        "that the probability of calling any pair different that is not stays below "
        f"{1 - report.confidence:.2g}."
    )
    parts = (
        f"# {report.title}",
        markdown_table(("rank", "variant", *columns, "against best"), ranks, align="rlr"),
        markdown_table(titles, pairs, align="llrl" if is_counted else "llrrl"),
        note,
    )
    return "\n\n".join(parts)


def _conclusion(pair: Neighbours, report: SweepReport) -> str:
    if pair.verdict is not None:
        words = {Verdict.SAME: "the same", Verdict.UNDECIDED: "undecided"}
        return words.get(pair.verdict, "differs")
    if pair.p is None:
        return "too few runs"
    return "differs" if pair.p <= 1 - report.confidence else "not shown to differ"


# The number is fixed beforehand, so that the runs may be published as points, too.
_SAMPLES = 10
_PRESET = "sweep"


def targets_between(good: Target, bad: Target) -> tuple[Target, ...]:
    """Return one REF in every variant from *good*'s to *bad*'s, in order of size.

    UsageError unless they have the same REF and differ in one block size.
    """
    if good.ref != bad.ref:
        raise UsageError(
            "GOOD and BAD are different REFs",
            detail=f"GOOD is {good.ref}, BAD is {bad.ref}; variants are ranked for one REF.",
            hint="Write it like: landspeed bisect 18:bs1 18:bs32 --over variants.",
        )
    axes = [
        (name, sizes)
        for name, sizes in (("blocksize", BLOCK_SIZES), ("wal_blocksize", WAL_BLOCK_SIZES))
        if getattr(good.variant, name) != getattr(bad.variant, name)
    ]
    if len(axes) != 1:
        what = "the same variant" if not axes else "different values of both block sizes"
        raise UsageError(
            f"GOOD and BAD have {what}",
            hint="They must differ in one block size, such as 18:bs1 and 18:bs32.",
        )
    ((name, sizes),) = axes
    low, high = sorted(getattr(one.variant, name) for one in (good, bad))
    return tuple(
        Target(ref=good.ref, variant=Variant.of(good.variant.facts() | {name: size}))
        for size in sizes
        if low <= size <= high
    )


def sweep(
    sampler: Sampler, targets: Sequence[Target], budget: float, confidence: float
) -> SweepReport:
    """Measure what is missing of *targets*, in rounds of random order, and rank the variants.

    Each gets the same number of runs within *budget* seconds, or one count. MeasureError if a
    variant has no run when the budget is spent.
    """
    session, metric = sampler.session, sampler.metric
    builds = list(built(session, targets).values())
    title = f"{metric.name} of {targets[0].ref} by variant"
    if metric.exact:
        counts = _counted(sampler, builds, budget)
        return counted_sweep(counts, metric, title=title, confidence=confidence)
    try:
        with session.builder.store.in_use([sampler.pgbench.build, *builds]), measuring():
            _measure(sampler, builds, budget)
    finally:
        session.records.seal()
        sampler.give_back()
    table = sampler.comparable.of(session.records.table())
    values = {build.variant.name: sampler.values(build, table) for build in builds}
    missing = [name for name, runs in values.items() if not runs]
    if missing:
        raise MeasureError(
            "the budget was spent before every variant was measured",
            detail=f"No run of {', '.join(missing)}.",
            hint="Give the same command a larger --budget: it continues.",
        )
    return timed_sweep(values, metric, title=title, confidence=confidence)


def _counted(sampler: Sampler, builds: Sequence[Build], budget: float) -> dict[str, CountedValue]:
    plan = ComparePlan(
        sides=tuple(CompareSide.of(build, sampler.cell) for build in builds),
        pgbench=sampler.pgbench,
        metric=sampler.metric,
        rule=StoppingRule().of(sampler.metric),
        seconds=sampler.seconds,
        budget=budget,
        preset=_PRESET,
    )
    found = compare(sampler.session, plan).comparison
    counts = map(CountedValue, found.blocks[-1], found.spreads)
    return dict(zip((build.variant.name for build in builds), counts, strict=True))


def _measure(sampler: Sampler, builds: Sequence[Build], budget: float) -> None:
    points = [Point(build=build, cell=sampler.cell) for build in builds]
    have = count_samples(sampler.comparable.of(sampler.session.records.table()))
    seed = random.SystemRandom().getrandbits(32)
    due = list(turns(points, have, samples=_SAMPLES, seed=seed))
    say(
        f"measuring {counted(len(points), 'variant')}: "
        f"{counted(len(due), 'run')} of {sampler.seconds} s to make"
    )
    began = time.monotonic()
    with meter("measuring") as shown:
        for number, turn in enumerate(due):
            if time.monotonic() - began + sampler.seconds > budget:
                return
            shown.update(number / len(due), turn.point.label)
            context = {"preset": _PRESET, "round": turn.round}
            sampler.sample(turn.point.build, context=context, seed=turn.seed)
