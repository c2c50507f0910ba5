"""What is seen of a real server while pgbench runs, and a server in a memory limit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.build import Build, Variant
from base.errors import NotApplicableError
from base.paths import Paths
from benchmarks.applicability import planned_cells
from benchmarks.clients.pgbench import Pgbench
from benchmarks.machine.cgroup import Cgroup
from benchmarks.machine.kernel_counters import Counters, Device
from benchmarks.machine.machine import Machine
from benchmarks.measure import measure
from benchmarks.observation.activity import CLIENTS
from benchmarks.observation.monitor import Looks, Monitor, watching
from benchmarks.observation.snapshot import between, snapshot
from benchmarks.observation.warnings import find_warnings
from benchmarks.server.cluster import Cluster, initdb
from benchmarks.server.endpoint import DATABASE
from benchmarks.server.home import ServerHome
from benchmarks.workloads.scenario import Cell, Mode, Preset, Protocol, Tier
from landspeed.results.where_time_went import evidence_rows
from landspeed.session.session import Session
from tests.kits.made_up.stand_ins import timed_record
from tests.kits.servers.cluster_kit import cell, server_paths, wait_for

LIMIT = 192 << 20
OLD = "13"


@pytest.fixture(scope="module")
def paths() -> Iterator[Paths]:
    with server_paths(Path("/var/tmp")) as found:  # a disk, to read from and to wait for
        yield found


@pytest.fixture(scope="module")
def old_build() -> Build:
    session = Session()
    return session.build(session.builder.sources.resolve(OLD), Variant())


def run(
    build: Build, client: Build, paths: Paths, cell: Cell, *, seconds: int = 3, **how: Any
) -> dict[str, Any]:
    machine = how.pop("machine", None) or Machine.detect("here")
    return measure(
        build=build,
        pgbench=Pgbench(client),
        cell=cell,
        seconds=seconds,
        seed=7,
        machine=machine,
        paths=paths,
        context={"preset": "test"},
        **how,
    )


def limited() -> Machine:
    """This machine in the limit; skipped where no control group can be made."""
    try:
        Cgroup.make("test", LIMIT).remove()
    except NotApplicableError as error:
        pytest.skip(f"{error.message}: {error.detail}")
    return Machine.detect("here").limited(LIMIT)


@pytest.mark.postgres
def test_a_run_that_writes_says_what_its_backends_waited_for_and_what_each_statement_took(
    newest_build: Build, paths: Paths
) -> None:
    record = run(newest_build, newest_build, paths, cell(Mode.TPCB_LIKE, clients=6))
    seen = record.evidence.to_json()
    assert seen["looks"] >= 2
    assert sum(seen["waits"]["client backend"].values()) >= seen["looks"]
    assert sum(seen["cpu"].values()) == pytest.approx(1, abs=0.01)
    assert seen["context_switches"] > 0
    assert [text.split()[0] for text, _ in seen["statements"]] == [
        *("BEGIN;", "UPDATE", "SELECT", "UPDATE", "UPDATE", "INSERT", "END;")
    ]
    assert all(took > 0 for _, took in seen["statements"])
    assert "-r" in record.run.argv
    assert seen["disk"].keys() & {"device", "why"}
    assert seen["server_io"]["write_bytes"] > 0
    assert record.sample.client_cpu_seconds > 0
    assert all(len(each) == seen["looks"] for each in seen["each"].values())
    assert {"pg_stat_checkpointer", "pg_stat_wal", "pg_stat_io"} <= record.statistics.keys()
    io = record.statistics["pg_stat_io"]
    assert io["client backend/relation/normal.hits"] > 0
    assert 0 not in io.values()
    assert "writing-readers" not in record.warnings
    assert dict(evidence_rows([record]))["backends"]


@pytest.mark.postgres
def test_an_old_server_is_asked_in_its_own_words(
    old_build: Build, pgbench_build: Build, paths: Paths
) -> None:
    record = run(old_build, pgbench_build, paths, cell(Mode.READ_WRITE, clients=4))
    assert record.evidence.looks >= 2
    assert record.evidence.waits["client backend"]
    assert record.statistics.keys() == {"pg_stat_database", "pg_stat_bgwriter", "pg_stat_slru"}
    assert record.statistics["pg_stat_bgwriter"]["checkpoints_req"] == 0


@pytest.mark.postgres
def test_looking_is_in_none_of_the_counts_and_can_be_left_out(
    newest_build: Build, paths: Paths
) -> None:
    extra = {}
    looks = {}
    for every in (1.0, 0.1, None):
        record = run(newest_build, newest_build, paths, cell(Mode.READ_ONLY), every=every)
        commits = record.statistics["pg_stat_database"]["xact_commit"]
        extra[every] = commits - record.sample.transactions
        looks[every] = record.evidence and record.evidence.looks
        assert "-r" not in record.run.argv
    assert max(extra.values()) - min(extra.values()) <= 2
    assert looks[None] is None
    assert looks[0.1] > looks[1.0] >= 1
    assert evidence_rows([record]) == []


@pytest.mark.postgres
def test_in_a_memory_limit_large_data_are_read_from_storage_and_small_data_are_not(
    newest_build: Build, paths: Paths
) -> None:
    machine = limited()
    preset = Preset(
        name="test",
        description="",
        modes=(Mode.READ_ONLY,),
        protocols=(Protocol.PREPARED,),
        tiers=(Tier.SMALL, Tier.LARGE),
        client_counts=(4,),
        samples=1,
        seconds=2,
        profiles=("default",),
    )
    planned = planned_cells(preset, machine, paths.server_root, {})
    assert [one.reason for one in planned] == [None, None]
    records = {
        one.cell.scenario.tier: run(
            newest_build, newest_build, paths, one.cell, machine=machine, seconds=2
        )
        for one in planned
    }
    small, large = records[Tier.SMALL], records[Tier.LARGE]
    assert large.database_bytes > LIMIT
    assert small.machine.name == "here-192m"
    assert small.machine.memory_limit == LIMIT
    from_storage = [one.evidence.server_io.read_bytes for one in (small, large)]
    read_in = [one.sample.blocks_read * 8192 for one in (small, large)]
    # catalogs, which nobody read before: a read-ahead window of each file
    assert from_storage[0] < small.database_bytes / 10 > read_in[0]
    assert from_storage[1] > read_in[1] / 2 > from_storage[0]
    for record in records.values():
        assert "tier" not in find_warnings(record)
    assert list(Path("/sys/fs/cgroup").rglob("landspeed-*")) == []


@pytest.mark.postgres
def test_what_is_large_there_is_not_on_the_whole_machine_and_that_is_a_warning(
    newest_build: Build, paths: Paths
) -> None:
    """The very data that exceed the limit, called large where they do not exceed the memory."""
    small = cell(Mode.READ_ONLY, clients=4)
    large = replace(small, scenario=replace(small.scenario, tier=Tier.LARGE))
    record = run(newest_build, newest_build, paths, large)
    assert "tier" in record.warnings


@contextmanager
def loaded(build: Build, paths: Paths, **settings: str) -> Iterator[tuple[Cluster, Pgbench]]:
    """A running cluster with pgbench's tables, and a client that can reach it."""
    home = ServerHome.open(paths)
    server, client = home.reachable(build), Pgbench(build).at_home(home)
    with home.run_directory() as run_:
        initdb(server, run_.path / "fresh", run_)
        with Cluster(
            build=server, data=run_.path / "fresh", run=run_, settings=settings, keep=False
        ) as cluster:
            client.initialise(cluster.host, scale=1)
            yield cluster, client


