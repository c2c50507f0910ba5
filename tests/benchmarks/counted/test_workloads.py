"""Workloads of the catalog on a real server: the same alone and among others."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from base.build import Build
from base.errors import LandspeedError
from base.paths import Paths
from base.version import VersionRange
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.cells import workload_cell
from benchmarks.counted.count import Counter
from benchmarks.machine.machine import Machine
from benchmarks.records.record import Record
from benchmarks.workloads.catalog import Workload, choose
from benchmarks.workloads.protocol import Protocol
from tests.kits.servers.cluster_kit import server_paths

# By name, where little else runs: pytest -m "" tests/benchmarks/counted/test_suite.py
pytestmark = [pytest.mark.postgres, pytest.mark.long]


def counter(build: Build, paths: Paths) -> Counter:
    return Counter(
        build=build,
        pgbench=Pgbench(build=build),
        machine=Machine.detect(),
        paths=paths,
        context={"preset": "catalog", "round": 1},
        stop=threading.Event(),
    )


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
        one = counter(newest_build, paths)
        cells = [workload_cell(each) for each in (chosen[0], broken(), *chosen[1:])]
        together = list(one.count(cells))
        alone = list(one.count(cells[-1:]))
        (error,) = [each for each in together if isinstance(each, LandspeedError)]
    assert "could not count broken" in error.message
    assert "no_such_function" in error.detail
    found = counts(together)
    assert set(found) == {"select-1-simple", "insert-one", "sort-text"}
    assert 20_000 < found["select-1-simple"] < 60_000
    assert found["sort-text"] > 100 * found["insert-one"]
    assert counts(alone)["sort-text"] == pytest.approx(found["sort-text"], rel=2e-4)
