"""The ledger: what counts as a false alarm, what is counted, and what is normal variation."""

from __future__ import annotations

import json
import math
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from landspeed.compare.aa_rates import AAReport, AlarmRate, Alarms, Variation, aa_report
from landspeed.site.pages.noise import ledger_body
from tests.kits.made_up.noise import differences, drifting, normal
from tests.kits.made_up.synthetic import START, Point, record
from tests.kits.made_up.synthetic import records as synthetic_records

pytestmark = pytest.mark.slow


@pytest.fixture
def store(tmp_path: Path) -> RecordStore:
    return RecordStore(tmp_path)


def compared(
    store: RecordStore, name: str, *, blocks: int, bias: float = 0.0, preset: str = "ledger"
) -> None:
    """A comparison of a server with its double, which is slower by *bias*."""
    dice = random.Random(name)
    for number in range(2 * blocks):
        side = number % 2
        at = START + timedelta(seconds=number)
        one: dict[str, Any] = record(Point(latency_ms=0.1), number=number, at=at)
        one["id"] = f"{number:012x}{dice.getrandbits(80):020x}"
        one["run"] |= {
            "preset": preset,
            "comparison": name,
            "block": number // 2 + 1,
            "side": side,
        }
        one["build"]["digest"] += " double" * side
        one["sample"]["latency_ms"] = 0.1 * math.exp(dice.gauss(bias * side, 0.02))
        store.add(Record.from_json(one))


def test_a_comparison_of_a_server_with_itself_counts_once_it_could_have_raised_an_alarm(
    store: RecordStore,
) -> None:
    compared(store, "abc-1", blocks=20)
    compared(store, "abc-2", blocks=12)
    compared(store, "other", blocks=20, preset="compare")
    found = aa_report(store.table())
    assert (found.blind.stated.comparisons, found.blind.stated.alarms) == (1, 0)
    assert found.blind.check.comparisons == 2
    (account,) = found.cells
    assert account.blind == found.blind
    assert account.cell["mode"] == "read-only"


def test_a_double_that_is_slower_by_its_name_alone_is_the_false_alarm_it_is(
    store: RecordStore,
) -> None:
    compared(store, "abc-1", blocks=30, bias=0.1)
    compared(store, "abc-2", blocks=30)
    found = aa_report(store.table())
    assert (found.blind.stated.comparisons, found.blind.stated.alarms) == (2, 1)
    assert found.replayed.stated.alarms == 0


def test_the_rate_has_an_exact_interval() -> None:
    assert AlarmRate(comparisons=0, alarms=0).interval == (0.0, 1.0)
    low, high = AlarmRate(comparisons=100, alarms=0).interval
    assert (low, high) == (0.0, pytest.approx(0.0362, abs=1e-4))
    low, high = AlarmRate(comparisons=10, alarms=10).interval
    assert (low, high) == (pytest.approx(0.6915, abs=1e-4), 1.0)
    low, high = AlarmRate(comparisons=200, alarms=4).interval
    assert (low, high) == (pytest.approx(0.0055, abs=1e-4), pytest.approx(0.0504, abs=1e-4))


def test_planned_runs_are_replayed_as_comparisons_of_a_server_with_itself(
    store: RecordStore,
) -> None:
    for number in range(30):
        made = record(Point(), number=number, at=START + timedelta(seconds=number))
        store.add(Record.from_json(made))
    found = aa_report(store.table())
    assert (found.replayed.stated.comparisons, found.replayed.stated.alarms) == (1, 0)
    assert found.blind.stated.comparisons == 0
    assert aa_report(store.table()) == found


def test_variation_is_pooled_over_servers_and_knows_what_follows_what() -> None:
    independent = 0.03 * differences(normal, comparisons=40, blocks=50, seed=1) / math.sqrt(2)
    levels = np.arange(40.0)[:, np.newaxis]
    calm = Variation.of(list(independent + levels))
    assert calm.deviation == pytest.approx(0.03, rel=0.05)
    assert calm.lag1 == pytest.approx(0.0, abs=0.06)
    assert (calm.runs, calm.servers) == (2000, 40)
    runs = drifting(np.random.default_rng(2), (40, 50))
    drift = Variation.of(list(runs))
    assert drift.lag1 == pytest.approx(0.6, abs=0.1)
    assert calm.blocks is not None
    assert drift.blocks is not None
    assert 100 < calm.blocks < drift.blocks


def test_too_few_runs_vary_by_nobody_knows_what() -> None:
    alone = Variation.of([np.array([0.1])])
    assert (alone.runs, alone.deviation, alone.lag1, alone.blocks) == (1, None, None, None)
    assert Variation.of([np.array([0.1, 0.1])]).blocks is None


def test_the_ledger_is_json_with_an_account_for_every_cell(store: RecordStore) -> None:
    for one in synthetic_records():
        store.add(Record.from_json(one))
    facts = aa_report(store.table()).facts()
    assert json.loads(json.dumps(facts)) == facts
    assert len(facts["cells"]) == 4
    assert facts["stated_rate"] == 0.001
    assert all(cell["variation"]["runs"] == 15 for cell in facts["cells"])


def test_no_records_are_an_empty_report(store: RecordStore) -> None:
    nothing = Alarms.of([])
    assert aa_report(store.table()) == AAReport(cells=(), blind=nothing, replayed=nothing)


def test_the_page_shows_the_report_and_loads_nothing_from_elsewhere(store: RecordStore) -> None:
    assert "is recorded yet" in ledger_body(aa_report(store.table()))
    compared(store, "abc-1", blocks=20)
    page = ledger_body(aa_report(store.table()))
    assert "is recorded yet" not in page
    assert "bs8/read-only/prepared/small-5/c1/default 3 s" in page
    assert "0 of 1 (0 % … 97.5 %)" in page
    assert "http" not in page


def test_the_page_takes_no_name_for_markup(store: RecordStore) -> None:
    store.add(Record.from_json(record(Point(profile="x<script>"))))
    assert "<script>" not in ledger_body(aa_report(store.table()))
