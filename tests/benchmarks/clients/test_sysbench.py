"""The other client: what sysbench prints, read from output it once printed, and how it is asked."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.errors import MeasureError, StorageError, UsageError
from benchmarks import applicability
from benchmarks.applicability import counted_cells, planned_cells
from benchmarks.clients.client import Outcome
from benchmarks.clients.sysbench import Sysbench, sysbench_mode, sysbench_reason
from benchmarks.clients.sysbench_output import complaints, parse_report, parse_seconds
from benchmarks.machine.machine import Limits
from benchmarks.server.home import ServerHome
from benchmarks.workloads.scenario import (
    BYTES_PER_SCALE,
    Cell,
    Protocol,
    Scenario,
    Tier,
    preset_named,
)
from benchmarks.workloads.sysbench_modes import ROWS_PER_SCALE, SYSBENCH_SCRIPTS, SysbenchMode
from tests.kits.made_up.stand_ins import AMPLE
from tests.kits.made_up.study_kit import MACHINE
from tests.kits.servers.cluster_kit import is_root, server_paths

# sysbench 1.0.20 of Debian 12: 8 threads on 60 rows, most of its histogram left out
REPORT = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 8
Report intermediate results every 1 second(s)
Initializing random number generator from seed (2147483647).


Initializing worker threads...

Threads started!

[ 1s ] thds: 8 tps: 71.75 qps: 1553.97 (r/w/o: 1102.82/294.87/156.28) lat (ms,95%): 186.54 \
err/s: 0.98 reconn/s: 0.00
[ 2s ] thds: 8 tps: 0.00 qps: 1268.24 (r/w/o: 891.09/247.41/129.74) lat (ms,95%): 186.54 \
err/s: 0.00 reconn/s: 0.00
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       8.428 |********                                 1
      50.107 |********************************         4
     102.969 |************************                 45
     132.492 |**************************************** 45
     231.534 |********                                 4
     450.774 |                                         1
 \n\
SQL statistics:
    queries performed:
        read:                            2044
        write:                           575
        other:                           297
        total:                           2916
    transactions:                        144    (60.16 per sec.)
    queries:                             2916   (1218.34 per sec.)
    ignored errors:                      2      (0.84 per sec.)
    reconnects:                          1      (0.42 per sec.)

General statistics:
    total time:                          2.3930s
    total number of events:              144

Latency (ms):
         min:                                    8.41
         avg:                                  116.86
         max:                                  447.26
         95th percentile:                      189.93
         sum:                                16827.23

Threads fairness:
    events (avg/stddev):           18.0000/0.71
    execution time (avg/stddev):   2.1034/0.10

"""
# two threads that could not connect, each of which says so
REFUSED = """\
Initializing worker threads...

FATAL: Connection to database failed: connection to server on socket "/s/.s.PGSQL.5432" failed
FATAL: `thread_init' function failed: /usr/share/sysbench/oltp_common.lua:349: connection creation \
failed
FATAL: Connection to database failed: connection to server on socket "/s/.s.PGSQL.5432" failed
FATAL: `thread_init' function failed: /usr/share/sysbench/oltp_common.lua:349: connection creation \
failed
FATAL: Thread initialization failed!
"""
FULL = "FATAL: PQexec() failed: 7 could not extend file: No space left on device"
MODE = SysbenchMode(name="oltp-read-write", version="1.0.20")


def cell_of(
    mode: SysbenchMode = MODE, protocol: Protocol = Protocol.PREPARED, clients: int = 8
) -> Cell:
    scenario = Scenario(mode=mode, protocol=protocol, tier=Tier.SMALL, scale=2)
    return Cell(scenario=scenario, clients=clients, profile="default")


# --- what it prints ------------------------------------------------------------------------


def test_the_report_is_read() -> None:
    sample = parse_report(REPORT, clients=8)
    assert (sample.transactions, sample.measured_seconds) == (144, 2.393)
    assert sample.tps == pytest.approx(144 / 2.393)
    assert sample.latency_ms == pytest.approx(8 * 2393 / 144)


def test_what_had_to_be_done_again_has_failed() -> None:
    assert parse_report(REPORT, clients=8).failed == 3


def test_percentiles_are_the_steps_of_the_histogram_that_they_fall_in() -> None:
    sample = parse_report(REPORT, clients=8)
    told = (sample.latency_p50_ms, sample.latency_p95_ms, sample.latency_p99_ms)
    assert told == (102.969, 132.492, 231.534)


def test_what_sysbench_does_not_tell_is_none() -> None:
    sample = parse_report(REPORT, clients=8)
    assert (sample.latency_stddev_ms, sample.connection_ms) == (None, None)
    without = "\n".join(line for line in REPORT.splitlines() if " |" not in line)
    assert parse_report(without, clients=8).latency_p99_ms is None


