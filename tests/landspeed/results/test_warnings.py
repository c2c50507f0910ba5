"""Warnings as people read them, and where the time went beside the number."""

from __future__ import annotations

from typing import Any

from benchmarks.observation.warnings import RunFindings
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from landspeed.console.table import as_text
from landspeed.results.point_query import parse_point
from landspeed.results.show import details, find_points
from landspeed.results.warnings import count_warnings, count_warnings_by_point
from landspeed.results.where_time_went import evidence_rows
from tests.kits.made_up.synthetic import Point, record

STEAL = {"steal": "2.0% of processor time was stolen"}


def run(number: int = 0, *, warnings: dict[str, str] | None = None, begun: float = 0.0) -> Any:
    one = record(Point(mode="read-write", clients=4), number=number)
    one["warnings"] = warnings or {}
    one["statistics"] = {
        "pg_stat_checkpointer": {"num_timed": 0.0, "num_requested": begun},
        "pg_stat_io": {"client backend/relation/normal.writes": 12.0},
    }
    return one


def findings(number: int = 0, **how: Any) -> RunFindings:
    return RunFindings.of(Record.from_json(run(number, **how)))


def test_a_warning_says_in_how_many_runs_of_what_it_was_seen() -> None:
    found = count_warnings(
        {"17": [findings(), findings(1, warnings=STEAL)], "18": [findings(2), findings(3)]}
    )
    (one,) = found
    assert one.where == "1 of 2 runs of 17"
    assert (
        str(one).splitlines()[0] == "warning: 2.0% of processor time was stolen (1 of 2 runs of 17)"
    )
    assert "Try: " in str(one)
    assert one.facts()["runs"] == {"17": 1, "18": 0}
    assert one.facts()["of"] == {"17": 2, "18": 2}


def test_a_checkpoint_on_one_side_only_is_a_warning_of_the_comparison() -> None:
    (one,) = count_warnings({"17": [findings()], "18": [findings(1, begun=1.0)]})
    assert one.seen == "a checkpoint began in 1 of 2 runs"
    assert one.where == "2 of 2 runs"


def test_a_run_that_two_groups_share_is_one() -> None:
    shared = findings(1, begun=1.0)
    (one,) = count_warnings({"blocks": [findings(), shared], "WAL blocks": [shared]})
    assert one.seen == "a checkpoint began in 1 of 2 runs"
    assert one.where == "2 of 2 runs"


def test_runs_of_different_points_are_not_held_against_each_other() -> None:
    points = {
        "18 -c 1": [findings(), findings(1)],
        "18 -c 4": [findings(2, begun=1.0), findings(3, begun=1.0)],
    }
    assert count_warnings_by_point(points) == []
    points["18 -c 1"].append(findings(4, begun=1.0))
    (one,) = count_warnings_by_point(points)
    assert one.where == "3 of 3 runs of 18 -c 1"


def test_where_the_time_went_is_told_in_words_and_shares() -> None:
    rows = dict(evidence_rows([Record.from_json(run(0)), Record.from_json(run(1))]))
    assert rows["processors"].startswith("user ")
    assert "context switches/s" in rows["processors"]
    assert "of the processors that its 2 threads can have" in rows["client"]
    assert rows["backends"].startswith("LWLock:WALWrite 50%, running 40%, Client:ClientRead 10%")
    assert rows["other processes"] == "walwriter IO:WALSync (2)"
    assert rows["locks waited for"] == "transactionid ShareLock (2)"
    assert "BEGIN 0.05" in rows["statements"]
    assert "12 pages written per run" in rows["buffers"]
    assert (
        "bytes of WAL per transaction; checkpoints began in 0 of 2 runs" in rows["WAL, checkpoints"]
    )
    assert rows["disk"].startswith("sda: ")
    assert rows["server's own I/O"].startswith("read ")
    assert rows["cost of monitoring"].endswith("% of processor time")


def test_a_disk_that_nobody_can_name_is_said_to_be_so() -> None:
    one = run()
    one["evidence"]["disk"] = {"why": "the data is on tmpfs, which names no disk"}
    assert (
        dict(evidence_rows([Record.from_json(one)]))["disk"]
        == "the data is on tmpfs, which names no disk"
    )


def test_runs_of_an_older_landspeed_have_no_such_rows() -> None:
    old = run()
    del old["evidence"]
    assert evidence_rows([Record.from_json(old)]) == []


def test_show_has_them_next_to_the_number(tmp_path: Any) -> None:
    store = RecordStore(tmp_path)
    for number in range(2):
        store.add(Record.from_json(run(number, warnings=STEAL if number else None)))
    query = parse_point("18.1/read-write", lambda _: None)
    (point,) = find_points(store.table(), query)
    records = list(store.records([one.id for one in point.runs]))
    text = as_text(details(point, records))
    assert "where the time went" in text
    assert "warning: 2.0% of processor time was stolen (1 of 2 runs)" in text
    assert text.index("where the time went") < text.index("installed files")
