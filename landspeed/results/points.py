"""Group the runs in the table of records into the dots that the site draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from base.build import Origin, Variant
from benchmarks.records.columns import VARIANT_COLUMNS, variant_of
from benchmarks.records.identical_builds import SERVER_COLUMNS, IdenticalBuild, Origins
from benchmarks.workloads.metrics import METRICS, scale_param
from benchmarks.workloads.points import scheduled
from landspeed.results.arrays import (
    Floats,
    Groups,
    Ints,
    Marks,
    both,
    codes,
    distinct,
    lasts,
    marks,
    numbers,
    words,
)
from landspeed.results.params import Params
from landspeed.results.run import origin_of

CELL = (*VARIANT_COLUMNS, "mode", "protocol", "tier", "scale", "clients", "profile", "buffers")
"""Columns of RecordStore.table() that identify a cell on its machine."""

_SERVER = ("digest", "epoch")
_TOOLS = ("cc", "libc", "runtime_libc")
_MACHINE = ("cpu", "os", "arch", "cores", "memory_bytes")
_LISTS = tuple(dict.fromkeys(metric.column for metric in METRICS))


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One published point: the samples of one cell of one server in one epoch.

    ``samples`` has the numbers of each column of a metric. ``last_time`` is ISO 8601. ``buffers``
    is None for timed runs.
    """

    machine: str
    origin: Origin
    variant: Variant
    mode: str
    buffers: str | None
    params: Params
    digest: str
    epoch: str
    last_id: str
    last_time: str
    samples: Mapping[str, list[float]]


class Dots:
    """The points of a table (RecordStore.table()), an origin's newest last; made on access.

    Origins that are the same server (they install identical files) share its samples, and so do
    *twins*, which were not measured for that reason. Samples of different servers or epochs are
    not mixed: where a cell of a commit was measured in several, the one with the newest run is
    the dot. Runs of comparisons and bisections are left out, see ``scheduled``.

    ``table`` has the runs with all columns, ``machines`` asv's fields of each machine, ``servers``
    the origins of each server, ``origins`` all origins. ``superseded`` counts the points that newer
    ones replaced. ``heads`` has the newest run of each cell of each server, and ``cells`` a number
    for each row of it that is equal where machine and cell are. For each dot, ``rows`` is the index
    of its row in ``heads`` and ``whose`` the index of its origin.
    """

    def __init__(self, table: pa.Table, twins: Iterable[IdenticalBuild] = ()) -> None:
        self.table = table = scheduled(table)
        cells, servers = codes(table, ["machine", *CELL]), codes(table, _SERVER)
        self.groups = Groups(both(cells, servers))
        self.cells = cells[self.groups.lasts]
        self.heads = (
            table.select(["id", "time", "machine", *CELL, *_SERVER])
            .take(self.groups.lasts)
            .combine_chunks()
        )
        self.machines = machines(table)
        self.servers = known = origins_by_digest(table, twins)
        self.origins = tuple(origin for some in known.values() for origin in some.values())
        firsts = np.cumsum([0, *map(len, known.values())])
        at = dict(zip(known, firsts.tolist(), strict=False))
        which, found = words(self.heads["digest"])
        digests = found.to_pylist()
        counts = np.array([len(known.get(one, ())) for one in digests], dtype=np.int64)[which]
        rows = np.repeat(np.arange(len(which)), counts)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        whose = np.array([at.get(one, 0) for one in digests], dtype=np.int64)[which[rows]] + within
        newest = self._newest(rows, whose)
        self.superseded = len(rows) - len(newest)
        self.rows, self.whose = rows[newest], whose[newest]

    def _newest(self, rows: Ints, whose: Ints) -> Ints:
        """Return the pairs of a row and an origin that are the last of their cell and name."""
        names: dict[str, int] = {}
        named = [names.setdefault(origin.name, len(names)) for origin in self.origins]
        key = both(self.cells[rows], np.array(named, dtype=np.int64)[whose])
        return np.sort(lasts(key))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> Dot:
        """Return the dot at *index*, from 0 on."""
        return next(self.some(np.array([index])))

    def __iter__(self) -> Iterator[Dot]:
        return self.some(np.arange(len(self)))

    def some(self, indices: Ints) -> Iterator[Dot]:
        """Yield the dots at *indices*."""
        for begin in range(0, len(indices), 16384):
            part = indices[begin : begin + 16384]
            heads = self.heads.take(self.rows[part]).to_pylist()
            for row, group, origin in zip(heads, self.rows[part], self.whose[part], strict=True):
                yield self._dot(row, int(group), self.origins[origin])

    def runs(self, indices: Ints) -> Ints:
        """Return the rows of ``table`` behind the dots at *indices*, each once, in order."""
        groups = np.unique(self.rows[indices])
        return np.unique(np.concatenate([*map(self.groups.rows, groups), np.empty(0, np.int64)]))

    def _dot(self, head: Mapping[str, Any], group: int, origin: Origin) -> Dot:
        rows = self.groups.rows(group)
        values = {name: whole[rows] for name, whole in self.values.items()}
        return Dot(
            machine=head["machine"],
            origin=origin,
            variant=variant_of(head),
            mode=head["mode"],
            buffers=head["buffers"],
            params=params_of(head),
            digest=head["digest"],
            epoch=head["epoch"],
            last_id=head["id"],
            last_time=head["time"],
            samples={name: own[~np.isnan(own)].tolist() for name, own in values.items()},
        )

    @cached_property
    def values(self) -> Mapping[str, Floats]:
        """The numbers of all runs by column, NaN for null; ``groups`` groups these runs."""
        return {name: numbers(self.table[name]) for name in _LISTS}

    @cached_property
    def toolchains(self) -> Mapping[tuple[str, str], str]:
        """The toolchains (see toolchains_of) of the newest runs of each server."""
        rows = self.groups.lasts[lasts(codes(self.heads, _SERVER))]
        return toolchains_of(self.table.select([*_SERVER, *_TOOLS]).take(rows))

    @cached_property
    def marks(self) -> Marks:
        """For each row of ``heads``, a hash of the set of its runs."""
        return self.groups.sums(marks(self.table["id"]))


