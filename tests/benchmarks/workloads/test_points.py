"""Which recorded samples count for a point."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from benchmarks.workloads.points import ADAPTIVE, RECOUNT, count_samples, scheduled
from tests.kits.made_up.synthetic import Point, record


@pytest.mark.parametrize("preset", ADAPTIVE)
def test_runs_that_were_made_because_of_what_others_showed_count_for_nothing(
    tmp_path: Path, preset: str
) -> None:
    store = RecordStore(tmp_path)
    for number in range(5):
        one = record(Point(), number=number)
        one["run"]["preset"] = preset if number > 2 else "regular"
        store.add(Record.from_json(one))
    rows = scheduled(store.table())
    assert list(count_samples(rows).values()) == [3]
    assert rows["preset"].to_pylist() == ["regular"] * 3


def test_a_count_that_only_explains_a_change_is_not_drawn(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    for number, preset in enumerate(("compare", RECOUNT, "")):
        one = record(Point(), number=number)
        one["run"]["preset"] = preset or None
        one["sample"]["instructions"] = 1000.0
        store.add(Record.from_json(one))
    assert scheduled(store.table())["preset"].to_pylist() == ["compare", None]


def test_a_run_that_names_no_preset_counts(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    one = record(Point())
    del one["run"]["preset"]
    store.add(Record.from_json(one))
    assert scheduled(store.table()).num_rows == 1
    assert scheduled(RecordStore(tmp_path / "empty").table()).num_rows == 0
