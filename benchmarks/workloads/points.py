"""A point, one build in one cell, and which of its samples are recorded already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from base.build import Build
from benchmarks.machine.machine import Machine
from benchmarks.workloads.scenario import Cell

ADAPTIVE = ("compare", "confirm", "ledger", "bisect")
"""Presets whose Runs are as many as their own outcome asked for: no dot is made of them."""


RECOUNT = "recount"
"""Preset of counts with other settings that explain a change; no dot is made of them either."""


def scheduled(table: pa.Table) -> pa.Table:
    """The rows of *table* (RecordStore.table()) whose number was settled before they were made.

    What stops when a difference shows has samples that lean towards that difference. A count
    does not: it is the same however often it is made.
    """
    # looking at each row takes a while, and filtering copies all columns
    known = {name for chunk in table["preset"].chunks for name in chunk.dictionary.to_pylist()}
    if known.isdisjoint((*ADAPTIVE, RECOUNT)):
        return table
    preset = table["preset"].cast(pa.string())
    adaptive = pc.is_in(preset, value_set=pa.array(ADAPTIVE))
    settled = pc.or_(pc.invert(adaptive), table["instructions"].is_valid())
    explaining = pc.is_in(preset, value_set=pa.array([RECOUNT]))
    settled = pc.and_(settled, pc.invert(explaining))
    return table if pc.all(settled).as_py() in {True, None} else table.filter(settled)


@dataclass(frozen=True, kw_only=True)
class PointKey:
    """What identifies a point: the server's installed files and the cell."""

    digest: str
    mode: str
    protocol: str
    tier: str
    scale: int
    clients: int
    profile: str
    buffers: str | None = None


@dataclass(frozen=True, kw_only=True)
class Point:
    """One build in one cell: a dot of a trend."""

    build: Build
    cell: Cell

    @property
    def key(self) -> PointKey:
        """What its samples are found by."""
        scenario = self.cell.scenario
        return PointKey(
            digest=self.build.digest,
            mode=scenario.mode.value,
            protocol=scenario.protocol.value,
            tier=scenario.tier.value,
            scale=scenario.scale,
            clients=self.cell.clients,
            profile=self.cell.profile,
            buffers=self.cell.buffers,
        )

    @property
    def label(self) -> str:
        """How progress and errors call it: ``18.6 bs4 read-only small -c 4``."""
        scenario, buffers = self.cell.scenario, self.cell.buffers
        how = f"counted {buffers}" if buffers else f"{scenario.tier} -c {self.cell.clients}"
        return f"{self.build.label} {scenario.mode} {how}"


@dataclass(frozen=True, kw_only=True)
class Comparable:
    """What timed samples must share to count as samples of the same point.

    The machine and its epoch, the pgbench, and at least as many seconds a Run. ``digests`` are
    those of their scenarios.
    """

    machine: Machine
    pgbench_version: str
    seconds: int
    digests: Collection[str] = ("",)

    def of(self, table: pa.Table) -> pa.Table:
        """The rows of *table* (RecordStore.table()) that count."""
        return self.all_of(scheduled(table))

    def all_of(self, table: pa.Table) -> pa.Table:
        """The same, and those too whose number their outcome asked for.

        They are for whoever weighs each Run's likelihood, to which it is all the same when the
        Runs ended; a median of them leans.
        """
        epochs = [replace(self.machine.epoch, workload=one).identifier for one in self.digests]
        return table.filter(
            (pc.field("machine") == self.machine.name)
            & pc.field("epoch").isin(epochs)
            & (pc.field("pgbench_version") == self.pgbench_version)
            & (pc.field("seconds") >= self.seconds)
        )


@dataclass(frozen=True, kw_only=True)
class ComparableCounts:
    """What counted samples must share to count as samples of the same point.

    The machine's name, because a trend belongs to one machine; the CountEnvironment, of which
    ``epochs`` are the identifiers; and the version of pgbench. Not the processor, the kernel or
    the duration.
    """

    machine: Machine
    pgbench_version: str
    epochs: Collection[str]

    def of(self, table: pa.Table) -> pa.Table:
        """The rows of *table* (RecordStore.table()) that count."""
        return table.filter(
            (pc.field("machine") == self.machine.name)
            & pc.field("epoch").isin(list(self.epochs))
            & (pc.field("pgbench_version") == self.pgbench_version)
            & pc.field("instructions").is_valid()
        )


def digests_of(points: Iterable[Point]) -> frozenset[str]:
    """Return the digests that the scenarios of *points* have on any version."""
    return frozenset({""}.union(*(point.cell.scenario.digests for point in points)))


def count_samples(table: pa.Table) -> Counter[PointKey]:
    """How many rows of *table* each Point has."""
    names = list(PointKey.__dataclass_fields__)
    counted = table.group_by(names).aggregate([("id", "count")])
    return Counter(
        {
            PointKey(**{name: row[name] for name in names}): row["id_count"]
            for row in counted.to_pylist()
        }
    )


def rows_of(table: pa.Table, key: PointKey) -> pa.Table:
    """The rows of *table* that are samples of the Point with *key*, oldest first."""
    same = pc.scalar(True)
    for name, value in asdict(key).items():
        field = pc.field(name)
        same = same & (field.is_null() if value is None else field == value)
    return table.filter(same).sort_by("id")
