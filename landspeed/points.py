"""From the table of records to the dots that are drawn: runs of one server grouped into points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.asv_names import METRICS, scale_param
from landspeed.asv_benchmarks import Params

_ORIGIN = ("release", "commit", "tree", "origin_date")
_CELL = ("blocksize", "wal_blocksize", "mode", "protocol", "tier", "scale", "clients", "profile")
_SERVER = ("digest", "epoch")
_MACHINE = ("cpu", "os", "arch", "cores", "memory_bytes")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """An Origin is where the source of some records came from (base.build.Origin's facts)."""

    release: str | None
    commit: str | None
    tree: str
    date: str

    @property
    def name(self) -> str:
        """How people call it: ``17.11``, or a commit's first ten digits."""
        return self.release or (self.commit or self.tree)[:10]

    def facts(self) -> dict[str, str | None]:
        """The origin as the record has it."""
        return {
            "release": self.release,
            "commit": self.commit,
            "tree": self.tree,
            "date": self.date,
        }


@dataclass(frozen=True, kw_only=True)
class Dot:
    """A Dot is one published point: the samples of one cell of one server in one epoch.

    ``samples`` holds a list per metric's column; ``last_time`` is ISO 8601.
    """

    machine: str
    origin: Origin
    blocksize: int
    wal_blocksize: int
    mode: str
    params: Params
    digest: str
    epoch: str
    count: int
    last_id: str
    last_time: str
    samples: Mapping[str, list[float | None]]


@dataclass(frozen=True, kw_only=True)
class Dots:
    """Dots are all points of a table, the machines' asv fields, and how many were superseded."""

    dots: tuple[Dot, ...]
    machines: Mapping[str, Mapping[str, str]]
    superseded: int


def dots(table: pa.Table) -> Dots:
    """The Dots of *table* (RecordStore.table()).

    Samples of different servers or epochs are never mixed: where one commit's cell was
    measured in more than one, the one with the newest run is the dot.
    """
    newest: dict[tuple[Any, ...], Dot] = {}
    superseded = 0
    for dot in _grouped(table):
        key = (dot.machine, dot.origin, dot.blocksize, dot.wal_blocksize, dot.mode, dot.params)
        other = newest.get(key)
        superseded += other is not None
        if other is None or other.last_id < dot.last_id:
            newest[key] = dot
    return Dots(dots=tuple(newest.values()), machines=machines(table), superseded=superseded)


def _grouped(table: pa.Table) -> Iterator[Dot]:
    keys = ["machine", *_ORIGIN, *_CELL, *_SERVER]
    lists = [metric.column for metric in METRICS]
    # One thread keeps the samples of a group in the order of their ids.
    groups = pa.TableGroupBy(
        table.select([*keys, *lists, "id", "time"]), keys, use_threads=False
    ).aggregate([*((name, "list") for name in lists), ("id", "max"), ("time", "max")])
    for batch in groups.to_batches(max_chunksize=16384):
        for row in batch.to_pylist():
            yield Dot(
                machine=row["machine"],
                origin=Origin(
                    release=row["release"],
                    commit=row["commit"],
                    tree=row["tree"],
                    date=row["origin_date"],
                ),
                blocksize=row["blocksize"],
                wal_blocksize=row["wal_blocksize"],
                mode=row["mode"],
                params=Params(
                    row["protocol"],
                    scale_param(row["tier"], row["scale"]),
                    row["clients"],
                    row["profile"],
                ),
                digest=row["digest"],
                epoch=row["epoch"],
                count=len(row[f"{lists[0]}_list"]),
                last_id=row["id_max"],
                last_time=row["time_max"],
                samples={name: row[f"{name}_list"] for name in lists},
            )


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
