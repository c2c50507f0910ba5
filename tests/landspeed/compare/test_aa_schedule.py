"""Comparisons of a server with itself: which is due, how far it goes, when the next begins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.build import BUILD_JSON, Build
from base.files import canonical_json
from benchmarks.clients.pgbench import Pgbench
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.points import Point
from benchmarks.workloads.scenario import Mode
from benchmarks.workloads.sysbench_modes import SysbenchMode
from landspeed.compare import aa_schedule
from landspeed.compare.aa_rates import aa_report
from landspeed.compare.aa_schedule import compare_with_itself, least_compared, point_due
from tests.kits.made_up.compare_kit import CELL, Bench, bench, build, session
from tests.kits.made_up.stand_ins import timed_record

__all__ = ["bench", "session"]


@pytest.fixture
def server(tmp_path: Path) -> Build:
    prefix = tmp_path / "store" / "18.6"
    (prefix / "bin").mkdir(parents=True)
    one = build("18.6", prefix=prefix)
    (prefix / BUILD_JSON).write_text(canonical_json(one.facts()))
    return Build.load(prefix)


def go_on(session: Any, server: Build, blocks: int) -> Any:
    return compare_with_itself(
        session,
        Pgbench(build=server),
        Point(build=server, cell=CELL),
        seconds=1,
        blocks=blocks,
    )


@pytest.mark.slow
def test_a_comparison_grows_by_a_few_blocks_at_a_time_and_then_makes_way(
    session: Any, bench: Bench, server: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aa_schedule, "BLOCKS", 20)
    bench.noise = 0.2
    names = []
    for blocks in (1, 2, 9, 9, 3):
        state = go_on(session, server, blocks)
        names.append((state.identifier, len(state.comparison.blocks)))
    first, second = names[0][0], names[-1][0]
    assert first != second
    assert names == [(first, 1), (first, 3), (first, 12), (first, 20), (second, 3)]
    found = aa_report(session.records.table())
    assert (found.blind.stated.comparisons, found.blind.stated.alarms) == (1, 0)
    assert len({run["build"] for run in bench.asked}) == 2


def test_one_that_is_the_same_is_finished_early(session: Any, bench: Bench, server: Build) -> None:
    bench.noise = 0.001
    first = go_on(session, server, 60)
    assert first.comparison.is_settled
    assert go_on(session, server, 1).identifier != first.identifier


def test_what_has_begun_goes_on_before_anything_new(
    session: Any, bench: Bench, server: Build
) -> None:
    bench.noise = 0.2
    go_on(session, server, 1)
    for _ in range(5):
        due = point_due(session, [build("17"), server, build("16")], [CELL])
        assert due is not None
        assert due.build == server
    assert point_due(session, [], [CELL]) is None


def test_only_pgbenchs_own_modes_are_compared_with_themselves(
    session: Any, bench: Bench, server: Build
) -> None:
    mode = SysbenchMode(name="oltp-read-only", version="1.0.20")
    cell = replace(CELL, scenario=replace(CELL.scenario, mode=mode))
    assert point_due(session, [server], [cell]) is None
    session.external_servers = _Known(server)
    session.builder.store.find = lambda identifier: None
    run = {"preset": "sysbench-quick", "seconds": 1}
    made = timed_record(build=server, cell=cell, machine=session.machine, run=run)
    session.records.add(made)
    point, _ = least_compared(session, server)
    assert point.cell.scenario.mode is Mode.READ_ONLY


class _Known:
    def __init__(self, *builds: Build) -> None:
        self.builds = builds

    def all(self) -> tuple[Build, ...]:
        return self.builds


def test_the_ledger_asked_for_more_takes_what_it_knows_least_of(
    session: Any, bench: Bench, server: Build
) -> None:
    session.external_servers = _Known(server)
    session.builder.store.find = lambda identifier: None
    point, seconds = least_compared(session, server)
    assert (point.cell.clients, seconds) == (1, 5)
    go_on(session, server, 1)
    point, seconds = least_compared(session, build("19"))
    assert (point, seconds) == (Point(build=server, cell=CELL), 1)


def test_the_ledger_leaves_scripts_to_their_studies(
    session: Any, bench: Bench, server: Build
) -> None:
    script = Script(name="reads", parts=(("SELECT 1;", 1),))
    scenario = replace(CELL.scenario, mode=script)
    made = bench(
        build=server,
        cell=replace(CELL, scenario=scenario),
        machine=session.machine,
        context={"preset": "custom-quick"},
        seconds=1,
        seed=1,
    )
    session.records.add(made)
    session.external_servers = _Known(server)
    session.builder.store.find = lambda identifier: None
    point, _ = least_compared(session, server)
    assert point.cell.scenario.mode in list(Mode)
