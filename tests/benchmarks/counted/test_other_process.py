"""Counts of parallel workers, of recovery and of a walsender, on a real server."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from base.build import Build
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.cells import workload_cell
from benchmarks.counted.count import Counter
from benchmarks.counted.profiles import kept_profile
from benchmarks.machine.machine import Machine
from benchmarks.records.record import Record
from benchmarks.workloads.catalog import named
from tests.kits.servers.cluster_kit import server_paths

# a function that only this process executes
EXECUTED = {
    "parallel-aggregate": "ParallelQueryMain",
    "logical-walsender": "ReorderBufferQueueChange",
    "replay": "heap_redo",
}


@pytest.mark.postgres
def test_what_other_processes_execute_is_counted(newest_build: Build, pgbench_build: Build):
    with server_paths() as paths:
        counter = Counter(
            build=newest_build,
            pgbench=Pgbench(pgbench_build),
            machine=Machine.detect("here"),
            paths=paths,
            context={"preset": "test", "round": 1},
            stop=threading.Event(),
            at_once=2,
        )
        cells = [
            workload_cell(replace(named(name), lengths=(1, 3)))
            for name in ("aggregate-plain", *EXECUTED)
        ]
        found = {}
        for outcome in counter.count(cells):
            assert isinstance(outcome, Record), outcome
            profile = kept_profile(paths, outcome.id)
            assert profile is not None
            # what is executed is executed somewhere
            cost = outcome.sample.instructions or 0.0
            clocked = outcome.sample.clocked_instructions or 0.0
            assert sum(profile.own.values()) == pytest.approx(cost + clocked, rel=0.001)
            found[outcome.cell.mode] = cost, profile.own
    for name, function in EXECUTED.items():
        assert found[name][1][function] > 0
    assert found["parallel-aggregate"][0] > found["aggregate-plain"][0]
    assert "ParallelQueryMain" not in found["aggregate-plain"][1]
