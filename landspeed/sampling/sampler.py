"""Fresh samples on demand: what decides by measuring (a Comparison, a bisection) takes one here.

Every Run is kept as a raw record before its number is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from base.build import Build
from base.errors import MeasureError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.count import count
from benchmarks.measure import measure
from benchmarks.workloads.metrics import Metric
from benchmarks.workloads.scenario import Cell
from landspeed.session.session import Session

_SLOPES = 2  # a count is two of them, and each can have a core of its own


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """A Sampler makes Runs of one Cell, of *seconds* each, and reads one Metric off them."""

    session: Session
    pgbench: Pgbench
    cell: Cell
    metric: Metric
    seconds: int

    def sample(self, build: Build, *, context: Mapping[str, Any], seed: int) -> float:
        """The Metric's value (in its unit) of one Run on a freshly started *build*: see record."""
        return float(self.record(build, context=context, seed=seed)["sample"][self.metric.column])

    def record(self, build: Build, *, context: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """The raw record of one Run on a freshly started *build*, which has the Metric.

        An exact one is counted, with a seed that is always the same. The record, with *context*
        (preset, …) in its ``run``, is kept first. MeasureError if the server dies or the Run has
        no such number, ClusterError if it does not start.
        """
        how: dict[str, Any] = {
            "build": build,
            "pgbench": self.pgbench,
            "cell": self.cell,
            "machine": self.session.machine,
            "paths": self.session.paths,
            "context": dict(context),
        }
        if self.metric.exact:
            record = count(**how, at_once=min(_SLOPES, self.session.machine.cores))
        else:
            record = measure(**how, seconds=self.seconds, seed=seed)
        self.session.records.add(record)
        value = record["sample"][self.metric.column]
        if value is None or value <= 0:
            raise MeasureError(
                f"a run of {build.label} has no {self.metric.name}",
                detail=f"The record {record['id']} says {self.metric.column} = {value}.",
                hint=f'"landspeed show run:{record["id"]}" shows all that was seen.',
            )
        return record
