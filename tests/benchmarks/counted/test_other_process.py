"""Counts of parallel workers, of recovery and of a walsender, on a real server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import MagicMock, Mock

import pytest
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from base.build import Build
from base.errors import MeasureError
from benchmarks.counted import other_process
from benchmarks.counted.cells import workload_cell
from benchmarks.counted.other_process import take_changes
from benchmarks.counted.profiles import kept_profile
from benchmarks.records.record import Record
from benchmarks.workloads.catalog import named
from tests.kits.servers.cluster_kit import server_paths
from tests.kits.servers.counter_kit import counter

# a function that only this process executes
EXECUTED = {
    "parallel-aggregate": "ParallelQueryMain",
    "logical-walsender": "ReorderBufferQueueChange",
    "replay": "heap_redo",
}


@pytest.mark.postgres
def test_what_other_processes_execute_is_counted(newest_build: Build, pgbench_build: Build):
    with server_paths() as paths:
        cells = [
            workload_cell(replace(named(name), lengths=(1, 3)))
            for name in ("aggregate-plain", *EXECUTED)
        ]
        found = {}
        for outcome in counter(newest_build, pgbench_build, paths).count(cells):
            assert isinstance(outcome, Record), outcome
            profile = kept_profile(paths, outcome.id)
            assert profile is not None
            # what is executed is executed somewhere
            cost = outcome.sample.instructions or 0.0
            clocked = outcome.sample.clocked_instructions or 0.0
            assert sum(profile.own.values()) == pytest.approx(cost + clocked, rel=0.001)
            found[outcome.cell.mode] = cost, profile.own
            # what a whole process reads and writes is not known
            whole = outcome.cell.mode in ("logical-walsender", "replay")
            assert (outcome.sample.blocks_tx is None, not outcome.passes) == (whole, whole)
    for name, function in EXECUTED.items():
        assert found[name][1][function] > 0
    assert found["parallel-aggregate"][0] > found["aggregate-plain"][0]
    assert "ParallelQueryMain" not in found["aggregate-plain"][1]


END = "0/1A2B3C"


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """A connection to a walsender, whose messages a test makes up."""
    made = Mock(error_message=b"it ended", backend_pid=77)
    made.exec_.return_value.status = pq.ExecStatus.COPY_BOTH
    monkeypatch.setattr(other_process.pq, "PGconn", Mock(connect=Mock(return_value=made)))
    monkeypatch.setattr(other_process, "wal_position", Mock(return_value="SELECT lsn()"))
    return made


@pytest.fixture
def server() -> MagicMock:
    made = MagicMock()
    connection = made.cluster.connect.return_value.__enter__.return_value
    connection.execute.return_value.fetchall.return_value = [[END]]
    return made


def messages(*said: bytes) -> list[tuple[int, bytes]]:
    return [*((len(one), one) for one in said), (-1, b"")]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param([], id="nothing"),
        pytest.param([b"k"], id="a short message"),
        pytest.param([b"w" + bytes(24)] * 3, id="an end"),
    ],
)
def test_a_server_may_say_anything(said: list[bytes], sender: Mock, server: MagicMock):
    sender.get_copy_data.side_effect = messages(*said)
    with pytest.raises(MeasureError, match="a walsender did not send all changes"):
        take_changes(server, "decoding")
    sender.finish.assert_called_once()


def test_all_changes_are_there_when_the_walsender_has_reached_the_end(
    sender: Mock, server: MagicMock
):
    def alive(reached: int) -> bytes:
        return b"k" + reached.to_bytes(8, "big") + bytes(9)

    sender.get_copy_data.side_effect = messages(
        alive(0x1A2B3B), b"w" + b"\xff" * 24, alive(0x1A2B3C), alive(0)
    )
    server.cluster.host = Path("/it's a place")
    take_changes(server, "decoding")
    ((where,), _) = other_process.pq.PGconn.connect.call_args
    assert conninfo_to_dict(where.decode())["host"] == "/it's a place"
    assert sender.get_copy_data.call_count == 3
    server.parts.assert_called_once_with(77)