def test_seconds_become_a_series_and_one_without_a_transaction_has_no_latency() -> None:
    series = parse_seconds(REPORT)
    assert series.seconds == (1.0, 2.0)
    assert series.tps == (71.75, 0.0)
    assert series.latency_ms == (pytest.approx(8000 / 71.75, abs=1e-4), None)
    assert series.latency_stddev_ms == (None, None)
    assert series.failed == (1, 0)


def test_a_run_without_a_transaction_is_no_sample() -> None:
    nothing = REPORT.replace("transactions:                        144 ", "transactions:  0 ")
    with pytest.raises(MeasureError, match="sysbench finished no transaction"):
        parse_report(nothing, clients=8)


@pytest.mark.parametrize("lost", ["transactions: ", "total time:", "ignored errors:"])
def test_a_report_that_lacks_a_line_is_an_error_that_shows_it(lost: str) -> None:
    text = "\n".join(line for line in REPORT.splitlines() if lost not in line)
    with pytest.raises(MeasureError, match="could not understand sysbench's report") as caught:
        parse_report(text, clients=8)
    assert "Threads fairness" in caught.value.detail


def test_what_all_threads_complain_of_is_told_once() -> None:
    lines = complaints(REFUSED).splitlines()
    assert len(lines) == 3
    assert lines[-1] == "FATAL: Thread initialization failed!"
    assert complaints(REPORT) == ""


# --- what it is asked ----------------------------------------------------------------------


def sysbench_that(where: Path, monkeypatch: pytest.MonkeyPatch, does: str) -> None:
    """Put a sysbench of version 1.0.20 on PATH that *does* this else."""
    where.mkdir(exist_ok=True)
    program = where / "sysbench"
    version = 'if [ "$1" = --version ]; then echo "sysbench 1.0.20"; exit; fi'
    program.write_text(f"#!/bin/sh\n{version}\n{does}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{where}:{os.environ['PATH']}")


def run(tmp_path: Path, cell: Cell, seed: int = 7, client: Sysbench | None = None) -> Outcome:
    return (client or Sysbench(MODE)).run(
        tmp_path / "sockets",
        database="postgres",
        cell=cell,
        cores=2,
        seconds=10,
        seed=seed,
        scratch=tmp_path,
    )


def said(tmp_path: Path) -> str:
    """A file that the pretended sysbench prints."""
    (tmp_path / "report").write_text(REPORT)
    return f"cat {tmp_path / 'report'}"


def test_it_is_asked_what_pgbench_is_and_by_as_many_threads_as_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sysbench_that(tmp_path / "bin", monkeypatch, said(tmp_path))
    argv = run(tmp_path, cell_of(clients=8)).argv
    assert argv[:2] == (str(tmp_path / "bin/sysbench"), "oltp_read_write")
    assert argv[-1] == "run"
    assert set(argv) >= {
        f"--pgsql-host={tmp_path / 'sockets'}",
        "--pgsql-user=postgres",
        "--db-ps-mode=auto",
        "--rand-type=uniform",
        "--rand-seed=7",
        f"--table-size={2 * ROWS_PER_SCALE}",
        "--threads=8",
        "--time=10",
        "--report-interval=1",
        "--histogram=on",
    }
    assert cell_of(clients=8).threads(2) == 8


def test_the_simple_protocol_is_without_prepared_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sysbench_that(tmp_path / "bin", monkeypatch, said(tmp_path))
    assert "--db-ps-mode=disable" in run(tmp_path, cell_of(protocol=Protocol.SIMPLE)).argv


def test_a_seed_of_nothing_is_not_the_time_of_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sysbench_that(tmp_path / "bin", monkeypatch, said(tmp_path))
    assert "--rand-seed=1" in run(tmp_path, cell_of(), seed=0).argv


def test_an_outcome_has_the_sample_the_series_and_no_complaint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sysbench_that(tmp_path / "bin", monkeypatch, said(tmp_path))
    outcome = run(tmp_path, cell_of())
    assert outcome.sample == parse_report(REPORT, clients=8)
    assert outcome.series == parse_seconds(REPORT)
    assert (outcome.stderr, outcome.statements) == ("", ())


def test_it_sees_nothing_of_the_callers_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGHOST", "elsewhere")
    sysbench_that(tmp_path / "bin", monkeypatch, "env >&2; exit 1")
    with pytest.raises(MeasureError) as caught:
        run(tmp_path, cell_of())
    assert "HOME=/" in caught.value.detail
    assert "PGHOST" not in caught.value.detail


