"""Which settings are tried so that a server plans a workload as another one does."""

from __future__ import annotations

from benchmarks.counted.forced_plans import candidates
from benchmarks.records.record import PlanFacts

OLD = PlanFacts(
    shape="a",
    lines=(
        "SELECT * FROM hash_join WHERE val > 3",
        "  Hash Join",
        "    Hash Cond: (a.id = b.id)",
        "    ->  Seq Scan on a",
        "    ->  Hash",
        "          ->  Seq Scan on b",
    ),
)
NEW = PlanFacts(
    shape="b",
    lines=(
        "SELECT * FROM hash_join WHERE val > 3",
        "  Nested Loop",
        "    ->  Seq Scan on a",
        "    ->  Memoize",
        "          ->  Index Scan using b_pkey on b",
    ),
)


def test_nodes_that_the_wanted_plan_lacks_are_forbidden_first_then_new_features() -> None:
    assert candidates(OLD, NEW, ["enable_self_join_elimination"]) == [
        "enable_nestloop",
        "enable_memoize",
        "enable_indexscan",
        "enable_self_join_elimination",
        "enable_seqscan",
    ]
    assert candidates(NEW, OLD, [])[:2] == ["enable_hashjoin", "enable_seqscan"]


def test_an_index_only_scan_is_no_index_scan_and_gather_is_forbidden_by_a_number() -> None:
    plan = PlanFacts(
        shape="c", lines=("SELECT 1", "  Gather", "    ->  Parallel Index Only Scan using i on t")
    )
    assert candidates(OLD, plan, []) == ["max_parallel_workers_per_gather", "enable_indexonlyscan"]
