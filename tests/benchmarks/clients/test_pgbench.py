"""What pgbench prints, read from output it once printed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from base.build import Build, Origin, Variant
from base.errors import MeasureError, StorageError
from base.version import Version
from benchmarks.clients import pgbench
from benchmarks.clients.client import Outcome
from benchmarks.clients.pgbench import Pgbench
from benchmarks.clients.pgbench_output import (
    parse_log,
    parse_progress,
    parse_statements,
    parse_summary,
)
from benchmarks.server.endpoint import load_seconds
from benchmarks.server.home import ServerHome
from benchmarks.workloads.catalog import named
from benchmarks.workloads.scenario import Cell, Mode
from tests.kits.servers.cluster_kit import cell, is_root, server_paths

REPORT = """\
pgbench (18.6)
transaction type: <builtin: simple update>
scaling factor: 5
query mode: prepared
number of clients: 4
number of threads: 2
maximum number of tries: 1
duration: 2 s
number of transactions actually processed: 4705
number of failed transactions: 3 (0.064%)
number of serialization failures: 3 (0.064%)
number of deadlock failures: 0 (0.000%)
latency average = 1.694 ms
latency stddev = 2.476 ms
initial connection time = 11.442 ms
tps = 2350.174502 (without initial connection time)
"""

STATEMENTS = """\
statement latencies in milliseconds and failures:
         0.001           0 \\set aid random(1, 100000 * :scale)
         0.046           0 BEGIN;
         0.112           0 UPDATE pgbench_accounts SET abalance = :delta WHERE aid = :aid;
         1.230           0 END;
