"""What a journal writes down, and what it says of the cost of a run: steady over a suite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from base.errors import RecordError
from base.typed import from_json
from landspeed.bisect.journal import Event, Journal, Verification, read_journal
from landspeed.bisect.model import Costs
from landspeed.compare.verdict import Verdict

EACH = [10.0, *([1.0] * 64)]  # the loading of the data, and 64 workloads


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(path=tmp_path / "journal.json", inputs={})


def test_what_is_written_down_reads_as_the_same_event(journal: Journal) -> None:
    finding = Verification(
        verdict=Verdict.SLOWER, ratio=1.01, interval=(1.0, 1.02), blocks=3, runs=12
    )
    journal.add(Event(event="recorded", candidate="a", values=(1.0, 2.5), spread=0.01))
    journal.add(Event(event="verified", culprit="b", finding=finding))
    written = json.loads(journal.path.read_text())["events"]
    assert [from_json(Event, one) for one in written] == journal.events
    assert [None in one.values() for one in written] == [False, False]


@pytest.mark.parametrize("seconds", ["-1", "1e308", "1e999", "NaN"])
def test_a_journal_of_events_that_took_forever_is_damaged(journal: Journal, seconds: str) -> None:
    journal.inputs = {"machine": "m", "epoch": "e"}
    journal.add(Event(event="run", candidate="a", seconds=17.0, value=1.0))
    read_journal(journal.path)
    journal.path.write_text(journal.path.read_text().replace("17.0", seconds))
    with pytest.raises(RecordError, match="could not read the state of a bisection"):
        read_journal(journal.path)


def test_without_runs_a_run_costs_what_was_estimated(journal: Journal) -> None:
    assert journal.costs(Costs(run=7.0, build=8.0)) == Costs(run=7.0, build=8.0)


def test_wherever_a_server_begins_the_cost_of_a_run_is_nearly_the_same(journal: Journal) -> None:
    mean = sum(EACH) / len(EACH)
    for seconds in EACH * 5:
        journal.events.append(Event(event="run", candidate="a", value=1.0, seconds=seconds))
        if len(journal.events) >= 200:
            assert journal.costs(Costs()).run == pytest.approx(mean, rel=0.05)


def test_what_took_longer_long_ago_does_not_count(journal: Journal) -> None:
    for seconds in [100.0] * 50 + [1.0] * 200:
        journal.events.append(Event(event="run", candidate="a", value=1.0, seconds=seconds))
    assert journal.costs(Costs()).run == pytest.approx(1.0)


def test_a_journal_that_is_damaged_beside_those_of_other_machines_is_continued_beside_them(
    tmp_path: Path,
) -> None:
    inputs = {"machine": "m", "epoch": "e"}
    with Journal.open(tmp_path, "atlas", inputs) as own:
        own.add(Event(event="built", candidate="lost"))
        damaged = own.path
    with Journal.open(tmp_path, "atlas", inputs, part="0a0a0a0a") as other:
        other.add(Event(event="built", candidate="other"))
    damaged.write_text(damaged.read_text()[:40])
    for candidate in ("first", "second"):
        with Journal.open(tmp_path, "atlas", inputs) as again:
            again.add(Event(event="built", candidate=candidate))
    with Journal.open(tmp_path, "atlas", inputs, alone=False) as whole:
        assert [one.candidate for one in whole.of("built")] == ["other", "first", "second"]
    assert damaged.read_text() != whole.path.read_text()
