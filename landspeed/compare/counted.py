"""Comparing counts: of an exact metric one record a side is all that there is to know.

Whichever count is recorded is as good as a fresh one; what is missing is counted now.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from base.errors import LandspeedError, MeasureError, UsageError
from benchmarks.counted.valgrind import comparable_counts
from benchmarks.machine.lock import measuring
from benchmarks.workloads.points import Point, rows_of
from landspeed.compare.timed import ComparePlan, CompareState
from landspeed.compare.verdict import Comparison
from landspeed.console.progress import duration, say
from landspeed.sampling.counted import count_all, uncounted
from landspeed.sampling.rounds import counting_seconds
from landspeed.session.session import Session

# What a Pass counted of which a metric's column is the slope.
_PARTS = {
    "instructions": ("instructions",),
    "wal_bytes_tx": ("wal_bytes",),
    "blocks_tx": ("blocks_hit", "blocks_read"),
}


def compare_counts(session: Session, contest: ComparePlan, *, fresh: bool = False) -> CompareState:
    """The comparison of what a transaction costs on each side; with *fresh* all are counted anew.

    UsageError if something must be counted that the budget has no room for.
    """
    points = [Point(build=one.build, cell=one.cell) for one in contest.contenders]
    missing = points if fresh else uncounted(points, session, contest.pgbench)
    expected = counting_seconds(len(missing), session.machine.cores)
    if contest.budget < expected:
        raise UsageError(
            f"a budget of {duration(contest.budget)} has no room to count {len(missing)} sides",
            detail=f"That takes about {duration(expected)}.",
            hint="Give it more time, such as --budget 5min.",
        )
    if missing:
        _count(session, contest, missing)
    table = _comparable(session, contest)
    ids = [rows_of(table, point.key)["id"].to_pylist()[-1] for point in points]
    by_id = {one["id"]: one for one in session.records.records(ids)}
    counts = [by_id[one] for one in ids]
    column = contest.metric.column
    for point, one in zip(points, counts, strict=True):
        if not one["sample"][column]:
            raise MeasureError(
                f"a transaction of {point.label} has no {contest.metric.name} to compare",
                detail=f"The record {one['id']} says {column} = {one['sample'][column]}.",
            )
    return CompareState(
        identifier=f"{contest.question}-counts",
        comparison=Comparison(
            goal=contest.goal,
            sides=len(points),
            blocks=(tuple(float(one["sample"][column]) for one in counts),),
            spreads=tuple(_spread(one, column) for one in counts),
        ),
        spent=float(sum(sum(one["run"].get("phases", {}).values()) for one in counts)),
        before=int(not missing),
    )


def _spread(record: Mapping[str, Any], column: str) -> float:
    """How far apart the slopes are that the number is the mean of, in its unit."""
    passes = record["passes"]
    slopes = [
        sum(long[part] - short[part] for part in _PARTS[column])
        / (long["transactions"] - short["transactions"])
        for short, long in zip(passes[::2], passes[1::2], strict=True)
    ]
    return float(max(slopes) - min(slopes)) if slopes else 0.0


def _count(session: Session, contest: ComparePlan, missing: list[Point]) -> None:
    builds = [contest.pgbench.build, *(point.build for point in missing)]
    errors: list[LandspeedError] = []

    def keep(record: Mapping[str, Any]) -> None:
        session.records.add(record)

    say(f"counting {', '.join(point.build.label for point in missing)}")
    try:
        with session.builder.store.in_use(builds), measuring(counting=True):
            count_all(
                missing,
                session,
                contest.pgbench,
                preset=contest.preset,
                done=keep,
                failed=errors.append,
            )
    finally:
        session.records.seal()
    if errors:
        raise errors[0]


def _comparable(session: Session, contest: ComparePlan) -> pa.Table:
    comparable = comparable_counts(session.machine, contest.pgbench.version)
    return comparable.of(session.records.table())
