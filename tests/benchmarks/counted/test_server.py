"""What backends leave when they end, and what other processes leave beside them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import MagicMock, Mock

import pytest

from base.build import Origin
from base.errors import ClusterError, MeasureError
from benchmarks.counted import server as module
from benchmarks.counted.server import CountedServer, written_script
from benchmarks.server.cluster import Cluster
from benchmarks.server.home import RunDirectory
from tests.kits.made_up.stand_ins import made_up_build

WHOLE = "part: 1\nsummary: 5\ntotals: 5\n"


@pytest.fixture
def ended() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def counted_server(counts: Path) -> CountedServer:
    return CountedServer(cluster=Mock(), run=Mock(), counts=counts, settings={})


def test_the_parts_of_a_backend_that_has_ended_are_read(tmp_path: Path, ended: int):
    for name in (f"{ended}.1", f"{ended}"):
        (tmp_path / name).write_text(WHOLE)
    assert counted_server(tmp_path).parts(ended, 2) == [WHOLE, WHOLE]


@pytest.mark.parametrize("left", [[], [WHOLE], [WHOLE, WHOLE[:10]]])
def test_nobody_waits_for_what_an_ended_backend_has_not_written(
    tmp_path: Path, ended: int, left: list[str]
):
    for number, text in enumerate(left):
        (tmp_path / f"{ended}.{number}").write_text(text)
    with pytest.raises(MeasureError, match="left no profile") as failed:
        counted_server(tmp_path).parts(ended, 2)
    assert failed.value.detail == f"{ended} ended and had not written it."


@pytest.mark.parametrize("name", ["7", "7.1"])
def test_a_link_among_the_counts_is_not_read(tmp_path: Path, name: str):
    (tmp_path / "secret").write_text(WHOLE)
    (tmp_path / name).symlink_to(tmp_path / "secret")
    server = counted_server(tmp_path)
    with pytest.raises(ClusterError, match="is no plain file"):
        server.parts(7)
    if name.isdigit():
        with pytest.raises(ClusterError, match="is no plain file"):
            server.processes("main")


def test_a_script_does_not_go_where_a_planted_link_leads(tmp_path: Path):
    (tmp_path / "ours").write_text("ours")
    (tmp_path / "series.sql").symlink_to(tmp_path / "ours")
    written = written_script(Mock(scratch=tmp_path), "SELECT 1")
    assert written.read_text() == "SELECT 1"
    assert written.stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "ours").read_text() == "ours"


def test_a_server_that_is_ill_at_once_is_an_error_and_not_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class Ill(Cluster):
        def start(self) -> None:
            self.run.log.write_text("PANIC:  it begins anew\n")

        connect = MagicMock()
        pid = 0

    for name in ("counting", "parts_of", "require_fixed_addresses", "children", "non_defaults"):
        monkeypatch.setattr(module, name, MagicMock(return_value=[]))
    monkeypatch.setattr(module, "Cluster", Ill)
    build = made_up_build("18.1-bs8", Origin(release="18.1", commit=None, tree="a" * 40, date=""))
    run = RunDirectory(path=tmp_path, sockets=tmp_path, user=None)
    with (
        pytest.raises(MeasureError, match="died, under valgrind") as failed,
        CountedServer.start(build, data=tmp_path, run=run, settings={}),
    ):
        pytest.fail("it was counted on")
    assert "begins anew" in failed.value.detail


def test_what_workers_executed_belongs_to_the_part_in_which_they_ended(tmp_path: Path):
    def leave(name: str, when: int, cost: int, function: str) -> None:
        (tmp_path / name).write_text(f"part: 1\nfn=(1) {function}\n0 {cost}\ntotals: {cost}\n")
        os.utime(tmp_path / name, ns=(when, when))

    leave("7.1", 10, 1, "PostgresMain")
    leave("7.2", 20, 1, "PostgresMain")
    leave("7", 30, 1, "PostgresMain")
    leave("8", 4, 100, "ParallelWorkerMain")
    leave("9", 6, 50, "ParallelWorkerMain")
    leave("10", 15, 3, "ParallelWorkerMain")
    leave("11", 16, 1000, "AutoVacWorkerMain")
    leave("7.anything", 12, 1, "PostgresMain")
    beside = counted_server(tmp_path).beside(7, "ParallelWorkerMain")
    assert {part: profile.own["ParallelWorkerMain"] for part, profile in beside.items()} == {
        1: 150,
        2: 3,
    }