"""

STDERR = """\
pgbench: setting random seed to 7
progress: 1.0 s, 2186.9 tps, lat 1.801 ms stddev 2.910, 0 failed
progress: 2.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 3 failed
"""

STDERR_OF_A_DEAD_SERVER = """\
progress: 1.0 s, 2805.0 tps, lat 1.414 ms stddev 1.570, 0 failed
WARNING:  terminating connection due to immediate shutdown command
pgbench: error: client 1 aborted in command 7 (SQL) of script 0; perhaps the backend died \
while processing
pgbench: error: Run was aborted; the above results are incomplete.
"""

NO_TRANSACTION = """\
pgbench (18.6)
scaling factor: 5
duration: 1 s
number of transactions actually processed: 0
"""

LOG = b"""\
1 1 10278 0 1795173195 770933
0 3 1368 0 1795173195 773108
1 4 failed 0 1795173195 775406
0 5 skipped 0 1795173195 777924
2 7 serialization 0 1795173195 777925
"""
FULL = "pgbench: error: query failed: ERROR:  could not extend file: No space left on device\n"
NOTHING = np.array([], dtype=np.float64)


def test_statements_have_their_mean_latency_and_what_pgbench_does_itself_is_left_out() -> None:
    assert parse_statements(REPORT + STATEMENTS) == (
        ("BEGIN;", 0.046),
        ("UPDATE pgbench_accounts SET abalance = :delta WHERE aid = :aid;", 0.112),
        ("END;", 1.23),
    )
    assert parse_statements(REPORT) == ()


def test_the_report_is_read() -> None:
    sample = parse_summary(REPORT, np.arange(1000.0, 2001.0), clients=4)
    assert sample.transactions == 4705
    assert sample.failed == 3
    assert sample.tps == 2350.174502
    assert sample.latency_stddev_ms == 2.476
    assert sample.connection_ms == 11.442
    assert sample.measured_seconds == pytest.approx(2.00198, abs=1e-5)
    assert (sample.latency_p50_ms, sample.latency_p95_ms) == (1.5, 1.95)
    assert sample.latency_p99_ms == 1.99


def test_the_mean_latency_is_not_rounded_to_a_microsecond() -> None:
    assert parse_summary(REPORT, NOTHING, clients=4).latency_ms == 1.702001


def test_a_run_without_a_logged_transaction_has_no_percentiles() -> None:
    sample = parse_summary(REPORT, NOTHING, clients=4)
    assert sample.latency_p50_ms is None
    assert sample.latency_p99_ms is None


def test_a_run_without_a_transaction_is_no_sample() -> None:
    with pytest.raises(MeasureError, match="finished no transaction"):
        parse_summary(NO_TRANSACTION, NOTHING, clients=1)


@pytest.mark.parametrize(
    "line", [line for line in REPORT.splitlines() if "tps" in line or "init" in line]
)
def test_a_report_that_lacks_a_line_is_an_error_that_shows_it(line: str) -> None:
    with pytest.raises(MeasureError, match="could not understand") as caught:
        parse_summary(REPORT.replace(line, ""), NOTHING, clients=1)
    assert "scaling factor: 5" in caught.value.detail


def test_an_empty_report_is_an_error() -> None:
    with pytest.raises(MeasureError):
        parse_summary("", NOTHING, clients=1)


def test_progress_becomes_a_series_and_the_rest_stays() -> None:
    series, rest = parse_progress(STDERR)
    assert series.seconds == (1.0, 2.0)
    assert series.tps == (2186.9, 0.0)
    assert series.failed == (0, 3)
    assert rest == "pgbench: setting random seed to 7"


def test_a_second_without_a_transaction_has_no_latency() -> None:
    series, _ = parse_progress(STDERR)
    assert series.latency_ms == (1.801, None)
    assert series.latency_stddev_ms == (2.910, None)
    assert series.to_json()["latency_ms"] == [1.801, None]


def test_what_a_dying_server_says_is_kept() -> None:
    series, rest = parse_progress(STDERR_OF_A_DEAD_SERVER)
    assert len(series.seconds) == 1
    assert rest.endswith("Run was aborted; the above results are incomplete.")


def test_the_log_has_latencies_in_microseconds_and_failed_ones_have_none() -> None:
    assert parse_log([LOG, b"", b"9 9 500 0 1 1\n"]).tolist() == [10278.0, 1368.0, 500.0]


def test_a_log_that_was_cut_off_is_read_as_far_as_it_goes() -> None:
    assert parse_log([b"1 1 100 0 1 1\n2 2"]).tolist() == [100.0]


def client_that_says(tmp_path: Path, text: str) -> Pgbench:
    """A Pgbench whose program writes *text* to stderr and fails."""
    program = tmp_path / "bin" / "pgbench"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nprintf '%s' '{text}' >&2\nexit 2\n")
    program.chmod(0o755)
    version = Version.parse("18.6")
    origin = Origin(release="18.6", commit=None, tree="0" * 40, date="2026-08-13")
    return Pgbench(
        Build(
            prefix=tmp_path,
            identifier="fake",
            version=version,
            origin=origin,
            variant=Variant(),
            build_system="meson",
            quirks=(),
            toolchain={},
            digest="0" * 64,
            cpu_seconds=0.0,
        )
    )


def run_once(client: Pgbench, scratch: Path, one: Cell | None = None) -> Outcome:
    return client.run(
        scratch / "sockets",
        database="postgres",
        cell=one or cell(),
        cores=2,
        seconds=1,
        seed=1,
        scratch=scratch,
    )


def test_a_disk_that_fills_while_loading_is_a_storage_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="the disk is full"):
        client_that_says(tmp_path, FULL).initialise(tmp_path / "sockets", scale=1)


def test_loading_ends_after_a_time_that_grows_with_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_that_says(tmp_path, "")
    client.build.program("pgbench").write_text("#!/bin/sh\nexec sleep 600\n")
    monkeypatch.setattr(pgbench, "load_seconds", lambda scale: scale / 10)
    with pytest.raises(MeasureError, match="pgbench did not end") as caught:
        client.initialise(tmp_path / "sockets", scale=1)
    assert caught.value.detail == "It was killed after 0 s."
    assert load_seconds(1_000) - load_seconds(1) == 9_990


def test_a_pgbench_that_fails_shows_its_last_words_and_not_its_progress(tmp_path: Path) -> None:
    client = client_that_says(tmp_path, STDERR_OF_A_DEAD_SERVER)
    with pytest.raises(MeasureError, match=r"was aborted \(exit status 2\)") as caught:
        run_once(client, tmp_path)
    assert "the above results are incomplete" in caught.value.detail
    assert "progress:" not in caught.value.detail


@pytest.mark.skipif(not is_root(), reason="only root can run it as another user")
def test_the_client_of_root_runs_as_the_servers_user_who_may_write_its_logs() -> None:
    with server_paths() as paths:
        home = ServerHome.open(paths)
        (paths.cache / "client").mkdir()
        client = client_that_says(paths.cache / "client", "")
        text = "#!/bin/sh\ntouch written && id -un >&2; exit 1\n"
        client.build.program("pgbench").write_text(text)
        (paths.cache / "client" / "share").mkdir()
        client.build.program("postgres").touch(mode=0o755)
        with home.run_directory() as run, pytest.raises(MeasureError) as caught:
            client.at_home(home).run(
                run.sockets,
                database="postgres",
                cell=cell(),
                cores=2,
                seconds=1,
                seed=1,
                scratch=run.scratch,
            )
        assert home.user is not None
        assert caught.value.detail == home.user.pw_name != "root"


def test_pgbench_sees_its_arguments_and_nothing_of_the_callers_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "1")
    program = tmp_path / "bin" / "pgbench"
    client = client_that_says(tmp_path, "")
    program.write_text('#!/bin/sh\necho "$*" >&2\nenv >&2\nexit 1\n')
    with pytest.raises(MeasureError) as caught:
        client.run(
            tmp_path / "sockets",
            database="postgres",
            cell=cell(Mode.READ_WRITE, clients=64),
            cores=8,
            seconds=10,
            seed=42,
            scratch=tmp_path,
        )
    assert "PGPORT" not in caught.value.detail
    assert "-n -N -M prepared -c 64 -j 8 -T 10 -P 1 --random-seed=42" in caught.value.detail


def test_of_a_notice_in_each_transaction_the_last_ones_are_kept(tmp_path: Path) -> None:
    client = client_that_says(tmp_path, "")
    client.build.program("pgbench").write_text(
        f"#!/bin/sh\nseq -f 'NOTICE: %.0f' 200000 >&2; cat <<END\n{REPORT}END\n"
    )
    outcome = run_once(client, tmp_path)
    lines = outcome.stderr.splitlines()
    assert (len(lines), lines[-1]) == (50, "NOTICE: 200000")


def test_links_and_pipes_that_a_server_plants_beside_the_clients_files_are_not_followed(
    tmp_path: Path,
) -> None:
    scratch, ours = tmp_path / "scratch", tmp_path / "ours"
    scratch.mkdir()
    ours.write_bytes(LOG)
    workload = named("sort-text")
    for name in (f"{workload.name}.sql", "transactions.2"):
        (scratch / name).symlink_to(ours)
    os.mkfifo(scratch / "transactions.3")
    client = client_that_says(tmp_path, "")
    log = "echo 0 1 2000 0 1795173195 770933 > transactions.1"
    client.build.program("pgbench").write_text(
        f"#!/bin/sh\ncat *.sql > script; {log}; cat <<END\n{REPORT}END\n"
    )
    outcome = run_once(client, scratch, cell(workload))
    assert outcome.sample.transactions == 4705
    assert outcome.sample.latency_p99_ms == 2.0
    assert (scratch / "script").read_text() == f"{workload.script}\n"
    assert ours.read_bytes() == LOG
