"""The comparison of the culprit with its parent, when the same bisection is asked for again."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from landspeed.cli.bisect import bisect_
from tests.kits.made_up.bisect_project import Pretence, facts, pretend

LAST, CULPRIT = 8, 6


def test_a_comparison_that_was_undecided_is_continued_and_judged_again(made, monkeypatch, tmp_path):
    ends = made.commits[0], made.commits[LAST]
    pretend(Pretence(steps={str(CULPRIT): 1.03}), monkeypatch.setattr)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("landspeed.compare.timed._is_wanted", lambda _, state: state.attempted < 2)
        first = facts(CliRunner().invoke(bisect_, [*ends, "--json"]))["verification"]
    assert (first["verdict"], first["blocks"]) == ("UNDECIDED", 2)
    again = facts(CliRunner().invoke(bisect_, [*ends, "--json"]))["verification"]
    assert (again["verdict"], again["comparison"]) == ("SLOWER", first["comparison"])
    assert again["blocks"] > 2
    (journal,) = (tmp_path / "results/bisect").glob("*.json")
    events = json.loads(journal.read_text())["events"]
    early, late = (one["seconds"] for one in events if one["event"] == "verified")
    assert early > 0
    assert late > 0
    # nothing is measured, and nothing written down, where all is known
    assert facts(CliRunner().invoke(bisect_, [*ends, "--json"]))["verification"] == again
    assert json.loads(journal.read_text())["events"] == events
