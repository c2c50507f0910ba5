"""Warnings as people read them, and where the time went beside the number."""

from __future__ import annotations

from typing import Any

from benchmarks.records.store import RecordStore
from landspeed.results.point_query import parse_point
from landspeed.results.show import as_text, details, find_points
from landspeed.results.warnings import cautions, cautions_of_points, slim
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


def test_a_warning_says_in_how_many_runs_of_what_it_was_seen() -> None:
    found = cautions({"17": [run(), run(1, warnings=STEAL)], "18": [run(2), run(3)]})
    (one,) = found
    assert one.where == "1 of 2 runs of 17"
    assert one.lines()[0] == "warning: 2.0% of processor time was stolen (1 of 2 runs of 17)"
    assert "Try: " in str(one)
    assert one.facts()["runs"] == {"17": 1, "18": 0}
    assert one.facts()["of"] == {"17": 2, "18": 2}


def test_a_checkpoint_on_one_side_only_is_a_warning_of_the_comparison() -> None:
    (one,) = cautions({"17": [run()], "18": [run(1, begun=1.0)]})
    assert one.pitfall.seen == "a checkpoint began in 1 of 2 runs"
    assert one.where == "2 of 2 runs"


def test_a_run_that_two_groups_share_is_one() -> None:
    shared = run(1, begun=1.0)
    (one,) = cautions({"blocks": [run(), shared], "WAL blocks": [shared]})
    assert one.pitfall.seen == "a checkpoint began in 1 of 2 runs"
    assert one.where == "2 of 2 runs"


def test_runs_of_different_points_are_not_held_against_each_other() -> None:
    points = {"18 -c 1": [run(), run(1)], "18 -c 4": [run(2, begun=1.0), run(3, begun=1.0)]}
    assert cautions_of_points(points) == []
    points["18 -c 1"].append(run(4, begun=1.0))
    (one,) = cautions_of_points(points)
    assert one.where == "3 of 3 runs of 18 -c 1"


def test_what_is_kept_of_many_runs_is_enough_for_their_warnings() -> None:
    whole = [run(0, warnings=STEAL), run(1, begun=1.0)]
    assert cautions({"": map(slim, whole)}) == cautions({"": whole})
    assert set(slim(whole[0])) == {"warnings", "statistics"}


def test_where_the_time_went_is_told_in_words_and_shares() -> None:
    rows = dict(evidence_rows([run(0), run(1)]))
    assert rows["processors"].startswith("user ")
    assert "context switches/s" in rows["processors"]
    assert "of the processors that its 2 threads can have" in rows["client"]
    assert rows["backends"].startswith("LWLock:WALWrite 50%, running 40%, Client:ClientRead 10%")
    assert rows["other processes"] == "walwriter IO:WALSync (2)"
    assert rows["locks waited for"] == "transactionid ShareLock (2)"
    assert "BEGIN 0.05" in rows["statements"]
    assert "12 pages written a run" in rows["buffers"]
    assert (
        "bytes of WAL a transaction; checkpoints began in 0 of 2 runs" in rows["WAL, checkpoints"]
    )
    assert rows["disk"].startswith("sda: ")
    assert rows["server's own I/O"].startswith("read ")
    assert rows["looking cost"].endswith("% of processor time")


def test_a_disk_that_nobody_can_name_is_said_to_be_so() -> None:
    one = run()
    one["evidence"]["disk"] = {"why": "the data is on tmpfs, which names no disk"}
    assert dict(evidence_rows([one]))["disk"] == "the data is on tmpfs, which names no disk"


def test_runs_of_an_older_landspeed_have_no_such_rows() -> None:
    old = run()
    del old["evidence"]
    assert evidence_rows([old]) == []


def test_show_has_them_next_to_the_number(tmp_path: Any) -> None:
    store = RecordStore(tmp_path)
    for number in range(2):
        store.add(run(number, warnings=STEAL if number else None))
    query = parse_point("18.1/read-write", lambda _: None)
    (point,) = find_points(store.table(), query)
    records = list(store.records([one["id"] for one in point.runs]))
    text = as_text(details(point, records))
    assert "where the time went" in text
    assert "warning: 2.0% of processor time was stolen (1 of 2 runs)" in text
    assert text.index("where the time went") < text.index("installed files")
