"""Series of executions between marks: the script, and which parts have a series in them."""

from __future__ import annotations

import re

import pytest

from base.errors import MeasureError
from benchmarks.counted.callgrind import Profile
from benchmarks.counted.relay import mark_in
from benchmarks.counted.series import MARK, SeriesPlan, drawn
from benchmarks.workloads.catalog import choose
from benchmarks.workloads.dialect import Dialect
from tests.kits.servers.known_settings import RECORDED

LENGTHS = (30, 5, 30)
PROFILE = "part: {part}\nfn=(1) PostgresMain\n0 {cost}\n{more}totals: 1\n"
FLUSH = """fn=(2) pgstat_report_stat
0 7
cfn=(3) pgstat_relation_flush_cb
calls=1 0
0 40
cfn=(4) GetCurrentTransactionStopTimestamp
calls=1 0
0 9
fn=(3)
0 40
fn=(4)
0 9
"""


def plan(name: str = "update-hot") -> SeriesPlan:
    (workload,) = choose([name])
    return SeriesPlan.of(
        workload,
        LENGTHS,
        settle="SELECT flush();\n",
        database=5,
        wal_position="SELECT lsn()",
        dialect=Dialect.of(RECORDED["18.6"]),
    )


def answers(made: SeriesPlan) -> list[str]:
    """Return answers of marks between which WAL and blocks grow by 100 and 3 with each."""
    return [
        f"0/{100 * number:X}" + (f" {3 * number} {2 * number}" if number % 3 == 1 else "")
        for number in range(made.marks)
    ]


def parts(made: SeriesPlan) -> list[str]:
    return [
        PROFILE.format(part=number + 1, cost=1000 + number, more=FLUSH)
        for number in range(made.marks + 1)
    ]


def test_the_script_marks_both_ends_of_each_series() -> None:
    made = plan()
    assert made.script.count(f"{MARK}();") == 3
    assert made.executions == sum(LENGTHS) + 1
    for end in (0, 30, 35, 65):
        assert f":landspeed_execution = {end}" in made.script
    flush = [found.start() for found in re.finditer("SELECT flush", made.script)]
    assert flush[0] < made.script.index("TRUNCATE counters") < flush[1]


def test_every_series_draws_the_same_numbers() -> None:
    made = drawn("\\set aid random(1, 100000 * :scale)\n\\set tid random(1, 10)\nSELECT :aid;\n")
    first, second, query, step = made.splitlines()
    assert first == (
        "\\set aid (1) + (hash_murmur2(:landspeed_draw, 0) & 9223372036854775807)"
        " % (100000 * :scale - (1) + 1)"
    )
    assert "hash_murmur2(:landspeed_draw, 1)" in second
    assert query == "SELECT :aid;"
    assert step == "\\set landspeed_draw :landspeed_draw + 1"
    # the one before a series draws what no series draws
    assert plan().script.index("landspeed_draw -1") < plan().script.index(drawn("").strip())


@pytest.mark.parametrize(
    "expression",
    [
        "random(1, 9) * random(1, 5)",
        "random(1, 9) * (2)",
        "random(least(1, 2), 9)",
        "2 * random(1, 9)",
    ],
)
def test_what_is_more_than_one_random_number_is_left_as_it_is(expression: str) -> None:
    script = f"\\set a {expression}\n"
    assert drawn(script).startswith(script)


def test_a_random_number_may_begin_and_end_with_an_expression() -> None:
    (first, _) = drawn("\\set a random(:low - 1, greatest(:low, 9))\n").splitlines()
    assert first.endswith("% (greatest(:low, 9) - (:low - 1) + 1)")


def test_series_are_the_parts_from_one_boundary_to_the_next() -> None:
    made = plan()
    found = made.series(parts(made)[::-1], answers(made))
    assert [one.executions for one in found] == [30, 5, 30]
    # what the clock starts is apart: the flush, not the look at the clock
    assert [one.instructions for one in found] == [1003 + 16, 1006 + 16, 1009 + 16]
    assert {one.clocked for one in found} == {40}
    assert {one.wal_bytes for one in found} == {100}
    assert {(one.blocks_hit, one.blocks_read) for one in found} == {(6, 3)}


def test_what_other_processes_execute_in_a_part_counts_with_its_series() -> None:
    made = plan()
    alone = made.series(parts(made), answers(made))
    worker = Profile(own={"ParallelWorkerMain": 500}, edges={})
    # the fourth part is the first series; the third lies between marks
    both = made.series(parts(made), answers(made), {4: worker, 3: worker})
    assert both[0].instructions == alone[0].instructions + 500
    assert both[0].profile.own["ParallelWorkerMain"] == 500
    assert both[1:] == alone[1:]


def test_a_mark_too_many_or_too_few_is_an_error() -> None:
    made = plan()
    with pytest.raises(MeasureError, match="callgrind wrote 14 parts, not 13"):
        made.series([*parts(made), ""], answers(made))
    with pytest.raises(MeasureError, match="11 of 12 marks were answered"):
        made.series(parts(made), answers(made)[:-1])


@pytest.mark.parametrize("forged", ["0/64", "0/64 3", "0/64 3 2 1", "", "0/64/0 3 2"])
def test_an_answer_that_no_mark_gives_is_an_error(forged: str) -> None:
    made = plan()
    before, _, *after = answers(made)
    with pytest.raises(MeasureError, match="answers of the marks cannot be understood"):
        made.series(parts(made), [before, forged, *after])


def test_the_answer_of_a_mark_is_recognised_among_messages() -> None:
    row = b"D\x00\x00\x00\x17\x00\x02\x00\x00\x00\x0f0/1A2B3C8 12 10\x00\x00\x00\x044242"
    data = b"T\x00\x00\x00\x05x" + row + b"C\x00\x00\x00\x0dSELECT 1\x00"
    assert mark_in(data) == "0/1A2B3C8 12 10"
    assert mark_in(b"D\x00\x00\x00\x0a\x00\x01\x00\x00\x00\x01\x31") is None
