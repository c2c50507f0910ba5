"""All samples as Parquet, one file for the records of each year: see docs/data.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from base.files import write_atomic
from landspeed.results.arrays import marks

SAMPLES = "samples"
"""The directory of the results, and of the pages' data, that has the files."""

_MARK = b"landspeed"


def write_samples(table: pa.Table, results: Path) -> list[str]:
    """Write *table* (RecordStore.table()) below *results*; return the names of its files.

    The file of a year is written again only where its records are not the same.
    """
    years = pc.utf8_slice_codeunits(table["time"], 0, 4)
    names = []
    for year in sorted(pc.unique(years).to_pylist()):
        rows = table.filter(pc.equal(years, year))
        mark = f"{rows.num_columns} {np.sum(marks(rows['id']))}".encode()
        path = results / SAMPLES / f"{year}.parquet"
        names.append(path.name)
        if _mark_of(path) != mark:
            sink = pa.BufferOutputStream()
            marked = rows.replace_schema_metadata({_MARK: mark})
            pq.write_table(marked, sink, compression="zstd")
            write_atomic(path, sink.getvalue().to_pybytes(), durable=False)
    for path in (results / SAMPLES).glob("*.parquet"):
        if path.name not in names:
            path.unlink()
    return names


def _mark_of(path: Path) -> bytes | None:
    try:
        return (pq.read_schema(path).metadata or {}).get(_MARK)
    except (OSError, pa.ArrowException):
        return None
