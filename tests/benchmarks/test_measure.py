"""One Run on a real server: its record, and what happens when something is killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from base.build import Build
from base.errors import MeasureError
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.machine.machine import Machine
from benchmarks.machine.processes import children
from benchmarks.measure import measure
from benchmarks.records.record import Record
from benchmarks.workloads.scenario import Mode
from tests.kits.servers.cluster_kit import (
    SCALE,
    cell,
    postmaster_below,
    processes_in,
    server_paths,
    wait_for,
)

CHECKOUT = Path(__file__).resolve().parents[2]
Measure = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def paths() -> Iterator[Paths]:
    with server_paths() as found:
        yield found


@pytest.fixture
def run(paths: Paths, newest_build: Build, pgbench_build: Build) -> Measure:
    def one(mode: Mode, *, seconds: int = 1, clients: int = 2) -> dict[str, Any]:
        return measure(
            build=newest_build,
            pgbench=Pgbench(pgbench_build),
            cell=cell(mode, clients=clients),
            seconds=seconds,
            seed=7,
            machine=Machine.detect("here"),
            paths=paths,
            context={"preset": "test", "round": 3},
        )

    return one


@pytest.mark.postgres
@pytest.mark.parametrize("mode", Mode)
def test_a_run_leaves_a_whole_record_and_nothing_else(
    run: Measure, paths: Paths, newest_build: Build, mode: Mode
) -> None:
    record = run(mode, seconds=2)
    assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record
    assert record.schema_ == 1
    assert record.build.to_json() == newest_build.facts()
    assert record.machine.name == "here"
    assert record.cell.mode == mode
    assert record.run.preset == "test"
    assert record.run.argv[0] == "pgbench"
    assert "--random-seed=7" in record.run.argv
    assert {"prepare", "start", "warm", "pgbench", "stop"} <= set(record.run.phases)
    assert record.settings["shared_buffers"] == "128MB"
    assert record.settings["block_size"] == "8192"
    assert record.database_bytes > 15_000_000 * SCALE
    assert len(record.series.seconds) == len(record.series.tps) >= 1
    assert processes_in(paths.cache) == {}
    assert list((paths.server_root / "runs").iterdir()) == []


@pytest.mark.postgres
@pytest.mark.parametrize("mode", [Mode.READ_ONLY, Mode.READ_WRITE])
def test_what_pgbench_and_the_server_say_agrees(run: Measure, mode: Mode) -> None:
    sample = run(mode).sample
    assert sample.failed == 0
    assert sample.transactions > 0
    assert sample.latency_p50_ms <= sample.latency_p95_ms <= sample.latency_p99_ms
    assert sample.latency_ms == pytest.approx(2 * 1000 / sample.tps, rel=1e-3)
    assert sample.server_cpu_seconds > 0
    # an account is found by at least a root, a leaf and a heap page
    assert sample.blocks_hit >= 3 * sample.transactions
    wal_per_transaction = sample.wal_bytes / sample.transactions
    assert (wal_per_transaction > 100) == mode.writes


@pytest.mark.postgres
def test_a_small_scale_is_read_from_shared_buffers(run: Measure) -> None:
    sample = run(Mode.READ_ONLY).sample
    assert sample.blocks_read < 0.01 * sample.blocks_hit


@pytest.mark.postgres
def test_one_client_and_its_backend_share_a_processor(run: Measure, paths: Paths) -> None:
    found: dict[str, set[int]] = {}
    ended = threading.Event()

    def look() -> None:
        # what is there last counts: a program is on its processors before it has its own name
        names = {"backend": " postgres postgres [local]", "pgbench": "/pgbench "}
        while not ended.wait(0.05):
            for pid, command in processes_in(paths.cache).items():
                for name in [name for name, words in names.items() if words in command]:
                    with contextlib.suppress(OSError):
                        found[name] = os.sched_getaffinity(pid)

    watch = threading.Thread(target=look)
    watch.start()
    record = run(Mode.READ_ONLY, clients=1, seconds=2)
    ended.set()
    watch.join()
    last = max(os.sched_getaffinity(0))
    assert record.run.processors == (last,)
    assert found == {"backend": {last}, "pgbench": {last}}


@pytest.mark.postgres
def test_every_read_write_run_begins_with_the_same_data(run: Measure) -> None:
    first, second = run(Mode.READ_WRITE), run(Mode.READ_WRITE)
    assert first.database_bytes == second.database_bytes


def kill_soon(look: Callable[[], int | None], number: signal.Signals) -> threading.Thread:
    """Kill what *look* finds half a second after it found something: by then pgbench runs."""

    def kill() -> None:
        wait_for(look)
        time.sleep(0.5)
        os.kill(wait_for(look), number)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def busy_postmaster(paths: Paths) -> int | None:
    """The server, once pgbench runs."""
    return postmaster_below(paths.cache) if measuring(paths) else None


def busy_backend(paths: Paths) -> int | None:
    """A backend that serves pgbench, by the title it gives itself."""
    postmaster = postmaster_below(paths.cache)
    if postmaster is None or not measuring(paths):
        return None
    for pid in children(postmaster):
        try:
            title = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        # on a slow disk it is nearly always seen in its COMMIT
        if b"[local]" in title and title.rstrip(b"\0").endswith((b"UPDATE", b"COMMIT")):
            return pid
    return None


@pytest.mark.postgres
def test_a_server_killed_under_pgbench_is_one_error_and_the_next_run_works(
    run: Measure, paths: Paths
) -> None:
    run(Mode.READ_WRITE)
    killer = kill_soon(lambda: busy_postmaster(paths), signal.SIGKILL)
    with pytest.raises(MeasureError) as caught:
        run(Mode.READ_WRITE, seconds=30)
    killer.join()
    assert "The server of" in caught.value.detail
    wait_for(lambda: processes_in(paths.cache) == {})
    assert list((paths.server_root / "runs").iterdir()) == []
    assert run(Mode.READ_WRITE).sample.failed == 0


@pytest.mark.postgres
def test_a_backend_killed_under_pgbench_is_one_error_with_the_servers_words(
    run: Measure, paths: Paths
) -> None:
    run(Mode.READ_WRITE)
    killer = kill_soon(lambda: busy_backend(paths), signal.SIGKILL)
    with pytest.raises(MeasureError) as caught:
        run(Mode.READ_WRITE, seconds=30)
    killer.join()
    assert "terminated by signal 9" in caught.value.detail
    assert processes_in(paths.cache) == {}


@pytest.mark.postgres
def test_a_reader_whose_server_is_killed_is_one_error_and_the_next_run_works(
    run: Measure, paths: Paths
) -> None:
    run(Mode.READ_ONLY)
    killer = kill_soon(lambda: busy_postmaster(paths), signal.SIGQUIT)
    with pytest.raises(MeasureError):
        run(Mode.READ_ONLY, seconds=30)
    killer.join()
    assert run(Mode.READ_ONLY).sample.failed == 0


def start(
    cache: Path, build: Build, client: Build, mode: Mode, scale: int, *, umask: int = -1
) -> subprocess.Popen[str]:
    """A Run of a minute in a process of its own."""
    argv = [sys.executable, "-m", "tests.kits.servers.run_once", cache, build.prefix, client.prefix]
    argv += [mode.value, str(scale), "60"]
    return subprocess.Popen(argv, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, umask=umask)


def loading(paths: Paths) -> bool:
    """Whether a template is being filled just now."""
    return any("INSERT" in line or "COPY" in line for line in processes_in(paths.cache).values())


def measuring(paths: Paths) -> bool:
    """Whether pgbench runs just now."""
    return any("--random-seed" in line for line in processes_in(paths.cache).values())


@pytest.mark.postgres
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("mode", [Mode.READ_ONLY, Mode.READ_WRITE])
@pytest.mark.parametrize("moment", [loading, measuring])
def test_a_killed_landspeed_takes_its_server_along_and_the_next_run_works(
    newest_build: Build,
    pgbench_build: Build,
    number: signal.Signals,
    mode: Mode,
    moment: Callable[[Paths], bool],
) -> None:
    with server_paths() as paths:
        scale = 5 if moment is loading else SCALE
        victim = start(paths.cache, newest_build, pgbench_build, mode, scale)
        wait_for(lambda: moment(paths))
        victim.send_signal(number)
        victim.communicate()
        wait_for(lambda: processes_in(paths.cache) == {}, seconds=10)
        record = measure(
            build=newest_build,
            pgbench=Pgbench(pgbench_build),
            cell=cell(mode, scale=scale),
            seconds=1,
            seed=1,
            machine=Machine.detect(),
            paths=paths,
            context={},
        )
        assert record.sample.transactions > 0
        assert list((paths.server_root / "runs").iterdir()) == []


@pytest.mark.postgres
def test_an_interrupt_from_the_keyboard_leaves_nothing_running(
    newest_build: Build, pgbench_build: Build
) -> None:
    with server_paths() as paths:
        victim = start(paths.cache, newest_build, pgbench_build, Mode.READ_WRITE, SCALE)
        wait_for(lambda: measuring(paths))
        victim.send_signal(signal.SIGINT)
        victim.communicate()
        assert processes_in(paths.cache) == {}
        assert list((paths.server_root / "runs").iterdir()) == []


@pytest.mark.postgres
def test_a_strict_umask_does_not_lock_the_servers_user_out(
    newest_build: Build, pgbench_build: Build
) -> None:
    with server_paths() as paths:
        victim = start(
            paths.cache / "deeper", newest_build, pgbench_build, Mode.READ_WRITE, SCALE, umask=0o77
        )
        wait_for(lambda: measuring(paths))
        victim.send_signal(signal.SIGTERM)
        victim.communicate()
        wait_for(lambda: processes_in(paths.cache) == {}, seconds=10)


@pytest.mark.postgres
def test_two_landspeeds_at_once_wait_for_each_other(
    newest_build: Build, pgbench_build: Build
) -> None:
    with server_paths() as paths:
        argv = [
            sys.executable,
            "-m",
            "tests.kits.servers.run_once",
            paths.cache,
            newest_build.prefix,
        ]
        argv += [pgbench_build.prefix, Mode.READ_WRITE.value, str(SCALE), "1"]
        both = [
            subprocess.Popen(argv, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        records = [Record.from_json(json.loads(one.communicate()[0])) for one in both]
        assert all(record.sample.failed == 0 for record in records)
        assert records[0].id != records[1].id
