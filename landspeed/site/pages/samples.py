"""All samples as Parquet, one file for the records of each year: see docs/data.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from base.files import writing
from landspeed.results.arrays import marks

SAMPLES = "samples"
"""The directory of the results, and of the pages' data, that has the files."""

_MARK = b"landspeed"
_ROWS = 1 << 17


def write_samples(table: pa.Table, results: Path) -> list[str]:
    """Write *table* (RecordStore.table()) below *results*; return the names of its files.

    The file of a year is written again only where its records are not the same.
    """
    years = pc.utf8_slice_codeunits(table["time"], 0, 4)
    names = []
    for year in sorted(pc.unique(years).to_pylist()):
        wanted = pc.equal(years, year)
        mark = f"{table.num_columns} {np.sum(marks(table['id'].filter(wanted)))}".encode()
        path = results / SAMPLES / f"{year}.parquet"
        names.append(path.name)
        if _mark_of(path) != mark:
            _write(path, table.replace_schema_metadata({_MARK: mark}), wanted)
    for path in (results / SAMPLES).glob("*.parquet"):
        if path.name not in names:
            path.unlink()
    return names


def _write(path: Path, table: pa.Table, wanted: pa.ChunkedArray) -> None:
    """Write the rows of *table* that are *wanted*, some at a time: a copy of all takes memory."""
    with (
        writing(path, durable=False) as stream,
        pq.ParquetWriter(stream, table.schema, compression="zstd") as writer,
    ):
        for begin in range(0, table.num_rows, _ROWS):
            rows = table.slice(begin, _ROWS).filter(wanted.slice(begin, _ROWS))
            if rows.num_rows:
                writer.write_table(rows)


def _mark_of(path: Path) -> bytes | None:
    try:
        return (pq.read_schema(path).metadata or {}).get(_MARK)
    except (OSError, pa.ArrowException):
        return None
