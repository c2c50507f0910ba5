"""From the table of records to the dots that are drawn: runs of one server grouped into points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
"""The columns of RecordStore.table() that tell a cell, but for its machine."""

_SERVER = ("digest", "epoch")
_TOOLS = ("cc", "libc", "runtime_libc")
_MACHINE = ("cpu", "os", "arch", "cores", "memory_bytes")
_LISTS = tuple(dict.fromkeys(metric.column for metric in METRICS))


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A Dot is one published point: the samples of one cell of one server in one epoch.

    ``samples`` holds a list per metric's column; ``last_time`` is ISO 8601. ``buffers`` are those
    of counted runs, None of timed ones.
    """

    machine: str
    origin: Origin
    variant: Variant
    mode: str
    buffers: str | None
    params: Params
    digest: str
    epoch: str
    count: int
    last_id: str
    last_time: str
    samples: Mapping[str, list[float | None]]


class Dots(Sequence[Dot]):
    """Dots are all points of a table, an origin's newest last; a Dot is made when it is asked for.

    ``table`` has the Runs they are of, all of its columns; ``machines`` the asv fields of each
    machine, ``servers`` the origins of each server and ``origins`` all of them; ``superseded`` is
    how many points gave way to newer ones. Of each Dot ``whose`` is the index of its origin and
    ``rows`` that of its row in ``heads``: what the newest run of one cell of one server was of.
    ``cells`` has a number for each row of ``heads``, equal where machine and cell are.
    """

    def __init__(self, table: pa.Table, twins: Iterable[IdenticalBuild] = ()) -> None:
        self.table = table = scheduled(table)
        cells, servers = codes(table, ["machine", *CELL]), codes(table, _SERVER)
        self.groups = Groups.of(both(cells, servers))
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
        """Which pairs of a row and an origin are the last of their cell and name."""
        names: dict[str, int] = {}
        named = [names.setdefault(origin.name, len(names)) for origin in self.origins]
        key = both(self.cells[rows], np.array(named, dtype=np.int64)[whose])
        return np.sort(lasts(key))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        """The Dot at *index*, or a list of those of a slice."""
        if isinstance(index, slice):
            return list(self.some(np.arange(len(self))[index]))
        return next(self.some(np.array([range(len(self))[index]])))

    def __iter__(self) -> Iterator[Dot]:
        return self.some(np.arange(len(self)))

    def some(self, indices: Ints) -> Iterator[Dot]:
        """The Dots at *indices*."""
        for begin in range(0, len(indices), 16384):
            part = indices[begin : begin + 16384]
            heads = self.heads.take(self.rows[part]).to_pylist()
            for row, group, origin in zip(heads, self.rows[part], self.whose[part], strict=True):
                yield self._dot(row, int(group), self.origins[origin])

    def runs(self, indices: Ints) -> Ints:
        """The rows of ``table`` that the Dots at *indices* are of, each once, in order."""
        groups = np.unique(self.rows[indices])
        parts = [self.groups.order[self.groups.starts[g] : self.groups.ends[g]] for g in groups]
        return np.unique(np.concatenate([*parts, np.empty(0, np.int64)]))

    def _dot(self, head: Mapping[str, Any], group: int, origin: Origin) -> Dot:
        return Dot(
            machine=head["machine"],
            origin=origin,
            variant=variant_of(head),
            mode=head["mode"],
            buffers=head["buffers"],
            params=params_of(head),
            digest=head["digest"],
            epoch=head["epoch"],
            count=int(self.groups.ends[group] - self.groups.starts[group]),
            last_id=head["id"],
            last_time=head["time"],
            samples={name: self._samples(name, group) for name in _LISTS},
        )

    def _samples(self, column: str, group: int) -> list[float | None]:
        begin, end = self.groups.starts[group], self.groups.ends[group]
        values = self.values[column][self.groups.order[begin:end]].tolist()
        return [None if value != value else value for value in values]  # noqa: PLR0124  NaN

    @cached_property
    def values(self) -> Mapping[str, Floats]:
        """The numbers of every run by column, NaN where there is none; ``groups`` has the runs."""
        return {name: numbers(self.table[name]) for name in _LISTS}

    @cached_property
    def toolchains(self) -> Mapping[tuple[str, str], str]:
        """What each server was built by and ran with: toolchains_of() its newest runs."""
        rows = self.groups.lasts[lasts(codes(self.heads, _SERVER))]
        return toolchains_of(self.table.select([*_SERVER, *_TOOLS]).take(rows))

    @cached_property
    def marks(self) -> Marks:
        """For each row of ``heads`` a number that tells which runs it is of."""
        return self.groups.sums(marks(self.table["id"]))


def dots(table: pa.Table, twins: Iterable[IdenticalBuild] = ()) -> Dots:
    """The Dots of *table* (RecordStore.table()).

    Origins that are one server (they installed the very same files) have the same samples, and
    so have *twins*, which were not measured for that reason. Samples of different servers or
    epochs are never mixed: where one commit's cell was measured in more than one, the one with
    the newest run is the dot. Runs that a comparison or a bisection asked for are left out:
    see ``scheduled``.
    """
    return Dots(table, twins)


def origins_by_digest(table: pa.Table, twins: Iterable[IdenticalBuild]) -> Origins:
    """The Origins in *table* (RecordStore.table()), as the newest record has them, and *twins*."""
    # One release may have come as a tarball and from git: it is one origin, whatever its tree.
    newest = np.sort(lasts(codes(table, SERVER_COLUMNS)))
    found: dict[str, dict[str, Origin]] = {}
    for row in table.select(SERVER_COLUMNS).take(newest).to_pylist():
        origin = origin_of(row)
        found.setdefault(row["digest"], {})[origin.name] = origin
    for twin in twins:
        found.setdefault(twin.digest, {}).setdefault(twin.origin.name, twin.origin)
    return found


def params_of(row: Mapping[str, Any]) -> Params:
    """The asv parameters of a *row* that has the columns of a CELL."""
    return Params(
        row["protocol"], scale_param(row["tier"], row["scale"]), row["clients"], row["profile"]
    )


def toolchains_of(table: pa.Table) -> dict[tuple[str, str], str]:
    """What each server of *table* (RecordStore.table()) was built by and ran with.

    Compiler and libc of the build, and the libc that was there when it ran; by the digest of the
    server and the epoch.
    """
    return {
        (row["digest"], row["epoch"]): ", ".join(str(row[name]) for name in _TOOLS)
        for row in distinct(table, [*_SERVER, *_TOOLS])
    }


def machines(table: pa.Table) -> dict[str, dict[str, str]]:
    """asv's six fields of every machine in *table*, as its first record has them.

    All of them are part of a graph's identity, so what drifts (memory by a few pages with
    every kernel) must not start a new line; the epoch in the records tells such changes.
    """
    firsts = pa.TableGroupBy(table.select(["machine", "id"]), ["machine"]).aggregate(
        [("id", "min")]
    )
    rows = table.filter(pc.is_in(table["id"], value_set=firsts["id_min"].combine_chunks()))
    return {
        row["machine"]: {
            "machine": row["machine"],
            "cpu": row["cpu"] or "",
            "os": row["os"] or "",
            "arch": row["arch"] or "",
            "num_cpu": str(row["cores"] or ""),
            "ram": str(row["memory_bytes"] or ""),
        }
        for row in rows.select(["machine", *_MACHINE]).to_pylist()
    }
