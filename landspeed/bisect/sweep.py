"""``--over variants``: measure every block size between two, interleaved, and rank them.

A counted metric is counted once for each, or read from the records.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypedDict

from base.build import BLOCK_SIZES, WAL_BLOCK_SIZES, Build, Variant
from base.errors import MeasureError, UsageError, raise_if
from benchmarks.clients.pgbench import Pgbench
from benchmarks.machine.lock import measuring
from benchmarks.workloads.metrics import Metric
from benchmarks.workloads.points import Comparable, Point, count_samples, rows_of
from benchmarks.workloads.scenario import Cell
from landspeed.bisect.sweep_report import SweepReport, counted_sweep, timed_sweep
from landspeed.compare.plan import ComparePlan, CompareSide
from landspeed.compare.run import compare
from landspeed.compare.verdict import CountedValue
from landspeed.console.format import counted
from landspeed.console.progress import meter, say
from landspeed.sampling.rounds import turns
from landspeed.sampling.sampler import Sampler
from landspeed.session.session import Session, build_failure
from landspeed.session.target import Target

# The number is fixed beforehand, so that the runs may be published as points, too.
_SAMPLES = 10
_PRESET = "sweep"
_clock = time.monotonic


class _Described(TypedDict):
    title: str
    unit: str
    confidence: float
    higher_is_better: bool


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The variants to be ranked in one cell: each gets the same number of runs, interleaved.

    ``seconds`` is the length of one run, ``budget`` the time in seconds of all, ``confidence`` a
    share. A counted metric is counted once for each variant.
    """

    session: Session
    targets: tuple[Target, ...]
    cell: Cell
    metric: Metric
    pgbench: Pgbench
    seconds: int
    budget: float
    confidence: float


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


def sweep(asked: Sweep) -> SweepReport:
    """Measure what is missing of *asked*, in rounds of random order, and rank the variants.

    MeasureError if a variant has no run when the budget is spent.
    """
    outcomes = asked.session.build_all(asked.targets, jobs=None)
    raise_if(build_failure(list(outcomes.values())))
    builds = [one for one in outcomes.values() if isinstance(one, Build)]
    if asked.metric.exact:
        return _counted(asked, builds)
    try:
        with ExitStack() as held:
            in_use = asked.session.builder.store.in_use([asked.pgbench.build, *builds])
            held.enter_context(in_use)
            held.enter_context(measuring())
            _measure(asked, [Point(build=build, cell=asked.cell) for build in builds])
    finally:
        asked.session.records.seal()
    values = {build.variant.name: _recorded(asked, build) for build in builds}
    missing = [name for name, runs in values.items() if not runs]
    if missing:
        raise MeasureError(
            "the budget was spent before every variant was measured",
            detail=f"No run of {', '.join(missing)}.",
            hint="Give the same command a larger --budget: it continues.",
        )
    return timed_sweep(values, **_described(asked))


def _described(asked: Sweep) -> _Described:
    return {
        "title": f"{asked.metric.name} of {asked.targets[0].ref} by variant",
        "unit": asked.metric.unit,
        "confidence": asked.confidence,
        "higher_is_better": asked.metric.higher_is_better,
    }


def _counted(asked: Sweep, builds: Sequence[Build]) -> SweepReport:
    plan = ComparePlan.of(
        [CompareSide.of(build, asked.cell) for build in builds],
        pgbench=asked.pgbench,
        metric=asked.metric,
        seconds=asked.seconds,
        budget=asked.budget,
        preset=_PRESET,
    )
    found = compare(asked.session, plan).comparison
    counts = map(CountedValue, found.blocks[-1], found.spreads)
    names = [build.variant.name for build in builds]
    return counted_sweep(dict(zip(names, counts, strict=True)), **_described(asked))


def _measure(asked: Sweep, points: list[Point]) -> None:
    have = Counter(count_samples(_comparable(asked).of(asked.session.records.table())))
    seed = random.SystemRandom().getrandbits(32)
    due = list(turns(points, have, samples=_SAMPLES, seed=seed))
    say(
        f"measuring {counted(len(points), 'variant')}: "
        f"{counted(len(due), 'run')} of {asked.seconds} s to make"
    )
    sampler = Sampler(
        session=asked.session,
        pgbench=asked.pgbench,
        cell=asked.cell,
        metric=asked.metric,
        seconds=asked.seconds,
    )
    began = _clock()
    with meter("measuring") as shown:
        for number, turn in enumerate(due):
            if _clock() - began + asked.seconds > asked.budget:
                return
            shown.update(number / len(due), turn.point.label)
            context = {"preset": _PRESET, "round": turn.round}
            sampler.sample(turn.point.build, context=context, seed=turn.seed)


def _comparable(asked: Sweep) -> Comparable:
    return Comparable(
        machine=asked.session.machine,
        pgbench_version=str(asked.pgbench.build.version),
        seconds=asked.seconds,
    )


def _recorded(asked: Sweep, build: Build) -> list[float]:
    table = _comparable(asked).of(asked.session.records.table())
    rows = rows_of(table, Point(build=build, cell=asked.cell).key)
    return [value for value in rows[asked.metric.column].to_pylist() if value]
