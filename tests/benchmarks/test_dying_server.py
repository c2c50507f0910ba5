"""A server that dies while it is asked something: one error, whoever asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, Mock

import psycopg
import pytest

from base.build import Origin
from base.errors import ClusterError, MeasureError
from benchmarks.counted import forced_plans
from benchmarks.counted.cells import workload_cell
from benchmarks.counted.forced_plans import forcing_settings
from benchmarks.counted.server import CountedServer, explained
from benchmarks.data import datasets
from benchmarks.data.datasets import DatasetLoader
from benchmarks.data.templates import Templates
from benchmarks.records.record import PlanFacts
from benchmarks.server import cluster as cluster_
from benchmarks.server.cluster import Cluster, setting_defaults
from benchmarks.server.endpoint import load_seconds
from benchmarks.server.home import RunDirectory
from benchmarks.workloads.catalog import named
from tests.kits.made_up.stand_ins import made_up_build

BUILD = made_up_build("18.1-bs8", Origin(release="18.1", commit=None, tree="a" * 40, date=""))
SORTED = PlanFacts(shape="a", lines=("SELECT 1", "  Sort", "    ->  Seq Scan on t"))
INDEXED = PlanFacts(shape="b", lines=("SELECT 1", "  Index Scan using i on t"))


class Dying(Cluster):
    """A server that lets everybody in, and ends at the first query."""

    patience = 0.0

    def start(self) -> None:
        self.run.log.write_text("PANIC:  it ends\n")

    def connect(self, database: str = "", *, seconds: float = 0.0) -> Any:
        self.patience = seconds
        connection = MagicMock()
        connection.__enter__.return_value = connection
        connection.execute.side_effect = psycopg.OperationalError("connection closed")
        return connection


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Dying]:
    run = RunDirectory(path=tmp_path, sockets=tmp_path, user=None)
    with Dying(build=BUILD, data=tmp_path, run=run, settings={}, keep=True) as made:
        yield made


def test_while_data_are_loaded(cluster: Dying) -> None:
    templates = Templates(home=Mock(), client=Mock(), limit_bytes=0)
    with pytest.raises(ClusterError, match="died") as caught:
        templates._fill([cluster], 7)
    assert "PANIC" in caught.value.detail
    assert cluster.patience == load_seconds(7)


@pytest.mark.parametrize("version", [psycopg.OperationalError("closed"), "", "0"])
def test_before_datasets_are_loaded(version: object, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = MagicMock()
    info = connection.__enter__.return_value.info
    info.parameter_status.side_effect = [version]
    monkeypatch.setattr(datasets, "connect", lambda *_, **__: connection)
    with pytest.raises(MeasureError, match="could not load the datasets"):
        DatasetLoader().initialise(Path("/"), scale=1)


def test_when_its_defaults_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = MagicMock()
    home.reachable.side_effect = lambda build: build
    home.run_directory.return_value.__enter__.return_value = RunDirectory(
        path=tmp_path, sockets=tmp_path, user=None
    )
    monkeypatch.setattr(cluster_, "initdb", Mock())
    monkeypatch.setattr(cluster_, "can_sandbox", lambda _: False)
    monkeypatch.setattr(cluster_, "Cluster", Dying)
    with pytest.raises(ClusterError, match="died"):
        setting_defaults(BUILD, home)


def test_when_it_is_counted(cluster: Cluster) -> None:
    server = CountedServer(cluster=cluster, run=Mock(), counts=Path("/"), settings={})
    with pytest.raises(MeasureError, match="died, under valgrind") as caught, explained(cluster):
        server.database("postgres")
    assert "connection closed" in caught.value.detail


def forced(cluster: Cluster, patch: Callable[..., None], known: dict[str, str]) -> Any:
    """The settings with which *cluster* would plan as SORTED does, of those that are *known*."""

    @contextmanager
    def serving(*_: object, **__: object) -> Iterator[tuple[Cluster]]:
        yield (cluster,)

    for name, stand_in in {"serving": serving, "known_settings": lambda _: known}.items():
        patch(forced_plans, name, stand_in)
    patch(forced_plans, "exact_settings", lambda _: {})
    patch(forced_plans, "Configuration", MagicMock())
    workload = named("sort-text")
    return forcing_settings(
        BUILD,
        MagicMock(),
        workload_cell(workload),
        workload,
        wanted=SORTED,
        known=INDEXED,
        features=[],
    )


def test_when_it_is_asked_for_a_plan(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match="died"):
        forced(cluster, monkeypatch.setattr, {"enable_indexscan": ""})


def test_a_setting_that_it_does_not_know_is_not_tried(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    # enable_incremental_sort was enable_incrementalsort at first
    assert forced(cluster, monkeypatch.setattr, {"enable_sort": ""}) is None
