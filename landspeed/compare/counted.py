"""Compare by counts: one record of each side is enough.

A recorded count is as good as a fresh one; what is missing is counted now.
"""

from __future__ import annotations

from base.errors import LandspeedError, MeasureError, UsageError
from benchmarks.machine.lock import measuring
from benchmarks.records.record import Record
from benchmarks.workloads.metrics import Metric
from benchmarks.workloads.points import Point
from landspeed.compare.plan import ComparePlan, CompareState
from landspeed.compare.verdict import Comparison
from landspeed.console.format import counted
from landspeed.console.progress import duration, say
from landspeed.sampling.counted import count_all, count_key, recorded_counts, uncounted
from landspeed.sampling.rounds import counting_seconds
from landspeed.session.session import Session


def compare_counted(session: Session, plan: ComparePlan, *, fresh: bool = False) -> CompareState:
    """Compare what a transaction costs on each side; with *fresh* count all sides again.

    UsageError if the budget has no room for what must be counted.
    """
    points = [Point(build=side.build, cell=side.cell) for side in plan.sides]
    missing = points if fresh else uncounted(points, session, plan.pgbench)
    expected = counting_seconds(len(missing), session.machine.cores)
    if plan.budget < expected:
        raise UsageError(
            f"a budget of {duration(plan.budget)} is too small to count "
            f"{counted(len(missing), 'side')}",
            detail=f"Counting takes about {duration(expected)}.",
            hint="Give it more time, such as --budget 5min.",
        )
    if missing:
        _count(session, plan, missing)
    known = recorded_counts(session, plan.pgbench.version)
    found = (known[count_key(session, point.build, point.cell)] for point in points)
    counts = [session.records.get(one.record) for one in found]
    column = plan.metric.column
    for point, one in zip(points, counts, strict=True):
        if not one.sample.value(column):
            raise MeasureError(
                f"{point.label} has no {plan.metric.name} to compare",
                detail=f"Record {one.id} says {column} = {one.sample.value(column)}.",
            )
    return CompareState(
        identifier=f"{plan.key}-counts",
        comparison=Comparison(
            rule=plan.rule,
            sides=len(points),
            blocks=(tuple(one.sample.value(column) or 0.0 for one in counts),),
            spreads=tuple(_spread(one, plan.metric) for one in counts),
        ),
        spent=sum(one.run.spent for one in counts),
        recorded=int(not missing),
    )


def _spread(record: Record, metric: Metric) -> float:
    """Return how far apart the slopes are whose mean is the count, in its unit."""
    passes = record.passes or ()
    slopes = [
        sum(getattr(long, counter) - getattr(short, counter) for counter in metric.counters)
        / (long.transactions - short.transactions)
        for short, long in zip(passes[::2], passes[1::2], strict=True)
    ]
    return float(max(slopes) - min(slopes)) if slopes else 0.0


def _count(session: Session, plan: ComparePlan, missing: list[Point]) -> None:
    builds = [plan.pgbench.build, *(point.build for point in missing)]
    errors: list[LandspeedError] = []

    say(f"counting {', '.join(point.build.label for point in missing)}")
    try:
        with session.builder.store.in_use(builds), measuring(counting=True):
            done, failed = session.records.add, errors.append
            count_all(missing, session, plan.pgbench, plan.preset, done=done, failed=failed)
    finally:
        session.records.seal()
    if errors:
        raise errors[0]
