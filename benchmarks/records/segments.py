"""Segments: immutable Parquet files that hold many raw records each.

A Segment is named by the sha256 of its bytes, so equal names are equal files
and a damaged one can be told. The format is described in docs/records.md.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from base.errors import RecordError, reason
from base.files import digest_file, parse_json, warn_set_aside, write_atomic
from benchmarks.records.columns import SCALARS, TEXT, require_sound, scalars
from benchmarks.records.record import Record

SUFFIX = ".parquet"
_NAME_DIGITS = 32
# Measured on segments of 256 records: 3 takes 505 bytes a record, 12 takes 416 at little more
# time, 19 takes 387 at five times the time.
_ZSTD_LEVEL = 12
# A page is what zstd sees at once; records resemble each other, so large pages are small files.
_PAGE_BYTES = 8 << 20
_ROWS_PER_GROUP = 8192
# What checking needs beside the table is of so many files only.
_READ_AT_ONCE = 64
_MOST_ROWS, _MOST_BYTES = 1 << 20, 4 << 30
_FILE = "__filename"
_FORMAT = ds.ParquetFileFormat(
    read_options=ds.ParquetReadOptions(
        dictionary_columns=[f.name for f in SCALARS if pa.types.is_dictionary(f.type)]
    ),
    default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True),
)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _damaged(path, reason(error)) from error


def pack_segment(directory: Path, texts: Mapping[str, str]) -> tuple[Path, bytes]:
    """Return path in *directory* and content of the Segment of records (id → JSON text).

    Rows are in the order of their ids, so equal records make an equal file.
    """
    ordered = [texts[identifier] for identifier in sorted(texts)]
    table = scalars(json.loads(text) for text in ordered).append_column(
        pa.field(TEXT, pa.large_string()), pa.array(ordered, type=pa.large_string())
    )
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=_ZSTD_LEVEL,
        data_page_size=_PAGE_BYTES,
        row_group_size=_ROWS_PER_GROUP,
        use_dictionary=[f.name for f in SCALARS if pa.types.is_dictionary(f.type)],
        # only the id is ever searched for
        write_statistics=["id"],
        write_page_checksum=True,
        store_schema=False,
    )
    data = sink.getvalue().to_pybytes()
    path = directory / f"{hashlib.sha256(data).hexdigest()[:_NAME_DIGITS]}{SUFFIX}"
    return path, data


def write_segment(path: Path, data: bytes) -> None:
    """Write a Segment that was packed for *path*; it is durable then."""
    write_atomic(path, data)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Make the names in *directory* durable (see fsync(2))."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_scalars(paths: Sequence[Path], columns: Sequence[str]) -> pa.Table:
    """Return the scalar *columns* of the Segments at *paths*, without those of damaged ones."""
    return read_sound(paths)[0].select(columns)


def read_sound(paths: Sequence[Path]) -> tuple[pa.Table, list[Path]]:
    """Return all scalar columns of those Segments at *paths* that are not damaged, and these."""
    tables, sound = [SCALARS.empty_table()], list[Path]()
    for begin in range(0, len(paths), _READ_AT_ONCE):
        for some, table in _some_scalars(paths[begin : begin + _READ_AT_ONCE]):
            tables.append(table)
            sound += some
    return pa.concat_tables(tables), sound


def _some_scalars(paths: Sequence[Path]) -> Iterator[tuple[Sequence[Path], pa.Table]]:
    try:
        yield paths, _sound_scalars([*paths])
    except RecordError as error:
        if len(paths) == 1:
            warn_set_aside(paths[0], error)
        else:
            for path in paths:
                yield from _some_scalars([path])


def _sound_scalars(paths: list[Path]) -> pa.Table:
    """Return all scalar columns of the Segments at *paths*; RecordError if a row is not sound."""
    with _readable(paths[0]):
        dataset = ds.dataset([str(path) for path in paths], schema=SCALARS, format=_FORMAT)
        table = dataset.to_table(columns=[*SCALARS.names, _FILE])
    places = table[_FILE].dictionary_encode().combine_chunks()
    require_sound(table)
    for name, at, values in (
        ("machine", -3, table["machine"].cast(pa.string())),
        ("time", -2, pc.utf8_slice_codeunits(table["time"], 0, 7)),
    ):
        parts = pa.array([Path(one).parts[at] for one in places.dictionary.to_pylist()])
        if not pc.all(pc.equal(values, parts.take(places.indices))).as_py():
            raise RecordError("a record is in the wrong place", detail=f"Its {name} differs.")
    return table.select(SCALARS.names)


def read_texts(paths: Sequence[Path], wanted: ds.Expression) -> dict[str, str]:
    """id → JSON text of the records whose ids are *wanted*, in the Segments at *paths*."""
    schema = pa.schema([pa.field("id", pa.string()), pa.field(TEXT, pa.large_string())])
    found: dict[str, str] = {}
    for path in paths:
        try:
            with _readable(path):
                segment = ds.dataset(str(path), schema=schema, format=_FORMAT)
                # the texts are nearly all of a file: read them only where an id is wanted
                if segment.count_rows(filter=wanted):
                    table = segment.to_table(filter=wanted)
                    texts = table[TEXT].to_pylist()
                    found.update(zip(table["id"].to_pylist(), texts, strict=True))
        except RecordError as error:
            warn_set_aside(path, error)
    return found


def check_segment(path: Path, *, rows: bool = True) -> None:
    """RecordError unless the Segment at *path* is whole and holds only records that belong there.

    Without *rows*, the texts of the records are not read.
    """
    with _readable(path):
        seen = digest_file(path)
        facts = pq.read_metadata(path)
    if seen[:_NAME_DIGITS] != path.name.removesuffix(SUFFIX):
        raise _damaged(path, f"Its name is not the start of its sha256, {seen}.")
    size = sum(facts.row_group(one).total_byte_size for one in range(facts.num_row_groups))
    if facts.num_rows > _MOST_ROWS or size > _MOST_BYTES:
        raise _damaged(path, f"It has {facts.num_rows} rows and {size} bytes.")
    try:
        known = _sound_scalars([path])
        if rows:
            _require_texts(path, known)
    except RecordError as error:
        raise _damaged(path, reason(error)) from error


def _require_texts(path: Path, known: pa.Table) -> None:
    """RecordError unless the texts in the Segment at *path* are records with the *known* scalars.

    A Segment of an older landspeed lacks columns.
    """
    with _readable(path), pq.ParquetFile(path) as file:
        texts = file.read([TEXT])[TEXT].to_pylist()
        columns = [name for name in SCALARS.names if name in file.schema_arrow.names]
    try:
        told = scalars(Record.from_json(parse_json(text)).to_json() for text in texts)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise _damaged(path, reason(error)) from error
    if not _plain(told, columns).equals(_plain(known, columns)):
        raise _damaged(path, "Its columns are not those of its records.")
    if len(set(known["id"].to_pylist())) != len(known):
        raise _damaged(path, "It has a record twice.")


def _plain(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the columns *names* of *table*, without dictionaries."""
    types = [SCALARS.field(name).type for name in names]
    plain = [pa.string() if pa.types.is_dictionary(one) else one for one in types]
    return (
        table.select(names).cast(pa.schema(list(zip(names, plain, strict=True)))).combine_chunks()
    )


def _damaged(path: Path, detail: str) -> RecordError:
    return RecordError(
        f'segment "{path}" is damaged',
        detail=detail,
        hint='"landspeed farm results check" lists what is damaged.',
    )
