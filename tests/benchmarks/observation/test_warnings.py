"""Warning rules: found where they apply, at the threshold stated, and nowhere else."""

from __future__ import annotations

import math
import random
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.observation.warnings import (
    RULES,
    RunFindings,
    checkpoints,
    find_warnings,
    mann_kendall,
    pages_written,
    theil_sen_change,
)
from benchmarks.records.record import Record
from tests.kits.made_up.synthetic import Point, record


def quiet(mode: str = "read-only", **changes: Any) -> dict[str, Any]:
    """The record of a Run in which nothing was wrong, with *changes* in its parts."""
    steady = [1000.0 + second % 2 for second in range(12)]
    one = record(Point(mode=mode)) | {
        "statistics": {"pg_stat_bgwriter": {"buffers_clean": 0.0}},
        "evidence": {
            "looks": 12,
            "cpu": {"user": 0.5, "system": 0.2, "idle": 0.295, "iowait": 0.0, "steal": 0.005},
            "waits": {"client backend": {"running": 12}},
            "server_io": {"read_bytes": 0, "write_bytes": 8192},
        },
    }
    one["series"] = {**one["series"], "tps": steady}
    one["sample"] |= {
        "failed": 0,
        "transactions": 12_000,
        "measured_seconds": 12.0,
        "client_cpu_seconds": 3.0,
        "wal_bytes": 200,
        "blocks_hit": 50_000,
        "blocks_read": 0,
    }
    for part, values in changes.items():
        one[part] = {**one[part], **values} if isinstance(one.get(part), dict) else values
    return one


def found(facts: dict[str, Any]) -> dict[str, str]:
    return find_warnings(Record.from_json(facts))


def names(facts: dict[str, Any]) -> list[str]:
    return list(found(facts))


def contrast(*records: dict[str, Any]) -> str:
    runs = [RunFindings.of(Record.from_json(one)) for one in records]
    return RULES["checkpoint"].contrast(runs)


@pytest.mark.parametrize("mode", ["read-only", "read-write"])
def test_a_quiet_run_has_none(mode: str) -> None:
    assert names(quiet(mode)) == []


def test_a_record_of_an_older_landspeed_is_not_judged_by_what_it_lacks() -> None:
    one = record(Point())
    assert "evidence" not in one or one["evidence"]
    for key in ("evidence", "warnings", "statistics", "series"):
        one.pop(key, None)
    one["sample"] = {"latency_ms": 1.0, "tps": 1000.0}
    assert found(one) == {}
    assert RunFindings.of(Record.from_json(one)).warnings == {}
    assert contrast(one, one) == ""


def test_failed_transactions_are_told_with_how_many_did_not_fail() -> None:
    assert found(quiet(sample={"failed": 3})) == {"failed": "3 transactions failed, 12000 did not"}


@pytest.mark.parametrize(
    ("cpu", "threads", "told"),
    [(10.7, 1, False), (10.9, 1, True), (10.9, 2, False), (21.8, 2, True)],
)
def test_a_client_is_the_limit_when_its_threads_have_no_tenth_left(
    cpu: float, threads: int, told: bool
) -> None:
    one = quiet(sample={"client_cpu_seconds": cpu}, cell={"threads": threads})
    assert ("client" in names(one)) == told


def test_a_client_with_more_threads_than_processors_is_the_limit_when_those_are_its() -> None:
    one = quiet(sample={"client_cpu_seconds": 22.0}, cell={"threads": 8}, machine={"cores": 2})
    sysbench = {"version": "1.0.20", "script": "oltp_read_only", "rows": 9}
    assert found(one | {"sysbench": sysbench}) == {
        "client": "sysbench used 92% of the processors that its 8 threads can have"
    }


@pytest.mark.parametrize(("share", "told"), [(0.0099, False), (0.01, True), (0.3, True)])
def test_stolen_time_is_told_from_one_per_cent_on(share: float, told: bool) -> None:
    one = quiet(evidence={"cpu": {"steal": share}})
    assert (names(one) == ["steal"]) == told


def test_a_run_that_becomes_slower_throughout_has_drifted() -> None:
    fall = [1000.0 - 20 * second for second in range(12)]
    assert found(quiet(series={"tps": fall})) == {
        "drift": "transactions per second fell by 25% from the first second to the last"
    }


def test_a_trend_of_less_than_what_seconds_vary_by_is_not_told() -> None:
    assert names(quiet(series={"tps": [1000.0 + second for second in range(40)]})) == []


def test_one_bad_second_is_no_trend() -> None:
    assert names(quiet(series={"tps": [1000.0] * 11 + [10.0]})) == []


def test_a_run_too_short_to_tell_a_trend_is_not_accused_of_one() -> None:
    assert names(quiet(series={"tps": [1000.0 - 100 * n for n in range(7)]})) == []
    assert names(quiet(series={"tps": [1000.0 - 100 * n for n in range(8)]})) == ["drift"]


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=30))
def test_a_trend_turned_round_is_as_rare(values: list[float]) -> None:
    assert mann_kendall(values) == mann_kendall(values[::-1])
    assert 0 <= mann_kendall(values) <= 1


@given(st.floats(0.1, 1e3), st.floats(-1, 1), st.integers(2, 40))
def test_the_change_of_a_straight_line_is_its_own(start: float, slope: float, n: int) -> None:
    line = [start * (1 + slope * k / (10 * n)) for k in range(n)]
    change = (line[-1] - line[0]) / ((line[0] + line[-1]) / 2)
    assert theil_sen_change(line) == pytest.approx(change, abs=1e-9)


