"""What a search does with a commit that it found: counts it again, and finds its kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from base.errors import MeasureError
from benchmarks.workloads.scenario import Cell
from landspeed.bisect.journal import read_journal
from landspeed.campaign import suite_causes
from landspeed.campaign.suite_causes import CauseFinder, CauseKind, CellKey, ChangePart, cell_key
from tests.kits.made_up.atlas_search import AGAIN, WORKLOADS, Counting, named, search
from tests.kits.made_up.bisect_project import Pretence, facts, pretend

pytestmark = pytest.mark.slow

ONE = (ChangePart(kind=CauseKind.PLAN, cause=(), before=1.0, after=1.03),)


def test_the_kind_of_a_change_is_found_once_by_counting_again_and_is_in_the_report(
    made, monkeypatch
):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    asked = []

    def parts(finder: CauseFinder, cells: Sequence[Cell]) -> dict[CellKey, Any]:
        asked.append((finder.before.identifier, finder.after.identifier, len(cells)))
        plan = ChangePart(kind=CauseKind.PLAN, cause=(), before=1.0, after=1.03)
        return {cell_key(cell): (plan, replace(plan, kind=CauseKind.CODE)) for cell in cells}

    monkeypatch.setattr(CauseFinder, "parts", parts)
    report = facts(search(made, "--json"))
    kinds = [[one["kind"] for one in change["workloads"]] for change in report["changes"]]
    assert kinds == [["plan +3.00 %, code +3.00 %"] * 2, ["plan +3.00 %, code +3.00 %"]]
    assert asked == [("commit-29", "commit-30", 2), ("commit-44", "commit-45", 1)]
    assert search(made).stdout.count("plan +3.00 %, code +3.00 %") == 2
    assert len(asked) == 2
    assert sorted(counting.again) == AGAIN


def test_what_is_not_there_a_second_time_is_listed_apart_without_a_kind_and_not_counted_again(
    made, monkeypatch, tmp_path
):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    counting.fleeting = {"float": (30, 1.02), "seq-scan": (52, 1.5)}
    report = facts(search(made, "--json"))
    assert [(s, w) for s, _, w in named(report)] == [
        ("commit 30", ["sort-text", "hash-join"]),
        ("commit 45", ["insert-one"]),
    ]
    told = [
        (one["commit"]["subject"], one["workload"], round(one["ratio"], 4), one["again"])
        for one in report["not_repeated"]
    ]
    assert told == [("commit 30", "float", 1.02, 1.0), ("commit 52", "seq-scan", 1.5, 1.0)]
    assert report["counted_again"] == 5
    assert sorted(number for number, _ in counting.again) == [29] * 3 + [30] * 3 + [44, 45, 51, 52]
    (path,) = (tmp_path / "results" / "atlas").glob("atlas-*.json")
    explained = {one.workload for one in read_journal(path)[1] if one.event == "explained"}
    assert explained == {"sort-text", "hash-join", "insert-one"}
    text = search(made).stdout
    assert len(counting.again) == 10
    assert "| `52` | `seq-scan` | +50.00 % | +0.00 % |" in re.sub(r"`[0-9a-f]{10}`", "`52`", text)


def test_a_change_that_could_not_be_counted_again_is_told_and_counted_by_the_next_search(
    made, monkeypatch
):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    counting.is_never_again = True
    report = facts(search(made, "--json"))
    assert [one[0] for one in named(report)] == ["commit 30", "commit 45"]
    assert report["counted_again"] == 0
    counting.is_never_again = False
    assert facts(search(made, "--json"))["counted_again"] == 3


def test_a_kind_that_cannot_be_found_leaves_the_commit_found(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    Counting(monkeypatch)

    def fails(*_: object) -> None:
        raise MeasureError("the server does not start")

    monkeypatch.setattr(suite_causes, "setting_defaults", fails)
    result = search(made, "--json")
    assert [one[0] for one in named(facts(result))] == ["commit 30", "commit 45"]
    assert result.stderr.count("the server does not start") == 2  # tried once for each commit


def test_a_search_that_is_interrupted_knows_the_kinds_of_what_it_has_found(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    monkeypatch.setattr(
        CauseFinder, "parts", lambda _, cells: dict.fromkeys(map(cell_key, cells), ONE)
    )
    counting.interrupt_after = len(WORKLOADS) * 5 + 20
    search(made)
    report = facts(search(made, "--budget", "0", "--json"))
    kinds = [one["kind"] for change in report["changes"] for one in change["workloads"]]
    assert not report["complete"]
    assert kinds
    assert set(kinds) == {"plan"}
