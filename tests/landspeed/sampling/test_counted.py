"""Counting in a Campaign, with made-up counts: side by side, never twice, on after errors."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from base.build import Build
from base.errors import MeasureError
from base.paths import Paths
from benchmarks.counted.valgrind import CountEnvironment
from benchmarks.machine.machine import Machine
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from benchmarks.workloads.scenario import CacheState, preset_named
from landspeed.campaign import campaign as campaign_
from landspeed.campaign.campaign import Campaign, Request
from landspeed.sampling import counted
from landspeed.session.target import parse_targets
from tests.kits.made_up.stand_ins import nothing
from tests.kits.made_up.synthetic import counted_record
from tests.landspeed.campaign.test_campaign import _Workshop

EPOCH = CountEnvironment(valgrind="3.19.0", libc="ab" * 32, cpu="cd" * 8, arch="x86_64")


@dataclass
class Counts:
    """Stands for `count`: keeps what was asked for, fails where told to."""

    asked: list[str] = field(default_factory=list)
    failing: str = ""
    interrupt: Callable[[], None] = lambda: None

    def __call__(
        self, *, build: Build, cell: Any, machine: Machine, stop: threading.Event, **_: Any
    ) -> Record:
        self.interrupt()
        if stop.is_set():
            raise MeasureError("counting was interrupted")
        self.asked.append(f"{build.identifier} {cell.scenario.mode} {cell.buffers}")
        if self.failing and build.identifier.startswith(self.failing):
            raise MeasureError("counting twice gave different numbers")
        facts = counted_record(build.facts(), cell.facts(1), machine.facts(), EPOCH.facts(machine))
        return Record.from_json(facts)


@pytest.fixture
def session(tmp_path: Path) -> _Workshop:
    return _Workshop(paths=Paths(cache=tmp_path, project=tmp_path))


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    made = Counts()
    monkeypatch.setattr(counted, "count", made)
    monkeypatch.setattr("benchmarks.counted.valgrind.count_epoch", lambda: EPOCH)
    monkeypatch.setattr("benchmarks.counted.cells.count_epoch", lambda: EPOCH)
    monkeypatch.setattr(campaign_, "prepare", lambda **_: None)
    monkeypatch.setattr(campaign_, "templates", lambda *_, **__: None)
    monkeypatch.setattr(campaign_, "measuring", nothing)
    return made


def campaign(session: Any, *words: str) -> Campaign:
    request = Request(
        targets=parse_targets(words, campaign_.Variant()),
        preset=preset_named("quick"),
        scales={},
        counted=True,
    )
    return Campaign(session=session, requests=[request], publish=None)


def test_every_mode_is_counted_warm_and_cold_and_never_twice(session: _Workshop, counts: Counts):
    tally = campaign(session, "18", "17").run()
    assert (tally.measured, tally.present) == (8, 0)
    assert sorted(counts.asked) == sorted(
        f"{build} {mode} {buffers}"
        for build in ("17.1-bs8", "18.1-bs8")
        for mode in ("read-only", "read-write")
        for buffers in CacheState
    )
    tally = campaign(session, "18", "17").run()
    assert (tally.measured, tally.present) == (0, 8)
    assert len(counts.asked) == 8


def test_timed_runs_do_not_stand_for_counted_ones(session: _Workshop, counts: Counts):
    campaign(session, "18").run()
    table = session.records.table()
    assert table["latency_ms"].null_count == table.num_rows == 4
    assert set(table["buffers"].to_pylist()) == {"warm", "cold"}
    assert set(table["instrument"].to_pylist()) == {"callgrind"}


def test_counts_of_another_epoch_do_not_count(
    session: _Workshop, counts: Counts, monkeypatch: pytest.MonkeyPatch
):
    campaign(session, "18").run()
    other = CountEnvironment(valgrind="3.24.0", libc=EPOCH.libc, cpu=EPOCH.cpu, arch=EPOCH.arch)
    monkeypatch.setattr("benchmarks.counted.cells.count_epoch", lambda: other)
    assert campaign(session, "18").run().measured == 4


def test_a_server_that_cannot_be_counted_costs_its_own_points(session: _Workshop, counts: Counts):
    counts.failing = "17.1"
    tally = campaign(session, "18", "17").run()
    assert (tally.measured, len(tally.errors)) == (4, 4)


def test_an_interrupted_count_keeps_what_is_done_and_goes_on(
    session: _Workshop, counts: Counts, monkeypatch: pytest.MonkeyPatch
):
    add = RecordStore.add

    def interrupted(*arguments: Any) -> None:
        add(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RecordStore, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            campaign(session, "18").run()
    kept = RecordStore(session.paths.records).table().num_rows
    assert kept == 1
    tally = campaign(session, "18").run()
    assert (tally.measured, tally.present) == (3, 1)
