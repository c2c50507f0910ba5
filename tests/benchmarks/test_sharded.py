"""A Run across a coordinator and workers, on real servers and a pretended Citus."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from base.build import Build
from base.errors import ClusterError, MeasureError, NotApplicableError
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.machine.machine import Machine
from benchmarks.measure import measure, templates
from benchmarks.records.record import Record
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.scenario import Cell, Mode, Protocol, Scenario, Tier
from tests.conftest import CHECKOUT, make_project, program, run_in
from tests.kits.servers.citus_kit import server_with_citus
from tests.kits.servers.cluster_kit import processes_in, server_paths, wait_for

pytestmark = pytest.mark.postgres
SCRIPTS = CHECKOUT / "studies/scripts"
ACROSS = "default-across-2-workers"


def script(*, writes: bool) -> Script:
    """A script of the study."""
    name = f"one-branch-{'write' if writes else 'read'}"
    return Script.read(
        name,
        [(SCRIPTS / f"{name}.sql", 1)],
        load=SCRIPTS / "keys-by-branch.sql",
        writes=writes,
        size=1.0,
        distribute=SCRIPTS / "distribute-by-branch.sql",
    )


def cell_of(mode: Mode | Script, profile: str = ACROSS) -> Cell:
    """A Cell of *mode* with two clients at scale 1."""
    scenario = Scenario(mode=mode, protocol=Protocol.SIMPLE, tier=Tier.SMALL, scale=1)
    return Cell(scenario=scenario, clients=2, profile=profile)


@dataclass
class Kit:
    """A server with the pretended extension, the client, and where its data lies."""

    paths: Paths
    build: Build
    client: Build

    def run(self, cell: Cell, *, seconds: int = 1, build: Build | None = None) -> dict[str, Any]:
        """The record of a Run."""
        return measure(
            build=build or self.build,
            pgbench=Pgbench(self.client),
            cell=cell,
            seconds=seconds,
            seed=7,
            machine=Machine.detect("here"),
            paths=self.paths,
            context={},
        )

    def nothing_is_left(self) -> bool:
        """Whether no server runs, and none has a directory."""
        runs = list((self.paths.server_root / "runs").iterdir())
        return processes_in(self.paths.cache) == {} and runs == []


@pytest.fixture(scope="module")
def kit(newest_build: Build, pgbench_build: Build) -> Iterator[Kit]:
    with server_paths() as paths:
        build = server_with_citus(newest_build, paths.cache / "with-citus")
        yield Kit(paths=paths, build=build, client=pgbench_build)


@pytest.mark.parametrize("writes", [False, True])
def test_a_coordinator_and_its_workers_are_loaded_together_measured_and_stopped(
    kit: Kit, writes: bool
) -> None:
    record = kit.run(cell_of(script(writes=writes)))
    assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record
    topology = record.topology
    assert (topology.name, topology.workers) == ("2-workers", 2)
    assert topology.extension == "Citus 1.0"
    assert (topology.tables, topology.shards) == (4, 8)
    names = [one.name for one in topology.servers]
    assert names == ["coordinator", "worker-1", "worker-2"]
    total = sum(one.wal_bytes for one in topology.servers)
    assert total == record.sample.wal_bytes
    assert record.sample.failed == 0
    assert record.sample.transactions > 0
    assert record.settings["shared_preload_libraries"] == "citus"
    assert kit.nothing_is_left()


def test_every_server_has_its_own_part_of_the_template_which_is_loaded_once(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    cell = cell_of(script(writes=False))
    kit.run(cell)
    store = templates(kit.paths, Pgbench(kit.client), cell=cell)
    with caplog.at_level(logging.INFO, "benchmarks.data.templates"):
        template = store.ensure(kit.build, 1)
    assert caplog.messages == []
    assert {place.name for place in template.data.iterdir()} == {
        "coordinator",
        "worker-1",
        "worker-2",
    }
    (template.data / "worker-2" / "postmaster.pid").write_text("0\n")
    assert not template.is_whole()


def test_one_server_of_the_same_build_runs_the_same_script_without_the_extension(kit: Kit) -> None:
    record = kit.run(cell_of(script(writes=True), "default"))
    assert record.topology is None
    assert "shared_preload_libraries" not in record.settings
    across = cell_of(script(writes=True))
    assert record.cell.mode == across.scenario.mode.value


def worker_below(root: Path) -> int | None:
    """The id of a worker's server while pgbench runs; None if there is none."""
    if not any("--random-seed" in line for line in processes_in(root).values()):
        return None
    (path,) = root.glob("data/templates/*/work/worker-2/postmaster.pid")
    return int(path.read_text().split()[0])


