"""What is said of many rows at once is what would be said of each by itself."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

import numpy as np
import pyarrow as pa
import pytest

from landspeed.results import arrays
from landspeed.results.arrays import Groups, codes, distinct, lasts, marks, numbers

DICE = np.random.default_rng(7)
ROWS = 500


@pytest.fixture
def table() -> pa.Table:
    """Words, numbers and holes."""
    words = pa.array([*("abc"[i] for i in DICE.integers(0, 3, ROWS - 1)), None])
    return pa.table(
        {
            "word": words.dictionary_encode(),
            "number": pa.array([None, *DICE.integers(0, 5, ROWS - 1).tolist()], pa.int64()),
            "value": pa.array([None if v > 0.9 else v for v in DICE.random(ROWS)], pa.float64()),
            "id": [f"{i:032x}" for i in range(ROWS)],
        }
    )


def by_hand(table: pa.Table) -> dict[tuple[object, object], list[int]]:
    found: dict[tuple[object, object], list[int]] = defaultdict(list)
    for row, (word, number) in enumerate(
        zip(table["word"].to_pylist(), table["number"].to_pylist(), strict=True)
    ):
        found[word, number].append(row)
    return found


@pytest.mark.parametrize("largest", [arrays._LARGEST, 3])
def test_rows_are_grouped_by_all_columns_in_the_order_of_their_last_rows(
    table: pa.Table, largest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_LARGEST", largest)
    groups = Groups(codes(table, ["word", "number"]))
    found = [groups.order[a:b].tolist() for a, b in zip(groups.starts, groups.ends, strict=True)]
    assert found == sorted(by_hand(table).values(), key=lambda rows: rows[-1])
    assert groups.lasts.tolist() == [rows[-1] for rows in found]
    assert groups.sizes.tolist() == [len(rows) for rows in found]


@pytest.mark.parametrize("sparse", [arrays._SPARSE, 0])
def test_the_last_row_of_each_code_is_found_however_large_the_codes(
    table: pa.Table, sparse: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_SPARSE", sparse)
    rows = by_hand(table)
    found = lasts(codes(table, ["word", "number"]))
    assert sorted(found) == sorted(some[-1] for some in rows.values())
    # distinct() has the first rows, in their order
    assert [tuple(row.values()) for row in distinct(table, ["word", "number"])] == list(rows)
    assert len(lasts(np.zeros(0, dtype=np.int64))) == 0


def test_a_column_that_is_the_same_everywhere_tells_no_rows_apart(table: pa.Table) -> None:
    same = table.append_column("same", pa.array(["x"] * ROWS))
    assert codes(same, ["word", "same"]).tolist() == codes(table, ["word"]).tolist()
    holes = table.append_column("same", pa.array(["x"] * (ROWS - 1) + [None]))
    assert len(set(codes(holes, ["same"]).tolist())) == 2


def test_medians_leave_out_holes(table: pa.Table) -> None:
    groups = Groups(codes(table, ["word", "number"]))
    values = table["value"].to_pylist()
    wanted = []
    for rows in sorted(by_hand(table).values(), key=lambda rows: rows[-1]):
        some = [values[row] for row in rows if values[row] is not None]
        wanted.append(median(some) if some else None)
    found = groups.medians(numbers(table["value"])).tolist()
    assert [None if value != value else value for value in found] == wanted  # noqa: PLR0124


def test_marks_tell_sets_of_ids_apart_whatever_their_order(table: pa.Table) -> None:
    own = marks(table["id"])
    assert len(set(own.tolist())) == ROWS
    together, apart = Groups(np.zeros(4, np.int64)), Groups(np.array([0, 0, 1, 1]))
    assert together.sums(own[:4]) == together.sums(own[:4][::-1])
    first, second = apart.sums(own[:4])
    # linear sums of these would be the same: 0 + 3 = 1 + 2
    assert Groups(np.zeros(2, np.int64)).sums(own[[0, 3]]) != apart.sums(own[[1, 2, 0, 0]])[0]
    assert first != second


def test_no_rows_are_no_groups(table: pa.Table) -> None:
    none = table.slice(0, 0)
    groups = Groups(codes(none, ["word"]))
    assert (len(groups), len(groups.lasts), len(marks(none["id"]))) == (0, 0, 0)
    assert len(groups.medians(np.zeros(0))) == 0
