"""The scalars of many Segments kept in one file, because opening thousands takes seconds.

It can be thrown away at any time; it is never merged and git ignores it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import feather

from base.errors import StorageError
from base.files import write_atomic, writing
from benchmarks.records.columns import SCALARS
from benchmarks.records.segments import read_sound

_SEGMENTS = b"segments"
# Fewer Segments, or rows, are read as quickly as the cache is written.
_WORTHWHILE_SEGMENTS, _WORTHWHILE_ROWS = 64, 1 << 16


def each_once(table: pa.Table) -> pa.Table:
    """Return *table* in the order of its ids, the first of several rows with one id."""
    if not _increasing(table["id"]):
        table = table.sort_by("id")
        ids = table["id"].combine_chunks()
        first = pc.not_equal(ids.slice(1), ids.slice(0, len(ids) - 1))
        table = table.filter(pa.concat_arrays([pa.array([True]), first])).combine_chunks()
    return table


def _increasing(column: pa.ChunkedArray) -> bool:
    if len(column) < 2:
        return True
    ids = column.combine_chunks()
    return bool(pc.all(pc.less(ids.slice(0, len(ids) - 1), ids.slice(1))).as_py())


def cached_scalars(root: Path, segments: Sequence[Path]) -> pa.Table:
    """Return all scalar columns of *segments*, each record once, with the help of *root*'s cache.

    Segments never change, so only those that are new are read.
    """
    path = root / ".cache" / "scalars.arrow"
    names = {segment.relative_to(root).as_posix(): segment for segment in segments}
    known, table = _load(path)
    if not known <= names.keys():
        known, table = set(), SCALARS.empty_table()
    fresh = [segment for name, segment in names.items() if name not in known]
    if fresh:
        new, sound = read_sound(fresh)
        # a damaged one is read, and told of, each time: it may be mended
        known |= {segment.relative_to(root).as_posix() for segment in sound}
        table = each_once(pa.concat_tables([table, new]).unify_dictionaries())
        if len(fresh) >= _WORTHWHILE_SEGMENTS or new.num_rows >= _WORTHWHILE_ROWS:
            del new
            _save(path, sorted(known), table)
            saved, mapped = _load(path)
            # A file that is mapped takes memory only for the columns that are read.
            table = mapped if saved == known else table
            pa.default_memory_pool().release_unused()
    return table


def _load(path: Path) -> tuple[set[str], pa.Table]:
    with suppress(OSError, pa.ArrowException, ValueError, KeyError):
        table = feather.read_table(path, memory_map=True)
        known = json.loads(table.schema.metadata[_SEGMENTS])
        if table.schema.equals(SCALARS, check_metadata=False):
            return set(known), table.replace_schema_metadata(None)
    return set(), SCALARS.empty_table()


def _save(path: Path, names: list[str], table: pa.Table) -> None:
    marked = table.replace_schema_metadata({_SEGMENTS: json.dumps(names).encode()})
    with suppress(StorageError, OSError):  # a store that is read-only or full just stays slow
        write_atomic(path.parent / ".gitignore", "*\n")
        # uncompressed, so that reading is mapping the file
        with writing(path, durable=False) as stream:
            feather.write_feather(marked, stream, compression="uncompressed")