@pytest.mark.postgres
def test_readers_that_pay_for_what_a_writer_left_are_warned_of(
    newest_build: Build, paths: Paths
) -> None:
    with loaded(newest_build, paths, autovacuum="off") as (cluster, client):
        with cluster.connect() as connection:
            connection.execute("UPDATE pgbench_accounts SET abalance = 1")
            connection.execute("CHECKPOINT")
        before = snapshot(cluster)
        asked = cell(Mode.READ_ONLY)
        outcome = client.run(
            cluster.host,
            database=DATABASE,
            cell=asked,
            cores=2,
            seconds=2,
            seed=7,
            scratch=cluster.run.scratch,
        )
        seen = between(before, snapshot(cluster))
    sample = {"transactions": outcome.sample.transactions, "wal_bytes": seen.wal_bytes}
    machine = Machine.detect("here")
    made = timed_record(
        build=newest_build,
        cell=asked,
        machine=machine,
        run={},
        sample=sample,
        statistics=seen.statistics,
    )
    assert list(find_warnings(made)) == ["writing-readers"]


@pytest.mark.postgres
def test_what_autovacuum_was_at_is_seen_between_two_snapshots(
    newest_build: Build, paths: Paths
) -> None:
    with loaded(newest_build, paths, autovacuum_naptime="1s") as (cluster, _):
        before = snapshot(cluster)
        with cluster.connect() as connection:
            connection.execute("UPDATE pgbench_accounts SET abalance = 1")
        tables = wait_for(lambda: between(before, snapshot(cluster)).autovacuumed)
        assert "public.pgbench_accounts" in tables


