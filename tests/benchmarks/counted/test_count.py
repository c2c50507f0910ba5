"""Counting what a transaction costs: the arithmetic, what can go wrong, and real servers."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.build import Build, Origin, Variant
from base.errors import LandspeedError, MeasureError, StorageError, UsageError
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted import cells, valgrind
from benchmarks.counted import count as module
from benchmarks.counted.callgrind import Profile
from benchmarks.counted.count import count
from benchmarks.counted.profiles import keep_profile, kept_profile
from benchmarks.counted.series import CountedSeries
from benchmarks.counted.settings import exact_settings
from benchmarks.counted.slope import SPREAD_LIMIT, Slope, sample_of
from benchmarks.machine.machine import Machine
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from benchmarks.workloads.catalog import named
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.scenario import CacheState, Cell, Mode, Protocol, Scenario, Tier
from landspeed.session.session import Session
from tests.kits.made_up.stand_ins import made_up_build
from tests.kits.servers.cluster_kit import SCALE, cell, processes_in, server_paths
from tests.kits.servers.known_settings import RECORDED

Count = Callable[..., Record]


def made_series(executions: int, instructions: float, **changes: Any) -> CountedSeries:
    plain = CountedSeries(
        executions=executions,
        instructions=instructions,
        clocked=10.0 * executions,
        wal_bytes=400 * executions,
        blocks_hit=3 * executions,
        blocks_read=executions,
        profile=Profile(own={}, edges={}),
    )
    return replace(plain, **changes)


def slope(each: float, start: float = 9e6) -> Slope:
    return Slope(
        short=made_series(200, start + 200 * each), long=made_series(1200, start + 1200 * each)
    )


# --- offline -------------------------------------------------------------------------------


def test_what_starting_costs_cancels():
    assert slope(40_000, start=1e6).instructions == slope(40_000, start=5e9).instructions == 40_000


def test_a_sample_is_the_mean_of_two_slopes_with_their_distance():
    sample = sample_of([slope(39_990), slope(40_010)], "18.6 bs8")
    assert sample == {
        "instructions": 40_000,
        "instructions_spread": pytest.approx(0.0005),
        "clocked_instructions": 10,
        "wal_bytes_tx": 400,
        "blocks_tx": 4,
        "blocks_read_tx": 1,
        "transactions": 1000,
    }


def test_what_the_background_writes_now_and_then_is_not_the_transactions():
    disturbed = slope(40_000)
    disturbed = replace(disturbed, long=replace(disturbed.long, wal_bytes=480_056))
    sample = sample_of([disturbed, slope(40_000)], "18.6 bs8")
    assert sample["wal_bytes_tx"] == 400


def test_slopes_that_are_too_far_apart_are_an_error_and_no_number():
    wide = 40_000 * (1 + 1.1 * SPREAD_LIMIT)
    with pytest.raises(MeasureError) as caught:
        sample_of([slope(40_000), slope(wide)], "18.6 bs8")
    assert str(caught.value) == (
        "error:  counting 18.6 bs8 twice gave different numbers\n"
        "detail: 40000.0, 40044.0 instructions per transaction are 0.11% apart, "
        "0.10% are allowed.\n"
        "hint:   Count it again; a server whose work depends on time cannot be counted."
    )


def test_executions_that_cost_less_than_nothing_are_an_error_and_no_number():
    with pytest.raises(MeasureError):
        sample_of([slope(-140), slope(-100)], "18.6 bs8")


def test_only_one_client_and_stated_buffers_can_be_counted():
    for wrong in (cell(clients=1), replace(cell(clients=2), buffers=CacheState.WARM)):
        with pytest.raises(UsageError):
            count(cell=wrong, **dict.fromkeys(("build", "pgbench", "machine", "paths", "context")))


@pytest.mark.parametrize("error", [StorageError, MeasureError])
def test_a_full_disk_says_nothing_about_what_a_script_costs(
    monkeypatch: pytest.MonkeyPatch, error: type[LandspeedError]
) -> None:
    def fails(*_: object) -> None:
        raise error("no server")

    monkeypatch.setattr(module.Counter, "_server", fails)
    monkeypatch.setattr(cells, "_lengths", {})
    origin = Origin(release="18.1", commit=None, tree="0" * 40, date="2025-01-01")
    nothing: Any = None
    counter = module.Counter(
        build=made_up_build("18.1-bs8", origin),
        pgbench=Pgbench(build=made_up_build("18.1-bs8", origin)),
        machine=nothing,
        paths=nothing,
        context={},
        stop=threading.Event(),
    )
    script = Script(name="mine", parts=(("SELECT 1", 1),))
    scenario = replace(cell().scenario, mode=script)
    expected = pytest.raises(StorageError) if error is StorageError else nullcontext()
    with expected:
        counter._work(Cell(scenario=scenario, clients=1, profile="default"))
    assert len(cells._lengths) == (error is MeasureError), "it is looked at again"


@pytest.mark.parametrize("version", RECORDED)
def test_what_is_set_is_known_to_the_server(version: str):
    names = exact_settings(dict.fromkeys(RECORDED[version], ""))
    assert set(names) <= set(RECORDED[version])
    assert {"autovacuum", "fsync", "full_page_writes", "bgwriter_delay"} <= set(names)
    assert "max_parallel_workers_per_gather" not in names


def test_a_commit_within_a_development_cycle_is_not_set_what_its_version_will_know():
    names = set(exact_settings(dict.fromkeys(RECORDED["9.6beta1 2016-05-09"], "")))
    # the first was called max_parallel_degree until four weeks later, the second came with 10
    assert names.isdisjoint({"max_parallel_workers_per_gather", "max_parallel_workers"})


def test_what_a_server_refuses_is_not_set():
    # "0 is outside the valid range for parameter "max_worker_processes" (1 .. 262143)"
    name = "max_worker_processes"
    assert exact_settings({name: "0", "autovacuum": ""}) == {name: "0", "autovacuum": "off"}
    assert exact_settings({name: "1", "autovacuum": ""}) == {"autovacuum": "off"}
    assert name not in exact_settings({name: "0", "max_parallel_workers": "0"})


def test_a_profile_is_kept_beside_the_records(tmp_path: Path):
    paths = Paths(cache=tmp_path, project=tmp_path)
    profile = Profile(own={"ExecScan": 12.5}, edges={})
    keep_profile(paths, "a" * 32, profile)
    assert kept_profile(paths, "a" * 32) == profile
    assert kept_profile(paths, "b" * 32) is None


def test_without_valgrind_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(MeasureError) as caught:
        valgrind.valgrind()
    assert caught.value.message == "valgrind is not installed"
    assert caught.value.hint == 'Install it with "apt-get install valgrind".'


def fake_proc(root: Path, randomize: str, personalities: dict[int, str]) -> Path:
    (root / "proc/sys/kernel").mkdir(parents=True)
    (root / "proc/sys/kernel/randomize_va_space").write_text(f"{randomize}\n")
    for pid, flags in personalities.items():
        (root / f"proc/{pid}").mkdir()
        (root / f"proc/{pid}/personality").write_text(f"{flags}\n")
    return root


def test_addresses_are_proven_fixed_by_each_process(tmp_path: Path):
    root = fake_proc(tmp_path, "2", {7: "00040000", 8: "00000000"})
    valgrind.require_fixed_addresses([7, 99], root)
    with pytest.raises(MeasureError) as caught:
        valgrind.require_fixed_addresses([7, 8], root)
    assert caught.value.message == "address randomisation is not off in process 8"


def test_what_root_may_not_look_at_is_asked_of_the_user_who_runs_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def forbidden(path: Path) -> str:
        raise PermissionError(1, "Operation not permitted", str(path))

    monkeypatch.setattr(valgrind, "_read", forbidden)
    root = fake_proc(tmp_path, "2", {7: "00040000", 8: "00000000"})
    valgrind.require_fixed_addresses([7], root)
    with pytest.raises(MeasureError, match="not off in process 8"):
        valgrind.require_fixed_addresses([8], root)
    (root / "proc/9").mkdir()
    with pytest.raises(MeasureError) as caught:
        valgrind.require_fixed_addresses([9], root)
    assert "--cap-add SYS_PTRACE" in caught.value.hint


def test_addresses_are_fixed_where_the_whole_machine_has_them_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(valgrind, "valgrind", lambda: "/usr/bin/valgrind")
    root = fake_proc(tmp_path, "0", {8: "00000000"})
    valgrind.require_fixed_addresses([8], root)
    assert valgrind.counting(tmp_path, root)[0] == "/usr/bin/valgrind"


def count_nowhere(directory: Path, buffers: CacheState) -> Record:
    """Count a server that nobody built, with everything below *directory*."""
    origin = Origin(release="18.1", commit=None, tree="a" * 40, date="2025-11-13")
    server = made_up_build("18.1-bs8", origin)
    scenario = Scenario(
        mode=Mode.READ_ONLY, protocol=Protocol.PREPARED, tier=Tier.SMALL, scale=SCALE
    )
    return count(
        build=server,
        pgbench=Pgbench(build=server),
        cell=Cell(scenario=scenario, clients=1, profile="default", buffers=buffers),
        machine=Machine.detect("elephant"),
        paths=Paths(cache=directory, project=directory),
        context={},
    )


def test_that_nothing_can_be_counted_is_said_before_any_data_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(valgrind, "_may_fix_addresses", lambda: False)
    monkeypatch.setattr(valgrind, "_is_off_everywhere", lambda root: False)
    monkeypatch.setattr(valgrind, "valgrind", lambda: "/usr/bin/valgrind")
    monkeypatch.setattr(module, "templates", lambda *_: pytest.fail("data was loaded"))
    with pytest.raises(MeasureError, match="address randomisation"):
        count_nowhere(tmp_path, CacheState.WARM)


def test_a_full_disk_is_no_failure_of_the_workload(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    full = StorageError("not enough disk space to load a template (0.8 GB)")

    def templates(*_: object, **__: object) -> None:
        raise full

    monkeypatch.setattr(module, "require_countable", lambda: None)
    monkeypatch.setattr(module, "templates", templates)
    with pytest.raises(StorageError) as caught:
        count_nowhere(tmp_path, CacheState.COLD)
    assert caught.value is full


def test_where_randomisation_cannot_be_turned_off_the_error_says_what_to_allow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(valgrind, "_may_fix_addresses", lambda: False)
    with pytest.raises(MeasureError) as caught:
        valgrind.counting(tmp_path, fake_proc(tmp_path, "2", {}))
    assert caught.value.message == "address randomisation cannot be turned off"
    assert "--security-opt seccomp=unconfined" in caught.value.hint


# --- real servers ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def paths() -> Iterator[Paths]:
    with server_paths() as found:
        yield found


@pytest.fixture(scope="module")
def counted(paths: Paths, newest_build: Build, pgbench_build: Build) -> Count:
    def one(
        mode: Mode = Mode.READ_ONLY,
        buffers: CacheState = CacheState.WARM,
        build: Build = newest_build,
    ) -> Record:
        scenario = Scenario(mode=mode, protocol=Protocol.PREPARED, tier=Tier.SMALL, scale=SCALE)
        return count(
            build=build,
            pgbench=Pgbench(pgbench_build),
            cell=Cell(scenario=scenario, clients=1, profile="default", buffers=buffers),
            machine=Machine.detect("here"),
            paths=paths,
            context={"preset": "test", "round": 1},
            at_once=2,
        )

    return one


@pytest.fixture(scope="module")
def warm(counted: Count) -> Record:
    """The newest release, read-only and warm: what the other counts are compared with."""
    return counted()


@pytest.mark.postgres
def test_a_count_has_a_whole_record_and_leaves_no_process(warm: Record, paths: Paths):
    first, cost = warm, warm.sample.instructions
    assert first.sample.instructions_spread < 0.0005
    assert first.cell.cache_state == "warm"
    assert first.run.instrument == "callgrind"
    assert first.run.transactions == named("read-only").lengths
    assert first.sample.blocks_read_tx == 0
    assert first.sample.wal_bytes_tx < 1
    assert first.settings["full_page_writes"] == "off"
    assert Record.from_json(json.loads(json.dumps(first.to_json()))) == first
    RecordStore(paths.records).add(first)
    profile = kept_profile(paths, first.id)
    assert profile is not None
    assert profile.own["LWLockAcquire"] > 0
    # what is executed is executed somewhere
    assert sum(profile.own.values()) == pytest.approx(
        cost + first.sample.clocked_instructions, rel=0.005
    )
    assert processes_in(paths.cache) == {}


@pytest.mark.postgres
def test_pages_that_must_be_read_in_cost_more_and_writes_are_seen(counted: Count, warm: Record):
    record = counted(buffers=CacheState.COLD)
    cold = record.sample
    # of four servers one is asked
    assert record.plan is not None
    assert record.plan == warm.plan
    assert cold.instructions > 1.1 * warm.sample.instructions
    assert cold.blocks_read_tx > 0.5
    assert cold.blocks_tx == warm.sample.blocks_tx
    written = counted(Mode.READ_WRITE).sample
    assert written.blocks_read_tx < 0.1
    assert 200 < written.wal_bytes_tx < 2000
    assert written.instructions > 2 * warm.sample.instructions


@pytest.mark.postgres
def test_releases_are_told_apart(counted: Count, warm: Record):
    session = Session()
    oldest = session.build(session.builder.sources.resolve("13"), Variant())
    old, new = counted(build=oldest).sample, warm.sample
    apart = abs(old.instructions / new.instructions - 1)
    assert apart > 10 * max(old.instructions_spread, new.instructions_spread)
    assert apart > 0.002


@pytest.mark.postgres
def test_counting_again_gives_the_same_number_wherever_the_build_lies(
    counted: Count, warm: Record, newest_build: Build
):
    place = Path("/var/tmp") / f"landspeed-test-{os.getpid()}-with-a-longer-name"
    shutil.copytree(newest_build.prefix, place, symlinks=True)
    try:
        again = counted(build=replace(newest_build, prefix=place))
    finally:
        shutil.rmtree(place)
    assert again.sample.instructions == pytest.approx(warm.sample.instructions, rel=0.0005)
    assert again.epoch == warm.epoch
