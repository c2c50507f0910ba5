"""Workloads of the catalog on a real server: the same alone and among others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from base.build import Build
from base.errors import LandspeedError, UsageError
from base.paths import Paths
from base.version import VersionRange
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.cells import workload_cell
from benchmarks.machine.machine import Machine
from benchmarks.measure import measure
from benchmarks.records.record import Record
from benchmarks.workloads.catalog import Workload, choose, named
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.protocol import Protocol
from benchmarks.workloads.scenario import CacheState, Cell, Scenario, Tier
from tests.kits.servers.cluster_kit import server_paths
from tests.kits.servers.counter_kit import counter

# By name, where little else runs: pytest -m "" tests/benchmarks/counted/test_workloads.py
pytestmark = [pytest.mark.postgres, pytest.mark.long]


def counts(outcomes: Sequence[Record | LandspeedError]) -> dict[str, float]:
    return {
        one.cell.mode: one.sample.instructions or 0.0 for one in outcomes if isinstance(one, Record)
    }


def broken() -> Workload:
    return Workload(
        name="broken",
        family="statements",
        title="broken",
        guards="nothing",
        dataset="empty",
        script="SELECT no_such_function();\n",
        protocol=Protocol.SIMPLE,
        range=VersionRange(),
        session=(),
        before=(),
        lengths=(1, 2),
        writes=False,
        suite="all",
    )


def test_a_workload_costs_the_same_alone_and_among_others_and_a_broken_one_stops_nobody(
    newest_build: Build,
) -> None:
    chosen = choose(["select-1-simple", "insert-one", "sort-text"])
    with server_paths() as paths:
        one = counter(newest_build, newest_build, paths)
        cells = [workload_cell(each) for each in (chosen[0], broken(), *chosen[1:])]
        together = list(one.count(cells))
        alone = list(one.count([workload_cell(named("sort-text"))]))
        (error,) = [each for each in together if isinstance(each, LandspeedError)]
    assert "could not count broken" in error.message
    assert "no_such_function" in error.detail
    assert not [each for each in alone if isinstance(each, LandspeedError)]
    found = counts(together)
    assert set(found) == {"select-1-simple", "insert-one", "sort-text"}
    assert 20_000 < found["select-1-simple"] < 60_000
    assert found["sort-text"] > 100 * found["insert-one"]
    assert counts(alone)["sort-text"] == pytest.approx(found["sort-text"], rel=2e-4)


def test_a_server_that_dies_costs_one_workload_and_the_next_ones_get_a_new_server(
    newest_build: Build,
) -> None:
    # the parent of the shell is the backend
    deadly = replace(
        broken(), name="deadly", script="COPY (SELECT 1) TO PROGRAM 'kill -9 $PPID';\n"
    )
    with server_paths() as paths:
        cells = [workload_cell(one) for one in (deadly, *choose(["select-1-simple"]))]
        first, second = counter(newest_build, newest_build, paths).count(cells)
    assert isinstance(first, LandspeedError)
    assert "could not count deadly" in first.message
    assert isinstance(second, Record)


def test_a_script_of_ones_own_is_counted_and_timed_on_the_data_it_loads(
    newest_build: Build, tmp_path: Path
) -> None:
    (tmp_path / "mine.sql").write_text("\\set i random(1, 1000)\nSELECT t FROM mine WHERE i = :i")
    (tmp_path / "load.sql").write_text(
        "CREATE TABLE mine AS SELECT i, i::text AS t FROM generate_series(1, 1000) AS i"
    )
    own = Script.of_file(tmp_path / "mine.sql", tmp_path / "load.sql")
    scenario = Scenario(mode=own, protocol=Protocol.PREPARED, tier=Tier.SMALL, scale=1)
    with server_paths() as paths:
        (record,) = counter(newest_build, newest_build, paths).count(
            [Cell(scenario=scenario, clients=1, profile="default", buffers=CacheState.WARM)]
        )
        times = [
            timed(newest_build, paths, cell)
            for cell in (
                Cell(scenario=scenario, clients=2, profile="default"),
                replace(workload_cell(named("update-same-row")), clients=8, buffers=None),
                replace(workload_cell(named("connect")), clients=2, buffers=None),
                replace(workload_cell(named("create-database")), buffers=None),
            )
        ]
    assert isinstance(record, Record)
    assert record.cell.mode == own.value
    assert record.run.transactions in {(50, 300), (10, 60)}
    assert [one.sample.failed for one in times] == [0, 0, 0, 0]
    assert times[0].epoch.workload is None
    assert times[1].epoch.workload == named("update-same-row").digest(newest_build.version)
    with pytest.raises(UsageError, match="does not understand"):
        Pgbench(build=newest_build).require_scripts([replace(own, parts=(("\\fly", 1),))])


def timed(build: Build, paths: Paths, cell: Cell) -> Record:
    return measure(
        build=build,
        pgbench=Pgbench(build=build),
        cell=cell,
        seconds=1,
        seed=7,
        machine=Machine.detect(),
        paths=paths,
        context={"preset": "test", "round": 1},
    )
