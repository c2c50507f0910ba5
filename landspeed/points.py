"""From the table of records to the dots that are drawn: runs of one server grouped into points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from base.build import Origin, Variant
from benchmarks.asv_names import METRICS, scale_param
from benchmarks.point import scheduled
from benchmarks.record_columns import VARIANT_COLUMNS, variant_of
from benchmarks.twins import Origins, Twin, origins_by_digest
from landspeed.asv_benchmarks import Params

_CELL = (*VARIANT_COLUMNS, "mode", "protocol", "tier", "scale", "clients", "profile", "buffers")
_SERVER = ("digest", "epoch")
_MACHINE = ("cpu", "os", "arch", "cores", "memory_bytes")


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


@dataclass(frozen=True, kw_only=True)
class Dots:
    """Dots are all points of a table, the machines' asv fields, and how many were superseded."""

    dots: tuple[Dot, ...]
    machines: Mapping[str, Mapping[str, str]]
    superseded: int


def dots(table: pa.Table, twins: Iterable[Twin] = ()) -> Dots:
    """The Dots of *table* (RecordStore.table()), each origin's newest last.

    Origins that are one server (they installed the very same files) have the same samples, and
    so have *twins*, which were not measured for that reason. Samples of different servers or
    epochs are never mixed: where one commit's cell was measured in more than one, the one with
    the newest run is the dot. Runs that a comparison or a bisection asked for are left out:
    see ``scheduled``.
    """
    table = scheduled(table)
    newest: dict[tuple[Any, ...], Dot] = {}
    superseded = 0
    for dot in _grouped(table, origins_by_digest(table, twins)):  # the newest of a key comes last
        key = (dot.machine, dot.origin.name, dot.variant, dot.mode, dot.buffers, dot.params)
        superseded += key in newest
        newest[key] = dot
    return Dots(dots=tuple(newest.values()), machines=machines(table), superseded=superseded)


def _grouped(table: pa.Table, origins: Origins) -> Iterator[Dot]:
    keys = ["machine", *_CELL, *_SERVER]
    lists = list(dict.fromkeys(metric.column for metric in METRICS))
    # One thread keeps the samples of a group in the order of their ids.
    groups = pa.TableGroupBy(
        table.select([*keys, *lists, "id"]), keys, use_threads=False
    ).aggregate([*((name, "list") for name in lists), ("id", "max")])
    groups = groups.sort_by("id_max")
    # The table is in the order of its ids, so these rows are in the order of the groups.
    last = table.filter(pc.is_in(table["id"], value_set=groups["id_max"].combine_chunks()))
    groups = groups.append_column("time", last["time"])
    for batch in groups.to_batches(max_chunksize=16384):
        for row in batch.to_pylist():
            for origin in origins[row["digest"]].values():
                yield _dot(row, origin, lists)


def _dot(row: Mapping[str, Any], origin: Origin, lists: Iterable[str]) -> Dot:
    samples = {name: row[f"{name}_list"] for name in lists}
    return Dot(
        machine=row["machine"],
        origin=origin,
        variant=variant_of(row),
        mode=row["mode"],
        buffers=row["buffers"],
        params=Params(
            row["protocol"],
            scale_param(row["tier"], row["scale"]),
            row["clients"],
            row["profile"],
        ),
        digest=row["digest"],
        epoch=row["epoch"],
        count=max(map(len, samples.values())),
        last_id=row["id_max"],
        last_time=row["time"],
        samples=samples,
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
