"""Plans of workloads: which statements have one, and what of a plan is its shape."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import psycopg

from benchmarks.counted.plans import plans_of, shape_of
from benchmarks.workloads.catalog import choose, named

PLAN = [
    "Hash Join  (cost=1.00..2.00 rows=1 width=4)",
    "  Hash Cond: (a.id = b.id)",
    "  ->  Seq Scan on a",
    "        Filter: (val > 3)",
    "  ->  Hash",
    "        ->  Subquery Scan b",
    "  InitPlan 1 (returns $0)",
    "    ->  Result Cache",
]


class MadeUpServer:
    """Plans every statement alike, but for those of a table that is not there."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def execute(self, query: bytes) -> MadeUpServer:
        self.asked.append(query.decode())
        if b"missing" in query:
            raise psycopg.errors.UndefinedTable("missing")
        return self

    def fetchall(self) -> list[tuple[str]]:
        return [(line,) for line in PLAN]

    def fetchone(self) -> tuple[str]:
        return ("42",)


def plans(name: str) -> tuple[MadeUpServer, Any]:
    server: Any = MadeUpServer()
    return server, plans_of(server, named(name), {"scale": "5"})


def test_a_shape_has_nodes_and_relations_and_nothing_that_versions_spell_differently() -> None:
    old = shape_of([line.split("  (cost")[0] for line in PLAN])
    assert "Hash Cond" not in old
    assert "Filter" not in old
    new = [line.replace("Subquery Scan b", "Subquery Scan on b") for line in PLAN]
    new = [line.replace("Scan on a", "Scan on a a_1") for line in new]
    new = [line.replace(" (returns $0)", "").replace("Result Cache", "Memoize") for line in new]
    assert shape_of([line.split("  (cost")[0] for line in new]) == old
    other = [line.replace("Seq Scan on a a_1", "Index Scan using i on a") for line in new]
    assert shape_of(other) != old


def test_each_statement_is_planned_with_values_in_place_of_variables() -> None:
    server, found = plans("read-write")
    assert server.asked[0] == "SELECT (((1) + (100000 * 5)) / 2)::text"
    explained = [text for text in server.asked if text.startswith("EXPLAIN")]
    assert explained[0].startswith("EXPLAIN UPDATE pgbench_accounts SET abalance = abalance + 42")
    assert len(explained) == 3  # BEGIN and END have no plan
    assert found.lines[0].startswith("UPDATE")
    assert found.lines[1] == "  Hash Join"


def test_what_cannot_be_planned_alone_has_no_plan_and_stops_nothing() -> None:
    (workload,) = choose(["select-1-simple"])
    server: Any = MadeUpServer()
    script = "CREATE TABLE missing (i int);\nSELECT * FROM missing;\nSELECT 1;\n"
    found = plans_of(server, replace(workload, script=script), {})
    assert found is not None
    assert [line for line in found.lines if not line.startswith(" ")] == ["SELECT 1"]
    assert plans_of(server, replace(workload, script="VACUUM;\n"), {}) is None