def test_a_worker_that_is_killed_is_one_error_and_the_next_run_works(kit: Kit) -> None:
    cell = cell_of(script(writes=True))
    kit.run(cell)
    argv = [sys.executable, "-c", _KILLER, str(kit.paths.cache), str(os.getpid())]
    killer = subprocess.Popen(argv, cwd=CHECKOUT)
    with pytest.raises(MeasureError):
        kit.run(cell, seconds=8)
    assert killer.wait() == 0
    wait_for(kit.nothing_is_left)
    assert kit.run(cell).sample.failed == 0


_KILLER = """
import os, signal, sys
from pathlib import Path
from tests.kits.servers.cluster_kit import wait_for
from tests.benchmarks.test_sharded import worker_below
os.kill(wait_for(lambda: worker_below(Path(sys.argv[1]))), signal.SIGKILL)
"""


def interrupted(kit: Kit, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """A Run into which Ctrl-C comes when *where* of Pgbench is called."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Pgbench, where, interrupt)
        with pytest.raises(KeyboardInterrupt):
            kit.run(cell_of(script(writes=True)))


def test_an_interrupt_leaves_no_server_of_a_load_and_none_of_a_run(
    kit: Kit, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit.run(cell_of(script(writes=True)))
    interrupted(kit, monkeypatch, "run")
    assert kit.nothing_is_left()
    cell = cell_of(script(writes=True))
    store = templates(kit.paths, Pgbench(kit.client), cell=cell)
    (store.ensure(kit.build, 1).directory / "TEMPLATE.json").unlink()
    interrupted(kit, monkeypatch, "initialise")
    assert kit.nothing_is_left()
    assert kit.run(cell).sample.transactions > 0


def test_a_killed_landspeed_takes_all_its_servers_along(kit: Kit) -> None:
    kit.run(cell_of(script(writes=True)))
    argv = [sys.executable, "-m", "tests.kits.servers.run_sharded", str(kit.paths.cache)]
    argv += [str(kit.client.prefix), str(kit.build.program("pg_config"))]
    victim = subprocess.Popen(argv, cwd=CHECKOUT)
    wait_for(lambda: worker_below(kit.paths.cache))
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    wait_for(lambda: processes_in(kit.paths.cache) == {}, seconds=20)
    assert kit.run(cell_of(script(writes=True))).sample.failed == 0
    assert kit.nothing_is_left()


def test_tables_that_cannot_be_distributed_are_one_error_that_says_why(kit: Kit) -> None:
    one = script(writes=True)
    unfit = Script(name=one.name, parts=one.parts, distribute=one.distribute)
    with pytest.raises(ClusterError, match="could not be distributed") as caught:
        kit.run(cell_of(unfit))
    assert "UNIQUE" in caught.value.detail
    assert "primary key" in caught.value.hint
    assert kit.nothing_is_left()


@pytest.mark.parametrize(
    ("mode", "has_citus", "reason"),
    [
        (script(writes=True), False, "landspeed build --from PG_CONFIG --name NAME"),
        (Mode.READ_ONLY, True, "does not say how its tables are distributed"),
    ],
)
def test_what_cannot_be_sharded_is_refused_before_any_server_is_started(
    kit: Kit, newest_build: Build, mode: Mode | Script, has_citus: bool, reason: str
) -> None:
    build = kit.build if has_citus else newest_build
    with pytest.raises(NotApplicableError, match="cannot run across 2-workers") as caught:
        kit.run(cell_of(mode), build=build)
    assert reason in caught.value.detail


@pytest.fixture
def own_cache(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What the command line says, with the builds of everybody and a register of its own."""
    shared, own = Paths.find(), kit.paths.cache / "own"
    own.mkdir()
    for name in ("builds", "sources.git", "downloads"):
        if (shared.cache / name).exists():
            (own / name).symlink_to(shared.cache / name)
    project = make_project(kit.paths.cache / "project")
    monkeypatch.setenv("LANDSPEED_CACHE", str(own))
    return lambda *words: run_in(project, [program("landspeed"), *words]).stdout


def test_the_study_goes_from_a_registered_server_to_a_report(
    kit: Kit, own_cache: Callable[..., str]
) -> None:
    own_cache("build", "--from", str(kit.build.program("pg_config")), "--name", "pretended")
    words = ("--clients", "2", "--samples", "1", "--seconds", "1", "--scale", "small=1", "--json")
    told = json.loads(own_cache("study", "sharded", *words))
    assert (told["measured"], told["errors"]) == (4, [])
    text = (Path(told["report"]).parent / "report.md").read_text()
    assert "Citus 1.0" in text
    assert "| 2-workers | one-branch-write | 2 | 1 |" in text
    again = json.loads(own_cache("study", "sharded", *words))
    assert (again["measured"], again["present"]) == (0, 4)
