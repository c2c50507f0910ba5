"""Take one sample for a comparison or a bisection; record it before its number is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from base.build import Build
from base.errors import MeasureError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.count import count
from benchmarks.measure import measure
from benchmarks.records.record import Record
from benchmarks.workloads.metrics import Metric
from benchmarks.workloads.scenario import Cell
from landspeed.session.session import Session

_AT_ONCE = 2  # a count takes two measurements, which can run on a core each


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Measures one cell in runs of *seconds* each, and reads one metric from each record."""

    session: Session
    pgbench: Pgbench
    cell: Cell
    metric: Metric
    seconds: int

    def sample(self, build: Build, *, context: Mapping[str, Any], seed: int) -> float:
        """Return the metric of one run of *build*, in its unit; see ``record``."""
        record = self.record(build, context=context, seed=seed)
        return record.sample.value(self.metric.column) or 0.0

    def record(self, build: Build, *, context: Mapping[str, Any], seed: int) -> Record:
        """Measure a freshly started *build* once and return the raw record, which has the metric.

        The record is stored, with *context* (preset, …) in its ``run``. An exact metric is
        counted, always with the same seed. ClusterError if the server does not start,
        MeasureError if it dies or the run has no value of the metric.
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
            record = count(**how, at_once=min(_AT_ONCE, self.session.machine.cores))
        else:
            record = measure(**how, seconds=self.seconds, seed=seed)
        self.session.records.add(record)
        value = record.sample.value(self.metric.column)
        if value is None or value <= 0:
            raise MeasureError(
                f"a run of {build.label} has no value of {self.metric.name}",
                detail=f"The record {record.id} says {self.metric.column} = {value}.",
                hint=f'"landspeed show run:{record.id}" shows the whole record.',
            )
        return record
