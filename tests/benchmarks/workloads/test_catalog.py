"""The catalog of workloads: every row is whole, and choosing from it is forgiving of nothing."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from base.errors import UsageError
from base.version import Version
from benchmarks.clients.pgbench import scripts_of
from benchmarks.counted.cells import own_servers, together, workload_cell
from benchmarks.machine.machine import Limits, Machine
from benchmarks.workloads.catalog import (
    FAMILIES,
    PGBENCH,
    PROCESSES,
    choose,
    dataset_for,
    named,
    workloads,
)
from benchmarks.workloads.protocol import Protocol
from benchmarks.workloads.scenario import (
    CacheState,
    Cell,
    Mode,
    Planned,
    Scenario,
    Tier,
    mode_named,
    plan_cells,
    preset_named,
)


def test_names_are_unique_and_pgbenchs_own_scripts_are_the_rows_of_its_family() -> None:
    names = [one.name for one in workloads()]
    assert len(set(names)) == len(names)
    of_pgbench = {one.name for one in workloads() if one.family == "pgbench"}
    assert of_pgbench == {mode.value for mode in Mode}
    assert {one.name for one in workloads() if one.dataset == PGBENCH} == of_pgbench


def test_there_are_at_least_64_workloads_each_with_a_reason() -> None:
    assert len(workloads()) >= 64
    assert {one.family for one in workloads()} == set(FAMILIES)
    assert [one.name for one in workloads() if len(one.guards) < 8 or not one.title] == []


@pytest.mark.parametrize("version", ["8.3", "9.0", "9.6", "13", "18"])
def test_every_workload_that_a_version_runs_finds_its_dataset(version: str) -> None:
    known = Version.parse(version)
    for one in workloads():
        if known in one.range and one.dataset != PGBENCH:
            assert dataset_for(one.dataset, known) is not None, one.name


def test_most_of_the_catalog_runs_on_the_oldest_release() -> None:
    oldest = Version.parse("8.3")
    assert sum(one.runs_on(oldest) for one in workloads()) >= 50


def test_the_long_series_is_longer_than_the_short_one() -> None:
    assert [one.name for one in workloads() if not 0 < one.lengths[0] < one.lengths[1]] == []


def test_a_suite_contains_the_smaller_ones() -> None:
    chosen = [{one.name for one in choose([], suite)} for suite in ("small", "standard", "all")]
    assert all(smaller <= larger for smaller, larger in pairwise(chosen))
    assert chosen[-1] == {one.name for one in workloads() if not one.timed_only}


def test_patterns_choose_by_name_in_the_order_of_the_catalog() -> None:
    assert [one.name for one in choose(["sort-u*", "select-1-simple"])] == [
        "select-1-simple",
        "sort-unique",
    ]


def test_a_pattern_that_matches_nothing_is_an_error() -> None:
    with pytest.raises(UsageError, match='no workload is called "warp-\\*"'):
        choose(["warp-*"])


def test_the_digest_changes_with_what_is_counted_and_with_nothing_else() -> None:
    one, two = choose(["copy-in-narrow", "copy-in-csv"])
    version = Version.parse("18")
    assert one.digest(version) == one.digest(Version.parse("17"))
    assert one.digest(version) != two.digest(version)


def test_a_server_gets_the_settings_of_a_workload_that_it_knows_and_shares_no_other_server() -> (
    None
):
    decoding, other = (workload_cell(named(name)) for name in ("logical-decoding", "vacuum"))
    assert decoding.scenario.settings_of({"wal_level"}) == {"wal_level": "logical"}
    assert other.scenario.settings_of({"wal_level"}) == {}
    assert not together(decoding, other)
    assert together(other, workload_cell(named("analyze")))
    plain = replace(named("logical-decoding"), settings=())
    assert plain.digest(Version.parse("18")) != named("logical-decoding").digest(
        Version.parse("18")
    )


def cells(mode: str, **changes: Any) -> list[Planned]:
    preset = replace(preset_named("quick"), modes=(mode_named(mode),), **changes)
    return plan_cells(
        preset,
        Limits(memory_bytes=1 << 40, disk_bytes=1 << 40),
        dict.fromkeys(Tier, 7),
        shared_buffers={"default": 1},
        max_connections=1000,
    )


def test_a_workload_is_timed_with_its_own_protocol_and_scale_by_every_number_of_clients() -> None:
    found = [one.cell for one in cells("insert-100-rows", tiers=tuple(Tier))]
    assert [cell.clients for cell in found] == [1, 4, 16]
    assert {cell.scenario for cell in found} == {workload_cell(named("insert-100-rows")).scenario}


@pytest.mark.parametrize(("name", "clients"), [("create-database", 1), ("copy-in-concurrent", 8)])
def test_a_workload_that_is_made_for_a_number_of_clients_has_only_that(
    name: str, clients: int
) -> None:
    assert [one.cell.clients for one in cells(name)] == [clients]
    assert named(name).timed_only is (clients > 1)
    assert (named(name) in choose((), "all")) is not named(name).timed_only


def test_an_edited_workload_has_no_earlier_times() -> None:
    one = named("sort-text")
    edited = replace(one, script="SELECT 2;\n")
    machine = Machine.detect("elephant")
    assert one.digests.isdisjoint(edited.digests)
    assert len(named("partitions-100").digests) == 2
    (digest,) = one.digests
    assert one.digest(Version.parse("18")) == digest
    timed = replace(machine.epoch, workload=digest)
    assert timed.identifier != machine.epoch.identifier
    assert timed.facts()["workload"] == digest
    assert "workload" not in machine.epoch.facts()


def test_each_session_of_a_timed_workload_begins_with_its_own_statements(tmp_path: Path) -> None:
    told = scripts_of(workload_cell(named("logical-decoding")).scenario, tmp_path)
    text = (tmp_path / "logical-decoding.sql").read_text()
    assert "landspeed_begun=0" in told
    assert text.index("\\if :landspeed_begun = 0") < text.index("pg_create") < text.index("\\endif")
    assert text.strip().endswith(named("logical-decoding").script.strip())


def test_a_workload_whose_cost_depends_on_its_past_has_servers_of_its_own() -> None:
    plain, indexed = (workload_cell(named(name)) for name in ("insert-one", "insert-many-indexes"))
    assert [own_servers(plain), own_servers(indexed)] == [False, True]
    assert not together(plain, indexed)
    for mode, state, own in (
        (Mode.READ_ONLY, CacheState.WARM, False),
        (Mode.READ_ONLY, CacheState.COLD, True),
        (Mode.READ_WRITE, CacheState.WARM, True),
    ):
        scenario = Scenario(mode=mode, protocol=Protocol.PREPARED, tier=Tier.SMALL, scale=1)
        cell = Cell(scenario=scenario, clients=1, profile="default", buffers=state)
        assert own_servers(cell) == own
    alike = replace(named("insert-many-indexes"), own_servers=False)
    newest = Version.parse("18.0")
    assert alike.digest(newest) != named("insert-many-indexes").digest(newest)


def test_a_workload_of_another_process_says_in_which_function_that_begins() -> None:
    others = {one.name: one for one in workloads() if one.process}
    assert {one.process for one in others.values()} == set(PROCESSES)
    assert "the startup process (StartupXLOG)" in others["replay"].guards
    # a worker is counted in its session; the others handle what sessions have done before
    assert {one.process for one in others.values() if not one.own_servers} == {"worker"}
