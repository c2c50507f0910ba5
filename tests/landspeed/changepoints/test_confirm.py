"""Steps put to the test: what confirms and what refutes one, and that all of it is kept."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.build import Origin, Variant
from base.errors import BuildError, MeasureError, UsageError
from base.files import canonical_json, digest_text
from base.typed import to_json
from benchmarks.clients.pgbench import Pgbench
from benchmarks.machine.machine import Machine
from benchmarks.records.store import RecordStore
from benchmarks.workloads.scenario import Cell
from landspeed.changepoints import confirm
from landspeed.changepoints.changepoint import (
    Changepoint,
    ChangepointStatus,
    Confirmation,
    newest,
    status_counts,
    status_counts_text,
)
from landspeed.changepoints.confirm import ConfirmRun
from landspeed.cli.changes import confirmations_table, read_changes
from landspeed.compare.plan import ComparePlan, CompareSide
from landspeed.compare.side import CompareScenario, Side
from landspeed.console.table import as_text
from landspeed.farm.merge import merge_results
from landspeed.results.params import Params
from tests.kits.made_up.compare_kit import CELL, Bench, bench, build, session
from tests.kits.made_up.results_kit import confirmation

pytestmark = pytest.mark.slow

__all__ = ["bench", "session"]


def origin(release: str) -> Origin:
    return Origin(release=release, commit=None, tree=release, date="2025-01-01")


def changepoint(ratio: float = 1.1, *, after: str = "18", machine: str = "elephant") -> Changepoint:
    return Changepoint(
        machine=machine,
        before=origin("17"),
        after=origin(after),
        variant=Variant(),
        mode="read-only",
        params=Params("prepared", "small-5", 1, "default"),
        metric="latency",
        ratio=ratio,
        interval=(ratio * 0.95, ratio * 1.05),
    )


@pytest.fixture
def inquiry(session: Any, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> ConfirmRun:
    """An ConfirmRun whose builds are made up; "16" cannot be built, "17twin" is 17."""

    def plan_comparison(
        _: Any, sides: list[Side], scenario: CompareScenario, **how: Any
    ) -> ComparePlan:
        found = []
        for side in sides:
            name = side.target.ref
            if name == "16":
                raise BuildError("could not build PostgreSQL 16")
            cell: Cell = replace(CELL, clients=scenario.clients)
            made = build(name, digest=name.removesuffix("twin"))
            found.append(CompareSide(label=name, build=made, cell=cell))
        how["rule"] = how["rule"].of(how["metric"])
        pgbench, seconds = Pgbench(build=build("18.1")), scenario.seconds
        return ComparePlan(sides=tuple(found), pgbench=pgbench, seconds=seconds, **how)

    monkeypatch.setattr(confirm, "plan_comparison", plan_comparison)
    return ConfirmRun(session=session, budget=600.0, seconds=1)


@pytest.mark.parametrize(
    ("real", "fate"),
    [
        (1.1, ChangepointStatus.CONFIRMED),
        (1.0, ChangepointStatus.REFUTED),
        (1.005, ChangepointStatus.REFUTED),
        (0.9, ChangepointStatus.REFUTED),
    ],
)
def test_a_changepoint_is_confirmed_by_a_change_that_way_and_refuted_by_none_or_another(
    inquiry: ConfirmRun, bench: Bench, real: float, fate: ChangepointStatus
) -> None:
    bench.latency = {"17": 0.1, "18": 0.1 * real}
    (found,) = inquiry.of([changepoint()])
    assert found.status is fate
    assert found.finding is not None
    assert found.finding["ratio"] == pytest.approx(real, rel=0.02)
    presets = inquiry.session.records.table()["preset"].unique().to_pylist()
    assert presets == ["confirm"]


@pytest.mark.parametrize(("metric", "fresh"), [("latency", False), ("instructions", True)])
def test_the_recorded_counts_that_nominated_a_changepoint_do_not_confirm_it(
    inquiry: ConfirmRun, monkeypatch: pytest.MonkeyPatch, metric: str, fresh: bool
) -> None:
    asked = []

    def compare(*_: Any, fresh: bool) -> Any:
        asked.append(fresh)
        raise MeasureError("enough")

    monkeypatch.setattr(confirm, "compare", compare)
    inquiry.of([replace(changepoint(), metric=metric)])
    assert asked == [fresh]


def test_an_undecided_changepoint_is_continued_the_next_time(
    inquiry: ConfirmRun, bench: Bench
) -> None:
    bench.noise, inquiry.budget = 0.3, 60.0
    (first,) = inquiry.of([changepoint()])
    assert first.status is ChangepointStatus.UNDECIDED
    inquiry.budget = 120.0
    (second,) = inquiry.of([changepoint()])
    assert second.comparison == first.comparison
    assert len(bench.asked) == 40
    assert len(inquiry.session.records.confirmations.read(dict)) == 2


def test_what_the_total_time_has_no_room_for_stays_nominated_for_the_next_time(
    inquiry: ConfirmRun, bench: Bench
) -> None:
    bench.latency = {"17": 0.1, "18": 0.11}
    inquiry.end = time.monotonic()
    assert inquiry.of([changepoint()]) == []
    assert bench.asked == []
    assert inquiry.failure(0) is None
    inquiry.end = time.monotonic() + 3600
    (found,) = inquiry.of([changepoint()])
    assert found.status is ChangepointStatus.CONFIRMED


def test_a_decided_changepoint_is_not_measured_again_unless_asked_for(
    inquiry: ConfirmRun, bench: Bench
) -> None:
    bench.latency = {"17": 0.1, "18": 0.11}
    (first,) = inquiry.of([changepoint(), changepoint(1.2)])
    runs = len(bench.asked)
    assert inquiry.of([changepoint()]) == [first]
    assert len(bench.asked) == runs
    inquiry.fresh = True
    (again,) = inquiry.of([changepoint()])
    assert again.comparison != first.comparison
    assert len(bench.asked) > runs


def test_a_changepoint_between_identical_builds_is_refuted_without_a_run(
    inquiry: ConfirmRun, bench: Bench
) -> None:
    (found,) = inquiry.of([changepoint(after="17twin")])
    assert (found.status, found.reason) == (
        ChangepointStatus.REFUTED,
        "both are the very same server",
    )
    assert bench.asked == []
    assert "the very same server" in as_text(confirmations_table([found]))


def test_a_changepoint_of_another_machine_is_left_to_that_machine(
    inquiry: ConfirmRun, bench: Bench
) -> None:
    (found,) = inquiry.of([changepoint(machine="mammoth")])
    assert (found.status, bench.asked) == (ChangepointStatus.NOMINATED, [])
    assert inquiry.session.records.confirmations.read(dict) == []
    assert isinstance(inquiry.session.machine, Machine)


def test_a_changepoint_that_cannot_be_tested_does_not_stop_the_others(
    inquiry: ConfirmRun, bench: Bench
) -> None:
    bench.latency = {"17": 0.1, "18": 0.11}
    found = inquiry.of([changepoint(after="16"), changepoint()])
    assert [one.status for one in found] == [ChangepointStatus.CONFIRMED]
    error = inquiry.failure(len(found))
    assert error is not None
    assert "could not build PostgreSQL 16" in error.detail
    assert error.message.startswith("1 of 2 tests of changepoints failed")
    inquiry.errors.clear()
    assert inquiry.failure(len(found)) is None


def test_only_the_newest_confirmation_of_each_changepoint_is_counted(
    inquiry: ConfirmRun, bench: Bench
) -> None:
    bench.latency = {"17": 0.1, "18": 0.11, "19": 0.1}
    inquiry.of([changepoint(), changepoint(after="19"), changepoint(after="17twin")])
    known = newest(inquiry.session.records.confirmations.read(Confirmation)).values()
    assert status_counts(known) == {"confirmed": 1, "refuted": 2, "undecided": 0}
    assert "1 confirmed, 2 refuted, 0 undecided" in status_counts_text(known)


def test_notes_and_keys_stay_as_earlier_versions_wrote_them() -> None:
    one = replace(changepoint(1.25), interval=(1.2, 1.5))
    confirmation = Confirmation(
        changepoint=one,
        status=ChangepointStatus.CONFIRMED,
        time="t",
        comparison="c",
        finding={"ratio": 1.2},
    )
    assert one.key == "209f6642c5bfb4c3"
    assert digest_text(canonical_json(to_json(confirmation))).startswith("e75bc6ca0768d50f")


def test_a_changepoint_survives_json_and_its_key_names_what_changed(tmp_path: Path) -> None:
    one = changepoint()
    assert Changepoint.parse(json.loads(json.dumps(one.facts()))) == one
    assert changepoint(1.3).key == one.key
    assert changepoint(after="19").key != one.key
    assert replace(one, metric="tps").key != one.key
    path = tmp_path / "steps.json"
    path.write_text(json.dumps([one.facts()]))
    assert read_changes(str(path)) == [one]
    with pytest.raises(UsageError, match="could not read"):
        read_changes(str(tmp_path / "nothing"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[3]",
        '[{"machine": "elephant"}]',
        json.dumps([changepoint().facts() | {"ratio": 0}]),
    ],
)
def test_a_file_without_a_list_of_changepoints_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "steps.json").write_text(text)
    with pytest.raises(UsageError, match="this is not"):
        read_changes(str(tmp_path / "steps.json"))


@pytest.mark.parametrize(
    ("ratio", "precision"), [(1.1, 0.05), (1 / 1.1, 0.05), (1.002, 0.002), (1.0, 0.002)]
)
def test_a_changepoint_is_refuted_when_half_of_it_is_ruled_out(
    ratio: float, precision: float
) -> None:
    assert changepoint(ratio).precision == pytest.approx(precision)


def test_notes_merge_by_union_and_a_damaged_one_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    here, there = (RecordStore(tmp_path / name / "records") for name in ("here", "there"))
    here.confirmations.add(confirmation(1))
    there.confirmations.add(confirmation(1))
    there.confirmations.add(confirmation(2))
    assert merge_results(tmp_path / "there", tmp_path / "here") == 1
    assert merge_results(tmp_path / "there", tmp_path / "here") == 0
    read = here.confirmations.read(Confirmation)
    assert {one.changepoint.key for one in read} == {
        confirmation(number).changepoint.key for number in (1, 2)
    }
    (path, *_) = sorted((there.root / "confirmations").glob("*.json"))
    path.write_text('{"schema":1,"a":7}\n')
    assert len(there.confirmations.read(Confirmation)) == 1
    assert path.name in caplog.text
