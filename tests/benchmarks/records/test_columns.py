"""The scalar columns of a record."""

from __future__ import annotations

from benchmarks.records.columns import COLUMNS
from tests.kits.made_up.synthetic import Point, counted_record, record


def test_every_column_has_a_place_in_the_record() -> None:
    one = record(Point(commit="c" * 40, build="seg2-clang-O3"))
    one["build"]["origin"]["registered"] = "somebody-elses"
    one["run"] |= {"comparison": "abc", "block": 1, "side": 0}
    cell = {**one["cell"], "buffers": "warm"}
    counted = counted_record(one["build"], cell, one["machine"], one["epoch"])
    absent = [c.name for c in COLUMNS if c.value(one) is None and c.value(counted) is None]
    assert absent == []
