"""Take one sample for a comparison or a bisection; record it before its number is used."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from base.build import Build
from base.errors import BusyError, MeasureError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.count import count
from benchmarks.counted.valgrind import comparable_counts
from benchmarks.machine.lock import measuring
from benchmarks.measure import measure
from benchmarks.records.record import Record
from benchmarks.server.configuration import Configuration
from benchmarks.server.storage import give_back
from benchmarks.workloads.metrics import Metric
from benchmarks.workloads.points import Comparable, ComparableCounts, Point, rows_of
from benchmarks.workloads.scenario import Cell
from landspeed.session.session import Session

_AT_ONCE = 2  # a count takes two measurements, which can run on a core each


def comparable_runs(
    session: Session, pgbench: Pgbench, seconds: int, digests: Collection[str]
) -> Comparable:
    """Return what timed runs of *seconds* must share to be samples of the same point here."""
    return Comparable(
        machine=session.machine, pgbench_version=pgbench.version, seconds=seconds, digests=digests
    )


def give_back_storages(session: Session, profiles: Iterable[str]) -> None:
    """Give storage that runs under *profiles* took from the machine back to it.

    If another landspeed takes times now, its data may lie there: it gives the storage back.
    """
    storages = {one for name in profiles if (one := Configuration.named(name).storage)}
    if storages:
        # what is counted lies on the disk
        with suppress(BusyError), measuring(counting=True):
            give_back(storages, session.paths.server_root)


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """Measures one cell in runs of *seconds* each, and reads one metric from each record."""

    session: Session
    pgbench: Pgbench
    cell: Cell
    metric: Metric
    seconds: int

    @property
    def comparable(self) -> Comparable | ComparableCounts:
        """What recorded runs must share with new ones to count as samples of the same point."""
        digests = self.cell.scenario.digests
        if self.metric.exact:
            return comparable_counts(self.session.machine, self.pgbench.version, digests)
        return comparable_runs(self.session, self.pgbench, self.seconds, digests)

    def values(self, build: Build, table: pa.Table) -> list[float]:
        """Return the metric of each run of *build* in *table*, of those that have it."""
        rows = rows_of(table, Point(build=build, cell=self.cell).key)
        return [value for value in rows[self.metric.column].to_pylist() if value]

    def give_back(self) -> None:
        """Give storage that the runs took from the machine back to it."""
        give_back_storages(self.session, [self.cell.profile])

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
        how: dict[str, Any] = {"at_once": min(_AT_ONCE, self.session.machine.cores)}
        if not self.metric.exact:
            how = {"seconds": self.seconds, "seed": seed}
        record = (count if self.metric.exact else measure)(
            build=build,
            pgbench=self.pgbench,
            cell=self.cell,
            machine=self.session.machine,
            paths=self.session.paths,
            context=dict(context),
            **how,
        )
        self.session.records.add(record)
        value = record.sample.value(self.metric.column)
        if value is None or value <= 0:
            raise MeasureError(
                f"a run of {build.label} has no value of {self.metric.name}",
                detail=f"The record {record.id} says {self.metric.column} = {value}.",
                hint=f'"landspeed show run:{record.id}" shows the whole record.',
            )
        return record
