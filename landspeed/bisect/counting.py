"""Counting for a bisection: what a transaction costs, one exact measurement a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from base.build import Build
from base.errors import MeasureError
from benchmarks.asv_names import Metric
from benchmarks.exact import count
from benchmarks.pgbench import Pgbench
from benchmarks.scenarios import Cell
from landspeed.bisect.search import Reading
from landspeed.workshop import Workshop

_SLOPES = 2  # a count is two of them, and each can have a core of its own


def count_once(
    *,
    workshop: Workshop,
    pgbench: Pgbench,
    cell: Cell,
    metric: Metric,
    build: Build,
    context: Mapping[str, Any],
) -> Reading:
    """Count what a transaction of *cell* costs *build*; its record is kept first.

    MeasureError if the server dies, does not repeat, or has nothing of that metric.
    """
    record = count(
        build=build,
        pgbench=pgbench,
        cell=cell,
        machine=workshop.machine,
        paths=workshop.paths,
        context=dict(context),
        at_once=min(_SLOPES, workshop.machine.cores),
    )
    workshop.records.add(record)
    sample = record["sample"]
    value = sample[metric.column]
    if not value:
        raise MeasureError(
            f"{build.label} has no {metric.name}",
            detail=f"The record {record['id']} says {metric.column} = {value}.",
            hint="Choose another metric, or a mode that writes.",
        )
    notes = {"record": record["id"], "spread": sample.get(f"{metric.column}_spread", 0.0)}
    return Reading(value=float(value), notes=notes)
