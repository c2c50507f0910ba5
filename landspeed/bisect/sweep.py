"""``--over variants``: measure every block size between two, interleaved, and rank them.

A counted metric is counted once for each, or read from the records.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from base.build import BLOCK_SIZES, WAL_BLOCK_SIZES, Build, Variant
from base.errors import MeasureError, UsageError, raise_if
from benchmarks.machine.lock import measuring
from benchmarks.workloads.points import Point, count_samples
from landspeed.bisect.sweep_report import SweepReport, counted_sweep, timed_sweep
from landspeed.compare.plan import ComparePlan, CompareSide
from landspeed.compare.run import compare
from landspeed.compare.verdict import CountedValue, StoppingRule
from landspeed.console.format import counted
from landspeed.console.progress import meter, say
from landspeed.sampling.rounds import turns
from landspeed.sampling.sampler import Sampler
from landspeed.session.session import build_failure
from landspeed.session.target import Target

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
    outcomes = list(session.build_all(targets, jobs=None).values())
    raise_if(build_failure(outcomes))
    builds = [one for one in outcomes if isinstance(one, Build)]
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