def test_of_what_looks_see_of_memory_the_worst_is_kept() -> None:
    looks = Looks()
    looks.add_memory({"available": 5, "dirty": 1, "writeback": 0})
    looks.add_memory({"available": 3, "dirty": 0, "writeback": 2})
    looks.add_memory({"available": 4, "dirty": 0, "writeback": 0})
    assert looks.memory == {"available": 3, "dirty": 1, "writeback": 2}


def test_a_watch_tells_what_grew_and_leaves_out_what_nobody_counts() -> None:
    cpu = dict.fromkeys(("user", "system", "idle", "iowait", "steal"), 1.0)
    before = Counters(moment=0.0, cpu=cpu, context_switches=100, disk=None)
    after = replace(before, cpu={**cpu, "user": 4.0, "idle": 2.0}, context_switches=350)
    watch = Monitor(device=Device(why="nobody knows"), before=before, after=after)
    watch.looks.cost = (0.0021, 0.0103)
    facts = watch.facts()
    assert facts["cpu"] == {"user": 0.75, "system": 0, "idle": 0.25, "iowait": 0, "steal": 0}
    assert (facts["context_switches"], facts["disk"]) == (250, {"why": "nobody knows"})
    assert facts["cost_ms"] == {"ours": 2.1, "server": 10.3}
    assert facts.keys().isdisjoint({"clock_mhz", "throttled"})
    watch.throttled, watch.looks.clocks = 2, [3000.0, 2900.0, 2800.0]
    assert (watch.facts()["throttled"], watch.facts()["clock_mhz"]) == (2, [3000.0, 2800.0])


def test_the_group_of_a_killed_landspeed_is_removed_with_what_it_left(paths: Paths) -> None:
    limited()
    home = ServerHome.open(paths)
    with home.run_directory() as run_:
        group = run_.limit_memory(LIMIT)
        left = run_.path.with_name("left")
        left.mkdir()
        (left / "group").symlink_to(group.path)
        (run_.path / "group").unlink()
        assert group.path.exists()
        with home.run_directory():
            assert not group.path.exists()
            assert not left.exists()
    with suppress(OSError):
        group.path.rmdir()


@pytest.mark.postgres
def test_what_the_sessions_of_a_worker_do_is_told_apart_from_the_coordinators(
    newest_build: Build, paths: Paths
) -> None:
    with (
        loaded(newest_build, paths) as (coordinator, _),
        loaded(newest_build, paths) as (worker, _),
        worker.connect() as one,
        worker.connect() as other,
    ):
        for connection in (one, other):
            connection.execute("SELECT 1")
        with watching(coordinator, worker, every=0.1) as watch:
            time.sleep(1)
    waits = watch.facts()["waits"]
    assert sum(waits["worker: client backend"].values()) == 2 * watch.looks.count > 0
    assert CLIENTS not in waits
