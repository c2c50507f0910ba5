"""What backends are asked, in the words of each version, by the columns that it has."""

from __future__ import annotations

from benchmarks.observation.activity import CLIENTS, Activity, Doing, add, seen

COLUMNS_8_3 = {"datid", "datname", "procpid", "usename", "current_query", "waiting"}
COLUMNS_9_2 = {"datid", "pid", "state", "query", "waiting"}
COLUMNS_9_6 = {"datid", "pid", "state", "query", "wait_event_type", "wait_event"}
COLUMNS_10 = COLUMNS_9_6 | {"backend_type"}


def test_before_9_2_a_backend_is_its_query() -> None:
    query = Activity.of_columns(COLUMNS_8_3).query
    assert "WHERE procpid <> pg_backend_pid()" in query
    assert "current_query LIKE 'autovacuum:%'" in query
    assert "current_query LIKE '<IDLE>%'" in query
    assert "CASE WHEN waiting THEN 'Lock' END" in query
    assert "state" not in query
    assert "wait_event" not in query


def test_from_9_2_on_it_has_a_state() -> None:
    query = Activity.of_columns(COLUMNS_9_2).query
    assert "WHERE pid <> pg_backend_pid()" in query
    assert "state LIKE 'idle%'" in query
    assert "waiting" in query


def test_from_9_6_on_it_names_what_it_waits_for() -> None:
    query = Activity.of_columns(COLUMNS_9_6).query
    assert "wait_event_type || ':' || wait_event" in query
    assert "waiting" not in query
    assert "query LIKE 'autovacuum:%'" in query


def test_from_10_on_it_says_what_kind_of_process_it_is() -> None:
    query = Activity.of_columns(COLUMNS_10).query
    assert query.startswith("SELECT backend_type, ")
    assert "autovacuum" not in query


def test_background_processes_that_had_nothing_to_do_are_left_out() -> None:
    rows = [
        (CLIENTS, "running", 3),
        (CLIENTS, "Client:ClientRead", 1),
        ("checkpointer", "Activity:CheckpointerMain", 1),
        ("walwriter", "IO:WALSync", 1),
        (None, "running", 1),
    ]
    assert seen(rows) == {
        CLIENTS: {"running": 3, "Client:ClientRead": 1},
        "walwriter": {"IO:WALSync": 1},
        "other": {"running": 1},
    }


def test_looks_add_up() -> None:
    total: Doing = {}
    add(total, {CLIENTS: {"running": 3}})
    add(total, {CLIENTS: {"running": 1, "Lock:tuple": 2}, "walwriter": {"IO:WALSync": 1}})
    assert total == {CLIENTS: {"running": 4, "Lock:tuple": 2}, "walwriter": {"IO:WALSync": 1}}
