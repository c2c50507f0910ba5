"""What a search over all workloads does when something fails that may work the next time."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from base.errors import BuildInterruptedError, LandspeedError, SourceError
from landspeed.cli.bisect import bisect_
from tests.kits.made_up.atlas_search import Counting
from tests.kits.made_up.bisect_project import MadeUp, Pretence, facts, pretend

FIRST, CHANGED, LAST = 28, 30, 32
OFFLINE = SourceError("git read-tree failed", detail="could not resolve host")


def search(made: MadeUp, first: int = FIRST, last: int = LAST) -> Result:
    ends = made.commits[first], made.commits[last]
    return CliRunner().invoke(bisect_, [*ends, "--all", "--workload", "sort-text", "--json"])


def found_by(result: Result) -> list[str]:
    return [one["commit"]["subject"] for one in facts(result)["changes"]]


@pytest.mark.parametrize("error", [OFFLINE, BuildInterruptedError("could not build commit 30")])
def test_a_commit_whose_source_or_build_fails_for_now_is_tried_again(made, monkeypatch, error):
    failing: dict[int, LandspeedError] = {CHANGED: error}
    pretend(Pretence(failing=failing), monkeypatch.setattr)
    Counting(monkeypatch)
    assert search(made).exception is error
    failing.clear()
    result = search(made)
    assert found_by(result) == [f"commit {CHANGED}"]
    assert facts(result)["skipped"] == []


def test_a_server_that_fails_to_start_once_is_started_again(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    counting.crashes_once = {FIRST, CHANGED}
    result = search(made)
    assert found_by(result) == [f"commit {CHANGED}"]
    assert facts(result)["skipped"] == []


@pytest.mark.parametrize(
    ("broken", "ends", "side"), [([30], (28, 30), "BAD"), ([29, 31], (29, 31), "GOOD")]
)
def test_an_end_that_an_earlier_search_skipped_is_an_error(made, monkeypatch, broken, ends, side):
    pretend(Pretence(broken=broken), monkeypatch.setattr)
    Counting(monkeypatch)
    assert facts(search(made))["skipped"] != []
    error = search(made, *ends).exception
    assert isinstance(error, LandspeedError)
    assert error.message.startswith(f"{side} (")
