"""Tables as numbers: what many thousands of rows have in common, without an object for each.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.uint64]
Item = TypeVar("Item")

_LARGEST = 2**62
_SPARSE = 8


class Lazily(Sequence[Item], Generic[Item]):
    """A Lazily is a sequence whose items are made when they are asked for: *make* of *places*."""

    def __init__(self, places: Ints, make: Callable[[int], Item]) -> None:
        self._places, self._make = places, make

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Item]:
        return (self._make(int(place)) for place in self._places)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Lazily[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Lazily[Item]:
        """The item at *index*, or those of a slice, as lazily."""
        if isinstance(index, slice):
            return Lazily(self._places[index], self._make)
        return self._make(int(self._places[index]))


@dataclass(frozen=True, kw_only=True)
class Groups:
    """Groups are rows with equal codes: of ``order`` each group has a start to an end.

    Within a group rows stay in their order; the groups are in that of their last rows.
    """

    order: Ints
    starts: Ints
    ends: Ints

    @classmethod
    def of(cls, codes: Ints) -> Groups:
        """The groups of rows with these *codes*."""
        order = np.argsort(codes, kind="stable")
        cuts = np.flatnonzero(np.diff(codes[order])) + 1
        starts = np.concatenate([[0], cuts])[: len(codes)].astype(np.int64)
        ends = np.concatenate([cuts, [len(codes)]])[: len(codes)].astype(np.int64)
        by_last = np.argsort(order[ends - 1]) if len(codes) else starts
        return cls(order=order, starts=starts[by_last], ends=ends[by_last])

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lasts(self) -> Ints:
        """The last row of each group."""
        return self.order[self.ends - 1]

    @property
    def sizes(self) -> Ints:
        """How many rows each group has."""
        return self.ends - self.starts

    def sums(self, marks: Marks) -> Marks:
        """The sum of *marks*, one a row, in each group (modulo 2^64)."""
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(marks[self.order])])
        return np.asarray(total[self.ends] - total[self.starts])

    def medians(self, values: Floats) -> Floats:
        """The median of each group's *values* that are no NaN; NaN where there are none."""
        inner = values[self.order]
        ordered = Groups.sorted_within(inner, self)
        known = np.concatenate([[0], np.cumsum(~np.isnan(inner))])
        counts = known[self.ends] - known[self.starts]
        low = ordered[self.starts + np.maximum(counts - 1, 0) // 2]
        high = ordered[self.starts + np.minimum(counts // 2, np.maximum(self.sizes - 1, 0))]
        return np.where(counts > 0, np.where(low == high, low, (low + high) / 2), np.nan)

    @staticmethod
    def sorted_within(inner: Floats, groups: Groups) -> Floats:
        """*inner*, values in the order of *groups*, sorted within each group: NaN comes last."""
        if len(groups) == len(inner):
            return inner
        which = np.zeros(len(inner), dtype=np.int64)
        which[groups.starts] = 1
        by_start = np.cumsum(which)
        return np.asarray(inner[np.lexsort((inner, by_start))])


def codes(table: pa.Table, names: Iterable[str]) -> Ints:
    """One number for each row of *table*: equal where all columns called *names* are."""
    total, size = np.zeros(table.num_rows, dtype=np.int64), 1
    for name in names:
        column = _encoded(table[name])
        # what all rows have tells none apart
        if column.null_count or len(column.dictionary) > 1:
            own, known = words(column)
            total, size = joined(total, size, own, len(known) + 1)
    return total


def both(one: Ints, other: Ints) -> Ints:
    """A number for each pair of *one* and *other*, which are codes of the same rows."""
    return joined(one, int(one.max(initial=0)) + 1, other, int(other.max(initial=0)) + 1)[0]


def joined(total: Ints, size: int, own: Ints, count: int) -> tuple[Ints, int]:
    """A number for each pair of *total*, below *size*, and *own*, below *count*, and its bound."""
    if size * count > _LARGEST:
        _, total = np.unique(total, return_inverse=True)
        size = int(total.max(initial=0)) + 1
    return total * count + own, size * count


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    whole = pa.chunked_array(column.chunks, type=column.type).combine_chunks()
    return whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()


def words(column: pa.ChunkedArray | pa.DictionaryArray) -> tuple[Ints, pa.Array]:
    """The index of each row's value in *column*, one past the last for null; and the values."""
    whole = column if isinstance(column, pa.DictionaryArray) else _encoded(column)
    known = whole.dictionary
    indices = pc.fill_null(whole.indices.cast(pa.int64()), len(known))
    return indices.to_numpy(zero_copy_only=False), known


def distinct(table: pa.Table, names: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of *table* that differ in the columns *names*, these alone, by their first rows."""
    # the last of the rows in reverse
    firsts = table.num_rows - 1 - lasts(codes(table, names)[::-1])
    rows: list[dict[str, Any]] = table.select(names).take(np.sort(firsts)).to_pylist()
    return rows


def lasts(codes: Ints) -> Ints:
    """The last row of each of *codes*, in no order."""
    most = int(codes.max(initial=-1)) + 1
    if most > _SPARSE * len(codes):
        _, found = np.unique(codes[::-1], return_index=True)
        return np.asarray(len(codes) - 1 - found)
    # of several numbers for one place numpy keeps the last: no need to sort
    found = np.full(most, -1)
    found[codes] = np.arange(len(codes))
    return np.asarray(found[found >= 0])


def numbers(column: pa.ChunkedArray) -> Floats:
    """The numbers of *column*; NaN where there is none."""
    return np.asarray(pc.fill_null(column.cast(pa.float64()), np.nan).to_numpy())


def marks(ids: pa.ChunkedArray) -> Marks:
    """A number of 64 bits for each of *ids*, as good as random: sums of them tell sets apart.

    The letters of an id, mixed as by the finalizer of SplitMix64 (Steele, Lea & Flood 2014,
    OOPSLA, doi 10.1145/2660193.2660195).
    """
    # eight letters at a time
    names = np.asarray(ids.to_numpy()).astype("S32")
    mixed = np.zeros(len(names), dtype=np.uint64)
    for part in names.view(np.uint64).reshape(-1, 4).T:
        mixed = (mixed ^ (mixed >> np.uint64(32)) ^ part) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
