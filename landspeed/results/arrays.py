"""Group and encode the rows of large tables as arrays, without an object per row. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.uint64]

_LARGEST = 2**62
_SPARSE = 8


class Groups:
    """Groups of rows with equal *codes*: group i has rows ``order[starts[i]:ends[i]]``.

    Rows keep their order within a group. Groups are in the order of their last rows.
    """

    def __init__(self, codes: Ints) -> None:
        self.order = order = np.argsort(codes, kind="stable")
        cuts = np.flatnonzero(np.diff(codes[order])) + 1
        starts = np.concatenate([[0], cuts])[: len(codes)].astype(np.int64)
        ends = np.concatenate([cuts, [len(codes)]])[: len(codes)].astype(np.int64)
        by_last = np.argsort(order[ends - 1]) if len(codes) else starts
        self.starts, self.ends = starts[by_last], ends[by_last]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lasts(self) -> Ints:
        """The last row of each group."""
        return self.order[self.ends - 1]

    @property
    def sizes(self) -> Ints:
        """Number of rows of each group."""
        return self.ends - self.starts

    def rows(self, group: int) -> Ints:
        """Return the rows of the group with this number."""
        return self.order[self.starts[group] : self.ends[group]]

    def sums(self, marks: Marks) -> Marks:
        """Return the sum of *marks*, one per row, in each group (modulo 2^64)."""
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(marks[self.order])])
        return np.asarray(total[self.ends] - total[self.starts])

    def medians(self, values: Floats) -> Floats:
        """Return the median of each group's *values* without NaN; NaN where none are left."""
        inner = values[self.order]
        ordered = self._sorted_within(inner)
        known = np.concatenate([[0], np.cumsum(~np.isnan(inner))])
        counts = known[self.ends] - known[self.starts]
        low = ordered[self.starts + np.maximum(counts - 1, 0) // 2]
        high = ordered[self.starts + np.minimum(counts // 2, np.maximum(self.sizes - 1, 0))]
        return np.where(counts > 0, np.where(low == high, low, (low + high) / 2), np.nan)

    def _sorted_within(self, inner: Floats) -> Floats:
        """Return *inner*, values in the order of the groups, sorted within each, NaN last."""
        if len(self) == len(inner):
            return inner
        which = np.zeros(len(inner), dtype=np.int64)
        which[self.starts] = 1
        by_start = np.cumsum(which)
        return np.asarray(inner[np.lexsort((inner, by_start))])


def codes(table: pa.Table, names: Iterable[str]) -> Ints:
    """Return a number for each row of *table*, equal where all columns *names* are equal."""
    total, size = np.zeros(table.num_rows, dtype=np.int64), 1
    for name in names:
        column = _encoded(table[name])
        # A column with a single value distinguishes no rows.
        if column.null_count or len(column.dictionary) > 1:
            own, known = words(column)
            total, size = joined(total, size, own, len(known) + 1)
    return total


def both(one: Ints, other: Ints) -> Ints:
    """Return a number for each pair of *one* and *other*, codes of the same rows."""
    return joined(one, int(one.max(initial=0)) + 1, other, int(other.max(initial=0)) + 1)[0]


def joined(total: Ints, size: int, own: Ints, count: int) -> tuple[Ints, int]:
    """Return numbers for the pairs of *total* (< *size*) and *own* (< *count*), and their bound."""
    if size * count > _LARGEST:
        _, total = np.unique(total, return_inverse=True)
        size = int(total.max(initial=0)) + 1
    return total * count + own, size * count


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    whole = pa.chunked_array(column.chunks, type=column.type).combine_chunks()
    return whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()


def words(column: pa.ChunkedArray | pa.DictionaryArray) -> tuple[Ints, pa.Array]:
    """Return the index of each row's value (one past the last for null), and the values."""
    whole = column if isinstance(column, pa.DictionaryArray) else _encoded(column)
    known = whole.dictionary
    indices = pc.fill_null(whole.indices.cast(pa.int64()), len(known))
    return indices.to_numpy(zero_copy_only=False), known


def distinct(
    table: pa.Table, names: Sequence[str], more: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Return the distinct rows of the columns *names*, in the order of their first appearance.

    They have the columns *more* as well, as they first appear.
    """
    firsts = table.num_rows - 1 - lasts(codes(table, names)[::-1])
    rows: list[dict[str, Any]] = table.select([*names, *more]).take(np.sort(firsts)).to_pylist()
    return rows


def lasts(codes: Ints) -> Ints:
    """Return the last row of each of *codes*, in no particular order."""
    most = int(codes.max(initial=-1)) + 1
    if most > _SPARSE * len(codes):
        _, found = np.unique(codes[::-1], return_index=True)
        return np.asarray(len(codes) - 1 - found)
    # numpy keeps the last of several values that are assigned to one index.
    found = np.full(most, -1)
    found[codes] = np.arange(len(codes))
    return np.asarray(found[found >= 0])


def numbers(column: pa.ChunkedArray) -> Floats:
    """Return the numbers of *column*, NaN for null."""
    return np.asarray(pc.fill_null(column.cast(pa.float64()), np.nan).to_numpy())


def marks(ids: pa.ChunkedArray) -> Marks:
    """Return a 64-bit hash of each of *ids*; the sum of hashes identifies a set of ids.

    Eight letters at a time are mixed by the finalizer of SplitMix64 (Steele, Lea & Flood 2014,
    OOPSLA, doi 10.1145/2660193.2660195).
    """
    names = np.asarray(ids.to_numpy()).astype("S32")
    mixed = np.zeros(len(names), dtype=np.uint64)
    for part in names.view(np.uint64).reshape(-1, 4).T:
        mixed = (mixed ^ (mixed >> np.uint64(32)) ^ part) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
