"""``landspeed changes``: a line a step, and what was looked at."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

import landspeed.cli.changes as verb
from base.errors import RefError, UsageError
from landspeed.changepoints.changepoint import Changepoint
from landspeed.changepoints.detect import ChangepointScan
from tests.kits.made_up.synthetic_series import DAYS, commits, level, line, scanned


def test_since_takes_a_release_or_a_date_and_nothing_else() -> None:
    (between,) = scanned(line(level(0.1, 0.11))).changepoints
    (later,) = scanned(commits([0.1] * 40 + [0.12] * 12)).changepoints

    def passes(since: str) -> list[Changepoint]:
        return [step for step in (between, later) if verb.since_filter(since, DAYS)(step)]

    assert passes("17.6") == [between]
    assert passes("17.7") == []
    assert passes("2025-01-07") == [between, later]
    assert passes("2025-01-08") == [later]
    with pytest.raises(RefError, match="neither a release nor a date"):
        verb.since_filter("soon", DAYS)


class PointRuns:
    """What ``landspeed changes`` prints of a Survey."""

    def __init__(
        self, found: ChangepointScan, monkeypatch: pytest.MonkeyPatch, *arguments: str
    ) -> None:
        monkeypatch.setattr(verb, "scan_records", lambda *_: found)
        monkeypatch.setattr(verb, "Session", lambda: None)
        result = CliRunner().invoke(verb.changes_, arguments)
        assert result.exit_code == 0, result.output
        self.data, self.talk = result.stdout, result.stderr


def test_the_verb_prints_a_line_a_step_and_says_what_was_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = scanned(line(level(0.1, 0.11)), line(level(0.2), clients=4))
    shown = PointRuns(found, monkeypatch)
    (_, row) = shown.data.splitlines()
    words = ("17.5 → 17.6", "elephant", "bs8", "read-only/prepared/small-5/c1/default", "latency")
    assert all(word in row for word in words)
    assert "nominated" in row
    assert shown.talk == "2 series searched, 1 change\n"
    (facts,) = json.loads(PointRuns(found, monkeypatch, "--json").data)
    assert facts["after"]["release"] == "17.6"


@pytest.mark.parametrize(
    ("records", "talk"),
    [
        ([], "no series yet: measure two releases or more\n"),
        (list(line(level(0.1))), "1 series searched, no change\n"),
        (
            list(line(level(0.1), runs=2)),
            "1 series, none long enough to judge its noise: that takes 3 runs of each "
            "release, or 13 commits\n",
        ),
        (
            [*line(level(0.1)), *line(level(0.1), runs=2, clients=4)],
            "1 series searched, no change; 1 series too short to judge noise\n",
        ),
    ],
)
def test_where_there_is_nothing_the_verb_says_why(
    records: list[dict[str, Any]], talk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = scanned(records)
    shown = PointRuns(found, monkeypatch)
    assert (shown.data, shown.talk) == ("", talk)
    assert PointRuns(found, monkeypatch, "--json").data == "[]\n"


@pytest.mark.parametrize("words", [["--metric", "latency"], ["--since", "17.0"], ["--all"]])
def test_what_chooses_among_the_listed_changes_does_not_go_with_a_file(words: list[str]) -> None:
    with pytest.raises(UsageError, match="do not go with a file"):
        verb.changes_.main(["--confirm", "changes.json", *words], standalone_mode=False)
