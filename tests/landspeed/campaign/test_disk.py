"""Whether the disk holds the data of all that is measured is told, with what it takes if not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.data.templates import LIMIT
from benchmarks.machine.machine import Limits
from benchmarks.workloads.scenario import Cell, Mode, Protocol, Scenario, Tier
from landspeed.campaign.disk import DiskEstimate
from tests.kits.made_up.stand_ins import AMPLE
from tests.kits.made_up.study_kit import pretended

ROOM = DiskEstimate(needed=204 * 10**9, available=72 * 10**9, load_seconds=60.0)


def cell(mode: Mode, scale: int) -> Cell:
    scenario = Scenario(mode=mode, protocol=Protocol.PREPARED, tier=Tier.SMALL, scale=scale)
    return Cell(scenario=scenario, clients=1, profile="default")


def limited(monkeypatch: pytest.MonkeyPatch, *, disk: int, limit: int) -> None:
    limits = replace(AMPLE, disk_bytes=disk * 10**9)
    monkeypatch.setattr(Limits, "detect", classmethod(lambda *_: limits))
    monkeypatch.setenv(LIMIT, str(limit))


def test_data_of_one_server_and_scale_are_needed_once_and_a_copy_where_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, disk=50, limit=100)
    reads, writes = (cell(mode, 10) for mode in (Mode.READ_ONLY, Mode.READ_WRITE))
    both = DiskEstimate.of(pretended(tmp_path), [("a", reads), ("a", writes), ("a", reads)])
    one = DiskEstimate.of(pretended(tmp_path), [("a", reads)])
    larger = cell(Mode.READ_ONLY, 20)
    others = DiskEstimate.of(pretended(tmp_path), [("a", reads), ("b", reads), ("a", larger)])
    assert both.needed == 2 * one.needed
    assert both.load_seconds == one.load_seconds
    assert others.load_seconds == 4 * one.load_seconds
    assert (one.available, one.is_limited) == (50 * 10**9, False)


def test_data_that_fit_are_loaded_once() -> None:
    cells = [cell(Mode.READ_WRITE, 100)] * 240
    assert replace(ROOM, available=ROOM.needed).reload_seconds(cells) == 0
    assert ROOM.text(0.0) == "204.0 GB at most, for data"


def test_data_that_do_not_fit_may_be_loaded_for_each_run() -> None:
    cells = [cell(Mode.READ_WRITE, 10)] * 240
    twice = ROOM.reload_seconds(cells * 2) + ROOM.load_seconds
    assert twice == 2 * (ROOM.reload_seconds(cells) + ROOM.load_seconds)
    assert ROOM.reload_seconds(cells[:1]) == 0


def test_the_text_says_whether_a_setting_limits_the_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(monkeypatch, disk=50, limit=2)
    found = DiskEstimate.of(pretended(tmp_path), [("a", cell(Mode.READ_WRITE, 1000))])
    again = "data are deleted and loaded again, up to 12 min 00 s more"
    assert found.text(720).endswith(f"; 2.0 GB are available (LANDSPEED_TEMPLATES_GB): {again}")
    assert ROOM.text(720) == f"204.0 GB at most, for data; 72.0 GB are available: {again}"
