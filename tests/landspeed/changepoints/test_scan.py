"""Records are placed in history; changepoints get the status that fresh samples gave them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from base.build import Origin
from benchmarks.records.identical_builds import IdenticalBuild
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from builders.source import Position
from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus, Confirmation, decided
from landspeed.changepoints.scan import PlacedDots
from tests.kits.made_up.synthetic import Point, record
from tests.kits.made_up.synthetic_series import level, line, scanned


def test_identical_builds_and_commits_only_compared_have_positions(tmp_path: Path) -> None:
    drawn, compared, twin = (digit * 40 for digit in "abc")
    records = RecordStore(tmp_path)
    for number, (commit, preset) in enumerate([(drawn, "quick"), (compared, "compare")]):
        made = record(Point(release=None, commit=commit), number=number)
        records.add(Record.from_json(made | {"run": made["run"] | {"preset": preset}}))
    digest = records.table(["digest"])["digest"][0].as_py()
    origins = {
        commit: Origin(release=None, commit=commit, tree="d" * 40, date="2026-01-01T00:00:00+00:00")
        for commit in (drawn, compared, twin)
    }
    records.identical_builds.add(IdenticalBuild(digest=digest, origin=origins[twin]))
    asked: list[str] = []
    sources = SimpleNamespace(
        releases_branch=dict,
        fetch_missing=asked.extend,
        positions=lambda commits: {
            one: Position(branch="master", position=ord(one[0])) for one in commits
        },
    )
    session: Any = SimpleNamespace(records=records, builder=SimpleNamespace(sources=sources))
    placed = PlacedDots.of(session)
    assert {dot.origin.commit for dot in placed.dots} == {drawn, twin}
    assert set(asked) == placed.commits == {drawn, compared, twin}
    assert all(
        placed.place_of(origin) == Position(branch="master", position=ord(commit[0]))
        for commit, origin in origins.items()
    )


@pytest.fixture
def changepoint() -> Changepoint:
    (found,) = scanned(line(level(0.1, 0.11))).changepoints
    return found


def nominated(changepoint: Changepoint) -> Changepoint:
    """Parse what ``landspeed changes --json`` prints, as ``--confirm`` does."""
    return Changepoint.parse(json.loads(json.dumps(changepoint.facts())))


def test_a_printed_changepoint_can_be_read_again(changepoint: Changepoint) -> None:
    found = nominated(changepoint)
    assert (found.before, found.after, found.variant) == (
        changepoint.before,
        changepoint.after,
        changepoint.variant,
    )
    assert (found.params, found.metric, found.ratio) == (
        changepoint.params,
        changepoint.metric,
        changepoint.ratio,
    )


@pytest.mark.parametrize(
    ("statuses", "newest"),
    [
        ([ChangepointStatus.CONFIRMED], ChangepointStatus.CONFIRMED),
        ([ChangepointStatus.CONFIRMED, ChangepointStatus.REFUTED], ChangepointStatus.REFUTED),
        ([ChangepointStatus.UNDECIDED], None),
        ([], None),
    ],
)
def test_the_newest_confirmation_decides_the_status(
    changepoint: Changepoint, statuses: list[ChangepointStatus], newest: ChangepointStatus | None
) -> None:
    notes = [
        Confirmation(
            changepoint=nominated(changepoint), status=status, time=f"2026-11-{day:02}T00:00:00Z"
        )
        for day, status in enumerate(statuses, start=1)
    ]
    found = decided(notes)
    assert found.get(changepoint.key) == newest
    assert replace(changepoint, mode="read-write").key not in found