def test_a_sysbench_that_fails_shows_what_it_complained_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "report").write_text(REFUSED)
    sysbench_that(tmp_path / "bin", monkeypatch, f"cat {tmp_path / 'report'}; exit 1")
    with pytest.raises(MeasureError, match=r"sysbench was aborted \(exit status 1\)") as caught:
        run(tmp_path, cell_of())
    assert caught.value.detail == complaints(REFUSED)


def test_a_sysbench_that_dies_of_a_lost_connection_is_said_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sysbench_that(tmp_path / "bin", monkeypatch, "kill -SEGV $$")
    with pytest.raises(MeasureError, match=r"exit status -11") as caught:
        run(tmp_path, cell_of())
    assert "when a connection is lost" in caught.value.detail


def test_loading_asks_for_the_same_rows_every_time_and_a_full_disk_is_a_storage_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    does = f'echo "$*" >{tmp_path / "asked"}; echo "{FULL}"; exit 1'
    sysbench_that(tmp_path / "bin", monkeypatch, does)
    with pytest.raises(StorageError, match="could not load scale 3: the disk is full"):
        Sysbench(MODE).initialise(tmp_path / "s", scale=3)
    asked = (tmp_path / "asked").read_text()
    assert asked.endswith(f"--table-size={3 * ROWS_PER_SCALE} --rand-seed=1 prepare\n")


@pytest.mark.skipif(not is_root(), reason="only root can run it as another user")
def test_the_client_of_root_runs_as_the_servers_user(monkeypatch: pytest.MonkeyPatch) -> None:
    with server_paths() as paths:
        home = ServerHome.open(paths)
        sysbench_that(paths.cache / "bin", monkeypatch, "id -un >&2; exit 1")
        (paths.cache / "bin").chmod(0o755)
        with home.run_directory() as one, pytest.raises(MeasureError) as caught:
            run(one.scratch, cell_of(), client=Sysbench(MODE).at_home(home))
        assert home.user is not None
        assert caught.value.detail == home.user.pw_name != "root"


# --- what it is in a plan --------------------------------------------------------------------


def test_a_mode_is_known_by_its_script_and_by_the_version_that_asks() -> None:
    values = [
        SysbenchMode(name=name, version=v).value
        for name in SYSBENCH_SCRIPTS
        for v in ("1.0.20", "1.1.0")
    ]
    assert len(set(values)) == 2 * len(SYSBENCH_SCRIPTS)
    assert all(value.startswith("oltp-") and "." not in value for value in values)
    with pytest.raises(UsageError, match='"oltp-foo" is no script of sysbench'):
        SysbenchMode(name="oltp-foo", version="1.0.20")


def test_the_version_is_what_the_program_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sysbench_that(tmp_path / "bin", monkeypatch, "exit 1")
    assert sysbench_mode("oltp-read-only") == SysbenchMode(name="oltp-read-only", version="1.0.20")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert sysbench_mode("oltp-read-only").version == ""


def test_its_data_is_its_own_and_as_large_as_pgbenchs() -> None:
    scenario = cell_of().scenario
    assert scenario.data
    assert (
        scenario.data != replace(scenario, mode=SysbenchMode(name=MODE.name, version="1.1.0")).data
    )
    bytes_a_row = 265
    assert ROWS_PER_SCALE * bytes_a_row == pytest.approx(BYTES_PER_SCALE, rel=0.05)


def plan(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> list[str | None]:
    monkeypatch.setattr(Limits, "detect", classmethod(lambda *_: AMPLE))
    preset = replace(preset_named("quick"), modes=(MODE,), client_counts=(1,), **changes)
    return [one.reason for one in planned_cells(preset, MACHINE, Path("/"), {})]


def test_without_sysbench_the_plan_says_what_would_bring_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    reason = 'sysbench is not installed: "apt-get install sysbench" brings it'
    assert sysbench_reason() == reason
    assert plan(monkeypatch) == [reason]


def test_a_protocol_that_it_does_not_speak_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sysbench_that(tmp_path / "bin", monkeypatch, "exit 1")
    reasons = plan(monkeypatch, protocols=tuple(Protocol))
    told = "sysbench sends its queries simple or prepared, not extended"
    assert reasons == [None, told, None]


def test_what_sysbench_runs_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applicability, "sysbench_reason", lambda _: None)
    monkeypatch.setattr(Limits, "detect", classmethod(lambda *_: AMPLE))
    preset = replace(preset_named("quick"), modes=(MODE,))
    reasons = {one.reason for one in counted_cells(preset, MACHINE, tmp_path, {})}
    assert reasons == {"only pgbench is counted, with one script"}
