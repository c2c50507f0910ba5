"""Counting for a bisection: instructions per transaction, one exact measurement a candidate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from base.build import Build
from benchmarks.asv_names import metric_named
from benchmarks.exact import count
from benchmarks.pgbench import Pgbench
from benchmarks.scenarios import Cell
from landspeed.bisect.search import Reading
from landspeed.workshop import Workshop

INSTRUCTIONS = metric_named("instructions")

_SLOPES = 2  # a count is two of them, and each can have a core of its own


def count_once(
    workshop: Workshop, pgbench: Pgbench, cell: Cell, build: Build, context: Mapping[str, Any]
) -> Reading:
    """Count what a transaction of *cell* costs *build*; its record is kept first."""
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
    notes = {"record": record["id"], "spread": sample["instructions_spread"]}
    return Reading(value=float(sample["instructions"]), notes=notes)
