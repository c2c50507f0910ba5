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
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from base.errors import RecordError
from base.files import digest_file, write_atomic
from benchmarks.records.columns import SCALARS, TEXT, scalars

SUFFIX = ".parquet"
_NAME_DIGITS = 32
# Measured on segments of 256 records: 3 takes 505 bytes a record, 12 takes 416 at little more
# time, 19 takes 387 at five times the time.
_ZSTD_LEVEL = 12
# A page is what zstd sees at once; records resemble each other, so large pages are small files.
_PAGE_BYTES = 8 << 20
_ROWS_PER_GROUP = 8192
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
    except (pa.ArrowException, OSError) as error:
        raise RecordError(
            f'could not read segment "{path}"',
            detail=str(error).strip().splitlines()[0],
            hint="Copy it again from where it came, or move it out of the segments directory.",
        ) from error


def write_segment(directory: Path, texts: Mapping[str, str]) -> Path:
    """Write records (id → JSON text) to *directory* as one durable Segment; its path.

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
    write_atomic(path, data)
    sync_directory(directory)
    return path


def sync_directory(directory: Path) -> None:
    """Make the names in *directory* durable (see fsync(2))."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_scalars(paths: Sequence[Path], columns: Sequence[str]) -> pa.Table:
    """Return the scalar *columns* of the Segments at *paths*; RecordError naming a damaged one."""
    schema = pa.schema([SCALARS.field(name) for name in columns])
    if not paths:
        return schema.empty_table()
    try:
        dataset = ds.dataset([str(path) for path in paths], schema=schema, format=_FORMAT)
        return dataset.to_table(columns=list(columns))
    except (pa.ArrowException, OSError):
        # arrow does not always name the file: find the damaged one by reading them one by one
        return pa.concat_tables([_read_one(path, schema) for path in paths])


def _read_one(path: Path, schema: pa.Schema) -> pa.Table:
    with _readable(path):
        return ds.dataset(str(path), schema=schema, format=_FORMAT).to_table()


def read_texts(paths: Sequence[Path], wanted: ds.Expression) -> dict[str, str]:
    """id → JSON text of the records whose ids are *wanted*, in the Segments at *paths*."""
    schema = pa.schema([pa.field("id", pa.string()), pa.field(TEXT, pa.large_string())])
    found: dict[str, str] = {}
    for path in paths:
        with _readable(path):
            segment = ds.dataset(str(path), schema=schema, format=_FORMAT)
            # the texts are nearly all of a file: read them only where an id is wanted
            if segment.count_rows(filter=wanted):
                table = segment.to_table(filter=wanted)
                texts = table[TEXT].to_pylist()
                found.update(zip(table["id"].to_pylist(), texts, strict=True))
    return found


def verify_segment(path: Path) -> None:
    """RecordError unless the Segment at *path* holds the very bytes its name stands for."""
    with _readable(path):
        seen = digest_file(path)
    if seen[:_NAME_DIGITS] != path.name.removesuffix(SUFFIX):
        raise RecordError(
            f'segment "{path}" is damaged',
            detail=f"Its name is not the start of its sha256, {seen}.",
            hint="Copy it again from where it came, or move it out of the segments directory.",
        )