def test_noise_without_a_trend_is_taken_for_one_no_more_often_than_stated() -> None:
    dice = random.Random(5)
    runs = [[dice.gauss(1000, 60) for _ in range(12)] for _ in range(4000)]
    assert sum(mann_kendall(run) < 0.01 for run in runs) <= 60


def test_the_probability_of_a_trend_is_near_the_exact_one() -> None:
    """All orders of 7 values, counted: the exact distribution of Kendall's score."""
    scores = [mann_kendall(order) for order in permutations(range(7))]
    for bound in (0.05, 0.2, 0.5):
        exact = sum(score <= bound for score in scores) / math.factorial(7)
        assert exact <= bound + 0.01


def test_a_clock_that_fell_and_a_hot_processor_are_told() -> None:
    assert names(quiet(evidence={"clock_mhz": [3000.0, 2851.0]})) == []
    assert names(quiet(evidence={"clock_mhz": [3000.0, 2800.0]})) == ["clock"]
    assert names(quiet(evidence={"throttled": 2, "clock_mhz": [3000.0, 3000.0]})) == ["clock"]


def test_autovacuum_is_told_by_its_tables_or_by_its_worker() -> None:
    seen = {"autovacuum": "autovacuum processed public.pgbench_history"}
    assert found(quiet(evidence={"autovacuumed": ["public.pgbench_history"]})) == seen
    waits = {"client backend": {"running": 1}, "autovacuum worker": {"Timeout:VacuumDelay": 1}}
    assert names(quiet(evidence={"waits": waits})) == ["autovacuum"]


def test_readers_that_write_are_told_by_wal_or_by_pages() -> None:
    assert names(quiet(sample={"wal_bytes": 600_000})) == ["writing-readers"]
    bgwriter = {"pg_stat_bgwriter": {"buffers_backend": 40.0, "buffers_clean": 30.0}}
    assert names(quiet(statistics=bgwriter)) == ["writing-readers"]
    assert names(quiet("read-write", sample={"wal_bytes": 600_000})) == []


def test_pages_written_are_those_of_relations_by_whoever_wrote_them() -> None:
    io = {
        "client backend/relation/normal.writes": 3.0,
        "checkpointer/relation/normal.writes": 4.0,
        "walwriter/wal/normal.writes": 90.0,
        "client backend/relation/normal.reads": 90.0,
    }
    one = record(Point())
    assert pages_written(Record.from_json(one | {"statistics": {"pg_stat_io": io}})) == 7
    assert pages_written(Record.from_json(one | {"statistics": None})) == 0


@pytest.mark.parametrize(
    ("tier", "missed", "stored", "told"),
    [
        ("small", 400, 0, False),
        ("small", 600, 0, True),
        ("medium", 20_000, 0, False),
        ("medium", 20_000, 20_000 * 8192 // 10, True),
        ("large", 20_000, 20_000 * 8192 // 2, False),
        ("large", 20_000, 20_000 * 8192 // 5, True),
        ("large", 0, 0, True),
    ],
)
def test_data_that_do_not_match_their_tier_are_told(
    tier: str, missed: int, stored: int, told: bool
) -> None:
    one = quiet(
        cell={"tier": tier},
        sample={"blocks_hit": 50_000 - missed, "blocks_read": missed},
        evidence={"server_io": {"read_bytes": stored, "write_bytes": 0}},
        settings={"block_size": "8192"},
        database_bytes=20 * 10**9,
    )
    assert (names(one) == ["tier"]) == told


def test_large_data_that_do_not_exceed_the_memory_are_told_by_their_size() -> None:
    machine = {"memory_bytes": 10**9}
    one = quiet(cell={"tier": "large"}, machine=machine, database_bytes=9 * 10**8)
    assert found(one) == {"tier": "large data (0.90 GB) fit memory (1.00 GB)"}
    assert names(quiet(cell={"tier": "small"}, machine=machine, database_bytes=9 * 10**8)) == []


def test_where_nobody_may_see_what_storage_gave_no_tier_is_doubted() -> None:
    one = quiet(
        cell={"tier": "large"},
        evidence={"server_io": {"read_bytes": None}},
        database_bytes=20 * 10**9,
    )
    assert names(one) == []


@pytest.mark.parametrize(
    ("view", "names"),
    [
        ("pg_stat_bgwriter", ("checkpoints_timed", "checkpoints_req")),
        ("pg_stat_checkpointer", ("num_timed", "num_requested")),
    ],
)
def test_a_checkpoint_in_some_runs_and_not_in_others_is_told(
    view: str, names: tuple[str, str]
) -> None:
    without = quiet(statistics={view: dict.fromkeys(names, 0.0)})
    with_one = quiet(statistics={view: {names[0]: 0.0, names[1]: 1.0}})
    assert checkpoints(Record.from_json(with_one)) == 1
    assert contrast(without, with_one, without) == "a checkpoint began in 1 of 3 runs"
    assert contrast(without, without) == ""
    assert contrast(with_one, with_one) == ""


@pytest.mark.parametrize("name", RULES)
def test_every_rule_says_what_it_means_and_what_to_try(name: str) -> None:
    rule = RULES[name]
    assert rule.name == name
    assert len(rule.means) > 20
    assert len(rule.remedy) > 20
