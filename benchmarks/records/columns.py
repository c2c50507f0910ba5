"""The scalar columns of a raw record: what publishing and scheduling read without its text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa

from base.build import Variant

# Values of few kinds are kept as dictionaries: a million rows then fit in little memory.
_WORD = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, kw_only=True)
class Column:
    """One scalar of the record: its name, its path in the record, its type."""

    name: str
    path: tuple[str, ...]
    type: pa.DataType

    def value(self, record: Mapping[str, Any]) -> Any:
        """This column's value in *record*; None where the record does not have it."""
        value: Any = record
        for key in self.path:
            if not isinstance(value, Mapping):
                return None
            value = value.get(key)
        return value


def _columns(type_: pa.DataType, **paths: str) -> tuple[Column, ...]:
    return tuple(
        Column(name=name, path=tuple(path.split(".")), type=type_) for name, path in paths.items()
    )


COLUMNS: tuple[Column, ...] = (
    *_columns(pa.string(), id="id", time="time"),
    *_columns(
        _WORD,
        build="build.identifier",
        digest="build.digest",
        version="build.version",
        release="build.origin.release",
        commit="build.origin.commit",
        tree="build.origin.tree",
        origin_date="build.origin.date",
        registered="build.origin.registered",
        cc="build.toolchain.cc",
        libc="build.toolchain.libc",
    ),
    *_columns(
        pa.int32(),
        blocksize="build.variant.blocksize",
        wal_blocksize="build.variant.wal_blocksize",
        # not in the records of default builds: null is what the default has
        segsize="build.variant.segsize",
    ),
    *_columns(_WORD, compiler="build.variant.compiler", flags="build.variant.flags"),
    *_columns(
        _WORD,
        machine="machine.name",
        cpu="machine.cpu",
        os="machine.os",
        arch="machine.arch",
    ),
    *_columns(pa.int64(), cores="machine.cores", memory_bytes="machine.memory_bytes"),
    *_columns(
        _WORD,
        epoch="epoch.identifier",
        runtime_libc="epoch.libc",
        pgbench_version="pgbench.version",
        mode="cell.mode",
        protocol="cell.protocol",
        tier="cell.tier",
        profile="cell.profile",
        preset="run.preset",
        comparison="run.comparison",
        instrument="run.instrument",
        buffers="cell.buffers",
    ),
    *_columns(
        pa.int64(),
        scale="cell.scale",
        clients="cell.clients",
        threads="cell.threads",
        round="run.round",
        block="run.block",
        side="run.side",
        seed="run.seed",
        transactions="sample.transactions",
        failed="sample.failed",
        wal_bytes="sample.wal_bytes",
        blocks_hit="sample.blocks_hit",
        blocks_read="sample.blocks_read",
        database_bytes="database_bytes",
    ),
    *_columns(
        pa.float64(),
        seconds="run.seconds",
        latency_ms="sample.latency_ms",
        latency_stddev_ms="sample.latency_stddev_ms",
        latency_p50_ms="sample.latency_p50_ms",
        latency_p95_ms="sample.latency_p95_ms",
        latency_p99_ms="sample.latency_p99_ms",
        tps="sample.tps",
        connection_ms="sample.connection_ms",
        measured_seconds="sample.measured_seconds",
        server_cpu_seconds="sample.server_cpu_seconds",
        instructions="sample.instructions",
        instructions_spread="sample.instructions_spread",
        wal_bytes_tx="sample.wal_bytes_tx",
        blocks_tx="sample.blocks_tx",
    ),
)

SCALARS = pa.schema([pa.field(column.name, column.type) for column in COLUMNS])
"""The schema of the scalar columns; a column a file does not have reads as null."""

VARIANT_COLUMNS = ("blocksize", "wal_blocksize", "segsize", "compiler", "flags")
"""The columns that tell a Variant."""

TEXT = "record"
"""The column that holds a record's verbatim JSON text."""


def variant_of(row: Mapping[str, Any]) -> Variant:
    """The Variant of the build in a *row* that has the VARIANT_COLUMNS."""
    return _variant(tuple(row[name] for name in VARIANT_COLUMNS))


@cache
def _variant(values: tuple[Any, ...]) -> Variant:
    return Variant.of(dict(zip(VARIANT_COLUMNS, values, strict=True)))


def scalars(records: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The scalar columns of *records*, in their order; pyarrow's ArrowException if mistyped."""
    rows = list(records)
    return pa.table(
        {c.name: pa.array([c.value(row) for row in rows], type=c.type) for c in COLUMNS},
        schema=SCALARS,
    )
