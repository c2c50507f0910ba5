"""What the records cover of each commit and release, and what measuring one costs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.records.columns import VARIANT_COLUMNS, variant_of
from benchmarks.records.identical_builds import FailedBuild, IdenticalBuild
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from benchmarks.workloads.points import scheduled
from benchmarks.workloads.scenario import CacheState, Preset
from benchmarks.workloads.sysbench_modes import SYSBENCH
from landspeed.sampling.rounds import OVERHEAD_SECONDS

_FAILURES = 2  # One failed build may have lacked memory; two mean that the commit does not build.
_RECENT = 40
_BUILD_SECONDS, _COUNT_SECONDS = 240.0, 30.0

Server = tuple[str, str]
"""A commit's full hash or a release's name, and the name of a variant."""


CellValues = tuple[str | int, ...]
"""The values of _COUNTED or _TIMED, columns of the records that tell apart what is measured."""
_Samples = defaultdict[tuple[str, str], Counter[CellValues]]

_COUNTED = ("mode", "protocol", "profile", "buffers")
_TIMED = ("mode", "protocol", "tier", "scale", "clients", "profile")


@dataclass(kw_only=True)
class Coverage:
    """What need not be measured again.

    ``digests``: The digests of the installed files that a server had when it was measured.
    ``counted``: The number of counts of each cell, by digest and machine.
    ``timed``: The number of samples of each cell, by digest and machine.
    ``broken``: What does not build.
    """

    digests: dict[Server, set[str]] = field(default_factory=lambda: defaultdict(set))
    counted: _Samples = field(default_factory=lambda: defaultdict(Counter))
    timed: _Samples = field(default_factory=lambda: defaultdict(Counter))
    broken: set[Server] = field(default_factory=set)

    @classmethod
    def of(cls, records: RecordStore, preset: Preset) -> Coverage:
        """Read what *records* cover; of timed runs only those that *preset* scheduled."""
        found = cls()
        cells = dict.fromkeys([*_COUNTED, *_TIMED])
        names = ["id", "instructions", "digest", "release", "commit", "machine", "preset"]
        table = scheduled(records.table([*names, *VARIANT_COLUMNS, *cells]))
        found._read(table, preset)
        found._add_identical(records.identical_builds.read(IdenticalBuild), table)
        failed = records.failures.read(FailedBuild)
        failures = Counter((one.origin.ref, one.variant.name) for one in failed)
        found.broken = {server for server, count in failures.items() if count >= _FAILURES}
        return found

    def _read(self, table: pa.Table, preset: Preset) -> None:
        is_count = pc.is_valid(table["instructions"])
        is_timing = pc.and_(pc.invert(is_count), pc.equal(table["preset"], preset.name))
        timings = _grouped(table.filter(is_timing), _TIMED)
        for found, columns, rows in (
            (self.counted, _COUNTED, _grouped(table.filter(is_count), _COUNTED)),
            (self.timed, _TIMED, _of_preset(timings, preset)),
        ):
            for row in rows:
                if name := row["release"] or row["commit"]:
                    self.digests[name, variant_of(row).name].add(row["digest"])
                cell = tuple(row[name] for name in columns)
                found[row["digest"], row["machine"]][cell] += row["id_count"]

    def _add_identical(self, builds: Iterable[IdenticalBuild], table: pa.Table) -> None:
        variants = {row["digest"]: variant_of(row).name for row in _grouped(table, ())}
        for build in builds:
            if build.digest in variants:
                server = (build.origin.ref, variants[build.digest])
                self.digests[server].add(build.digest)

    def is_counted(self, server: Server, machine: str, preset: Preset) -> bool:
        """Return whether *machine* has counted every cell of *preset* on *server*."""
        axes = product(preset.modes, preset.protocols, preset.profiles, CacheState)
        wanted = {tuple(map(str, one)) for one in axes}
        digests = self.digests.get(server, ())
        return any(wanted <= self.counted[one, machine].keys() for one in digests)

    def is_timed(self, server: Server, machine: str, preset: Preset) -> bool:
        """Return whether *server* has the samples *preset* asks for of all *machine*'s cells.

        Only the machine knows its feasible cells; without timed runs we assume none.
        """
        cells: set[CellValues] = set()
        for (_, timed_on), samples in self.timed.items():
            cells |= samples.keys() if timed_on == machine else set()
        return bool(cells) and any(
            all(self.timed[digest, machine][one] >= preset.samples for one in cells)
            for digest in self.digests.get(server, ())
        )


def _of_preset(rows: Iterable[dict[str, Any]], preset: Preset) -> list[dict[str, Any]]:
    """Return the *rows* of cells of *preset*, of each tier with the machine's newest scale.

    A run by hand can have other clients or scales under the preset's name. Tracking measures none
    of them, so they would stay due on every other server.
    """
    names = ("mode", "protocol", "tier", "clients", "profile")
    axes = (preset.modes, preset.protocols, preset.tiers, preset.client_counts, preset.profiles)
    wanted = {tuple(map(str, one)) for one in product(*axes)}
    own = [row for row in rows if tuple(str(row[name]) for name in names) in wanted]
    by_age = sorted(own, key=lambda row: str(row["id_max"]))
    scales = {(row["machine"], row["mode"], row["tier"]): row["scale"] for row in by_age}
    return [r for r in own if r["scale"] == scales[r["machine"], r["mode"], r["tier"]]]


def _grouped(table: pa.Table, cell: Iterable[str]) -> list[dict[str, Any]]:
    keys = ["digest", "release", "commit", "machine", "preset", *VARIANT_COLUMNS, *cell]
    return list(table.group_by(keys).aggregate([("id", "count"), ("id", "max")]).to_pylist())


def cost_estimate(records: RecordStore, cores: int) -> tuple[float, float, float]:
    """Return what measuring takes on a machine with *cores*, from the latest *records*.

    In wall seconds: a build, counting one cell, and what a timed run takes beside the time in which
    its client runs. Without records they are those of a small cloud machine.
    """
    table = records.table(["id", "instructions"])
    counts = table.filter(pc.is_valid(table["instructions"]))["id"].to_pylist()[-_RECENT:]
    timings = table.filter(pc.is_null(table["instructions"]))["id"].to_pylist()[-_RECENT:]
    counted, timed = (list(records.records(ids)) for ids in (counts, timings))
    builds = [one.build.cpu_seconds or 0.0 for one in (*counted, *timed)]
    overheads = [one.run.spent - _client_seconds(one) for one in timed]
    return (
        median(builds) / cores if builds else _BUILD_SECONDS,
        median(one.run.spent for one in counted) if counted else _COUNT_SECONDS,
        max(0.0, median(overheads)) if overheads else OVERHEAD_SECONDS,
    )


def _client_seconds(record: Record) -> float:
    phases = record.run.phases
    return phases.get("pgbench", phases.get(SYSBENCH, 0.0))
