"""The scalar columns of a raw record: what publishing and scheduling read without its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from base.build import Origin, Variant
from base.errors import RecordError, VariantError
from base.paths import MACHINE
from base.typed import from_json
from base.version import Version
from benchmarks.records.record import ID, TIME

# Values of few kinds are kept as dictionaries: a million rows then fit in little memory.
_WORD = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, kw_only=True)
class Column:
    """One scalar of the record: its name, its path in the record, its type."""

    name: str
    path: tuple[str, ...]
    type: pa.DataType

    def value(self, record: Mapping[str, Any]) -> Any:
        """Return this column's value in *record*; None where the record does not have it."""
        value: Any = record
        for key in self.path:
            if not isinstance(value, Mapping):
                return None
            value = value.get(key)
        return value


def _columns(type_: pa.DataType, place: str, names: str) -> tuple[Column, ...]:
    """Return the columns *names* of the keys below *place*; ``name=key`` where they differ."""
    columns = []
    for word in names.split():
        name, _, key = word.partition("=")
        path = tuple(filter(None, [*place.split("."), key or name]))
        columns.append(Column(name=name, path=path, type=type_))
    return tuple(columns)


COLUMNS: tuple[Column, ...] = (
    *_columns(pa.string(), "", "id time"),
    *_columns(_WORD, "build", "build=identifier digest version"),
    *_columns(_WORD, "build.origin", "release commit tree origin_date=date registered"),
    *_columns(_WORD, "build.toolchain", "cc libc"),
    # what a default build does not say, segsize and those after it, is null
    *_columns(pa.int32(), "build.variant", "blocksize wal_blocksize"),
    *_columns(pa.int32(), "build.variant", "segsize"),
    *_columns(_WORD, "build.variant", "compiler flags"),
    *_columns(_WORD, "machine", "machine=name cpu os arch"),
    *_columns(pa.int64(), "machine", "cores memory_bytes"),
    *_columns(_WORD, "epoch", "epoch=identifier runtime_libc=libc"),
    *_columns(_WORD, "pgbench", "pgbench_version=version"),
    *_columns(_WORD, "cell", "mode protocol tier profile"),
    *_columns(_WORD, "run", "preset comparison instrument"),
    *_columns(_WORD, "cell", "buffers"),
    *_columns(pa.int64(), "cell", "scale clients threads"),
    *_columns(pa.int64(), "run", "round block side seed"),
    *_columns(pa.int64(), "sample", "transactions failed wal_bytes blocks_hit blocks_read"),
    *_columns(pa.int64(), "", "database_bytes"),
    *_columns(pa.float64(), "run", "seconds"),
    *_columns(
        pa.float64(),
        "sample",
        "latency_ms latency_stddev_ms latency_p50_ms latency_p95_ms latency_p99_ms tps"
        " connection_ms measured_seconds server_cpu_seconds instructions instructions_spread"
        " wal_bytes_tx blocks_tx",
    ),
)

SCALARS = pa.schema([pa.field(column.name, column.type) for column in COLUMNS])
"""The schema of the scalar columns; a column a file does not have reads as null."""

VARIANT_COLUMNS = ("blocksize", "wal_blocksize", "segsize", "compiler", "flags")
"""The columns that tell a Variant."""

TEXT = "record"
"""The column that holds a record's verbatim JSON text."""


def variant_of(row: Mapping[str, Any]) -> Variant:
    """Return the variant of the build in a *row* that has the VARIANT_COLUMNS."""
    return _variant(tuple(row[name] for name in VARIANT_COLUMNS))


@cache
def _variant(values: tuple[Any, ...]) -> Variant:
    return Variant.of(dict(zip(VARIANT_COLUMNS, values, strict=True)))


def scalars(records: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return the scalar columns of *records*, in their order; raises ArrowException if mistyped."""
    rows = list(records)
    return pa.table(
        {c.name: pa.array([c.value(row) for row in rows], type=c.type) for c in COLUMNS},
        schema=SCALARS,
    )


# What file names and pages are made of holds no slash, no space, and begins with no dot or dash.
_PLAIN_WORD = r"\w[^\s/\\]{0,299}"
_WORD_OF = dict.fromkeys(("build", "protocol", "tier", "profile", "epoch"), _PLAIN_WORD)
# asv names files after modes, of 255 bytes at most, and writes them into its pages as HTML
_WORD_OF |= {"mode": r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}"}
_WORD_OF |= {"machine": MACHINE, "digest": r"[0-9A-Za-z][0-9A-Za-z. ]{0,99}"}
_ORIGIN = {"release": "release", "commit": "commit", "tree": "tree", "origin_date": "date"}
_ORIGIN |= {"registered": "registered"}
_POSITIVE = ("scale", "clients", "threads")
_FLOATS = tuple(column.name for column in COLUMNS if pa.types.is_floating(column.type))


def require_sound(table: pa.Table) -> None:
    """RecordError unless each row of *table*, as `scalars` returns it, can be of a run."""
    for name in ("id", "time", "version", *_WORD_OF, "tree", "origin_date", *_POSITIVE):
        _require(name, table[name], pc.is_valid(table[name]))
    for name, pattern in (("id", ID), ("time", TIME)):
        _require(name, table[name], pc.match_substring_regex(table[name], f"^(?:{pattern})$"))
    for name in _POSITIVE:
        _require(name, table[name], pc.greater(table[name], 0))
    for name in _FLOATS:
        _require(name, table[name], pc.is_finite(table[name]))
    for name, pattern in _WORD_OF.items():
        words = table[name].unique()
        known = [re.fullmatch(pattern, word) is not None for word in words.to_pylist()]
        _require(name, words, pa.array(known, pa.bool_()))
    try:
        table["time"].cast(pa.timestamp("ns", "UTC"))
        for name in ("version", "release"):
            for version in table[name].drop_null().unique().to_pylist():
                Version.parse(version)
        for row in table.group_by([*_ORIGIN]).aggregate([]).to_pylist():
            from_json(Origin, {key: row[name] for name, key in _ORIGIN.items()})
        for row in table.group_by([*VARIANT_COLUMNS]).aggregate([]).to_pylist():
            variant_of(row)
    except (pa.ArrowException, ValueError, TypeError, VariantError) as error:
        raise RecordError("a record is not valid", detail=str(error)) from error


def _require(name: str, values: pa.ChunkedArray, good: pa.ChunkedArray) -> None:
    wrong = values.filter(pc.invert(good))
    if len(wrong):
        raise RecordError("a record is not valid", detail=f'Its "{name}" is {wrong[0]!s:.100}.')
