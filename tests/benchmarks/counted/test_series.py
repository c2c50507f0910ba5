"""Series of executions between marks: the script, and which parts have a series in them."""

from __future__ import annotations

import pytest

from base.errors import MeasureError
from benchmarks.counted.relay import wal_position_in
from benchmarks.counted.series import COUNTER, MARK, SeriesPlan
from benchmarks.workloads.catalog import choose


def plan(name: str = "update-hot") -> SeriesPlan:
    (workload,) = choose([name])
    return SeriesPlan.of(workload, settle="SELECT flush();", wal_position="SELECT lsn()")


def test_the_script_marks_both_ends_of_each_series_and_executes_one_more() -> None:
    made = plan()
    assert made.script.count(f"SELECT {MARK}(), (SELECT lsn());") == 2
    assert made.executions == sum(made.lengths) + 1
    for end in (0, 300, 350, 650, 700, 1000):
        assert f":{COUNTER} = {end}" in made.script
    assert made.script.index("TRUNCATE counters") < made.script.index("SELECT flush();")


def test_series_are_the_parts_from_one_boundary_to_the_next() -> None:
    made = plan()
    parts = [f"part: {number}\n" for number in range(1, made.marks + 2)]
    assert made.series(parts[::-1]) == [parts[number] for number in (2, 4, 6, 8, 10)]


def test_a_part_too_many_is_an_error() -> None:
    with pytest.raises(MeasureError, match="callgrind wrote 14 parts, not 13"):
        plan().series(["part: 1\n"] * 14)


def test_wal_bytes_are_those_of_the_series_alone() -> None:
    made = plan()
    # a mark, restoring takes 1000, a mark, the series takes 10, 20, … and so on
    positions, at = [], 0
    for size in (10, 20, 30, 40, 50, 0):
        positions += [at, at + 1000]
        at += 1000 + size
    assert made.wal_bytes(positions) == [10, 20, 30, 40, 50]
    with pytest.raises(MeasureError, match="11 of 12 marks were answered"):
        made.wal_bytes(positions[:-1])


def test_the_answer_of_a_mark_is_recognised_among_messages() -> None:
    row = b"D\x00\x00\x00\x17\x00\x02\x00\x00\x00\x04" + b"4242" + b"\x00\x00\x00\x09"
    data = b"T\x00\x00\x00\x05x" + row + b"0/1A2B3C8" + b"C\x00\x00\x00\x0dSELECT 1\x00"
    assert wal_position_in(data) == "0/1A2B3C8"
    assert wal_position_in(b"D\x00\x00\x00\x0a\x00\x01\x00\x00\x00\x01\x31") is None