def origins_by_digest(table: pa.Table, twins: Iterable[IdenticalBuild]) -> Origins:
    """Return the origins in *table*, as their newest records have them, and those of *twins*."""
    # A release from a tarball and from git is one origin, even if the trees differ.
    newest = np.sort(lasts(codes(table, SERVER_COLUMNS)))
    found: dict[str, dict[str, Origin]] = {}
    for row in table.select(SERVER_COLUMNS).take(newest).to_pylist():
        origin = origin_of(row)
        found.setdefault(row["digest"], {})[origin.name] = origin
    for twin in twins:
        found.setdefault(twin.digest, {}).setdefault(twin.origin.name, twin.origin)
    return found


def params_of(row: Mapping[str, Any]) -> Params:
    """Return the asv parameters of a *row* that has the columns of CELL."""
    return Params(
        row["protocol"], scale_param(row["tier"], row["scale"]), row["clients"], row["profile"]
    )


def toolchains_of(table: pa.Table) -> dict[tuple[str, str], str]:
    """Return compiler, libc at build time and libc at run time of each server in *table*.

    The keys are the digest of the server and the epoch.
    """
    return {
        (row["digest"], row["epoch"]): ", ".join(str(row[name]) for name in _TOOLS)
        for row in distinct(table, [*_SERVER, *_TOOLS])
    }


def machines(table: pa.Table) -> dict[str, dict[str, str]]:
    """Return asv's six fields of each machine in *table*, as its first record has them.

    They are part of a graph's identity, so a small change (each kernel reserves other memory)
    must not start a new graph. The epoch in the records shows such changes.
    """
    rows = distinct(table, ["machine"], _MACHINE)
    return {row["machine"]: asv_fields(row["machine"], row) for row in rows}


def asv_fields(name: str, facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the six fields of asv's machine.json, all as text, of the machine called *name*.

    *facts* has the processor, the cores, the memory in bytes, the system and the architecture; any
    may be None.
    """
    return {
        "machine": name,
        "cpu": facts["cpu"] or "",
        "os": facts["os"] or "",
        "arch": facts["arch"] or "",
        "num_cpu": str(facts["cores"] or ""),
        "ram": str(facts["memory_bytes"] or ""),
    }
