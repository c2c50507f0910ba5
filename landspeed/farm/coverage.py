"""What the records know of each commit and release: which cells are counted, which are timed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from base.build import Origin
from benchmarks.records.columns import VARIANT_COLUMNS, variant_of
from benchmarks.records.identical_builds import IdenticalBuild
from benchmarks.records.store import RecordStore
from benchmarks.workloads.points import scheduled
from benchmarks.workloads.scenario import CacheState, Preset
from benchmarks.workloads.sysbench_modes import SYSBENCH
from landspeed.sampling.rounds import OVERHEAD_SECONDS

_COUNTED = ("mode", "protocol", "profile", "buffers")
_TIMED = ("mode", "protocol", "tier", "scale", "clients", "profile")
_BELIEVED = 2  # a build that failed once may have lacked memory; twice, and it is the commit
_RECENT = 40

Server = tuple[str, str]
"""A commit's full hash or a release's name, and the name of a variant."""


def named(origin: Origin) -> str:
    """What an origin is known by for ever: its release, else its full commit hash."""
    return origin.release or origin.commit or origin.name


@dataclass(kw_only=True)
class Coverage:
    """A Known says what need not be measured again.

    ``digests`` are of each Server; ``counted`` the cells of a digest by machine, ``timed`` how
    many samples each of its cells has, by machine.
    """

    digests: dict[Server, set[str]] = field(default_factory=lambda: defaultdict(set))
    counted: dict[tuple[str, str], set[tuple[Any, ...]]] = field(
        default_factory=lambda: defaultdict(set)
    )
    timed: dict[tuple[str, str], Counter[tuple[Any, ...]]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    broken: set[Server] = field(default_factory=set)

    @classmethod
    def of(cls, records: RecordStore, preset: Preset) -> Coverage:
        """What *records* know, of timed ones those that *preset* asked for."""
        found = cls()
        names = ["digest", "release", "commit", "machine", "preset", *VARIANT_COLUMNS]
        table = scheduled(
            records.table(["id", "instructions", *dict.fromkeys([*names, *_COUNTED, *_TIMED])])
        )
        found._read(table, preset)
        found._share(records.twins.all(), table)
        failures = Counter(
            (named(Origin(**note["origin"])), note["variant"]) for note in records.failures.all()
        )
        found.broken = {server for server, count in failures.items() if count >= _BELIEVED}
        return found

    def _read(self, table: pa.Table, preset: Preset) -> None:
        counts = pc.is_valid(table["instructions"])
        for row in _grouped(table.filter(counts), _COUNTED):
            self._name(row)
            self.counted[row["digest"], row["machine"]].add(_cell(row, _COUNTED))
        for row in _grouped(table.filter(pc.invert(counts)), _TIMED):
            if row["preset"] == preset.name:
                self._name(row)
                samples = self.timed[row["digest"], row["machine"]]
                samples[_cell(row, _TIMED)] += row["id_count"]

    def _name(self, row: Mapping[str, Any]) -> None:
        name = row["release"] or row["commit"]
        if name:
            self.digests[name, variant_of(row).name].add(row["digest"])

    def _share(self, twins: Iterable[IdenticalBuild], table: pa.Table) -> None:
        variants: dict[str, str] = {}
        for row in _grouped(table, ()):
            variants[row["digest"]] = variant_of(row).name
        for twin in twins:
            if twin.digest in variants:
                self.digests[named(twin.origin), variants[twin.digest]].add(twin.digest)

    def is_counted(self, server: Server, machine: str, preset: Preset) -> bool:
        """Whether every cell of *preset* that can be counted is, of *server* on *machine*."""
        axes = product(preset.modes, preset.protocols, preset.profiles, CacheState)
        wanted = {tuple(str(part) for part in one) for one in axes}
        return any(wanted <= self.counted[digest, machine] for digest in self._served(server))

    def is_timed(self, server: Server, machine: str, preset: Preset) -> bool:
        """Whether every cell that *machine* ever timed has the samples that *preset* asks for.

        Which cells a machine can have only it knows; of one that timed nothing nothing is known.
        """
        cells: set[tuple[Any, ...]] = set()
        for (_, of), samples in self.timed.items():
            cells |= samples.keys() if of == machine else set()
        return bool(cells) and any(
            all(self.timed[digest, machine][one] >= preset.samples for one in cells)
            for digest in self._served(server)
        )

    def _served(self, server: Server) -> set[str]:
        return self.digests.get(server, set())


def _grouped(table: pa.Table, cell: Iterable[str]) -> list[dict[str, Any]]:
    keys = ["digest", "release", "commit", "machine", "preset", *VARIANT_COLUMNS, *cell]
    return list(table.group_by(keys).aggregate([("id", "count")]).to_pylist())


def _cell(row: Mapping[str, Any], names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


@dataclass(frozen=True, kw_only=True)
class CostEstimate:
    """Prices are wall seconds: of a build, of counting a cell, and of a timed Run's overhead."""

    build: float = 240.0
    count: float = 30.0
    overhead: float = OVERHEAD_SECONDS

    @classmethod
    def of(cls, records: RecordStore, cores: int) -> CostEstimate:
        """What the latest records cost; where there are none, what a small cloud machine takes."""
        table = records.table(["id", "instructions"])
        counts = table.filter(pc.is_valid(table["instructions"]))["id"].to_pylist()[-_RECENT:]
        timings = table.filter(pc.is_null(table["instructions"]))["id"].to_pylist()[-_RECENT:]
        counted, timed = (list(records.records(ids)) for ids in (counts, timings))
        some = [one["build"]["cpu_seconds"] for one in (*counted, *timed)]
        over = [_spent(one) - _asking(one) for one in timed]
        return cls(
            build=median(some) / cores if some else cls.build,
            count=median(map(_spent, counted)) if counted else cls.count,
            overhead=max(0.0, median(over)) if over else cls.overhead,
        )


def _spent(record: Mapping[str, Any]) -> float:
    return float(sum(record["run"].get("phases", {}).values()))


def _asking(record: Mapping[str, Any]) -> float:
    """The seconds in which the client ran: a phase by its name."""
    phases = record["run"].get("phases", {})
    return float(phases.get("pgbench", phases.get(SYSBENCH, 0.0)))
