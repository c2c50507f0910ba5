"""The scalar columns of a record."""

from __future__ import annotations

from benchmarks.records.columns import COLUMNS
from benchmarks.workloads.metrics import METRICS
from benchmarks.workloads.scenario import CacheState
from tests.kits.made_up.synthetic import Point, counted_record, record


def test_every_column_has_a_place_in_the_record() -> None:
    one = record(Point(commit="c" * 40, build="seg2-clang-O3"))
    one["build"]["origin"]["registered"] = "somebody-elses"
    one["run"] |= {"comparison": "abc", "block": 1, "side": 0}
    cell = {**one["cell"], "buffers": "warm"}
    counted = counted_record(one["build"], cell, one["machine"], one["epoch"])
    absent = [c.name for c in COLUMNS if c.value(one) is None and c.value(counted) is None]
    assert absent == []


def test_every_metric_has_a_column_and_shows_its_cache_state_in_its_name() -> None:
    assert {metric.column for metric in METRICS} <= {column.name for column in COLUMNS}
    cold = {metric.name for metric in METRICS if metric.buffers is CacheState.COLD}
    assert cold == {metric.name for metric in METRICS if metric.name.endswith("_cold")}
