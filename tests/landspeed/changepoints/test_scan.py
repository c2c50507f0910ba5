"""Records are placed in history; steps and what fresh samples have said of them meet."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from base.build import Origin
from benchmarks.records.store import RecordStore
from builders.source import Position
from landspeed.changepoints.changepoint import NOMINATED, Changepoint
from landspeed.changepoints.nomination import Confirmation, ConfirmationStatus, Nomination
from landspeed.changepoints.scan import Chart, told
from tests.kits.made_up.stand_ins import made_up_build
from tests.kits.made_up.synthetic import Point, record
from tests.kits.made_up.synthetic_steps import level, line, surveyed


def test_twins_and_what_only_a_comparison_asked_for_have_their_places(tmp_path: Path) -> None:
    drawn, compared, twin = (digit * 40 for digit in "abc")
    records = RecordStore(tmp_path)
    for number, (commit, preset) in enumerate([(drawn, "quick"), (compared, "compare")]):
        made = record(Point(release=None, commit=commit), number=number)
        records.add(made | {"run": made["run"] | {"preset": preset}})
    digest = records.table(["digest"])["digest"][0].as_py()
    origins = {
        commit: Origin(release=None, commit=commit, tree="d" * 40, date="2026-01-01T00:00:00+00:00")
        for commit in (drawn, compared, twin)
    }
    records.twins.add(made_up_build("twin", origins[twin], digest=digest))
    asked: list[str] = []
    sources = SimpleNamespace(
        releases_branch=dict,
        know=asked.extend,
        places=lambda commits: {
            one: Position(line="master", position=ord(one[0])) for one in commits
        },
    )
    session: Any = SimpleNamespace(records=records, builder=SimpleNamespace(sources=sources))
    chart = Chart.of(session)
    assert {dot.origin.commit for dot in chart.dots} == {drawn, twin}
    assert set(asked) == chart.commits == {drawn, compared, twin}
    assert all(
        chart.place_of(origin) == Position(line="master", position=ord(commit[0]))
        for commit, origin in origins.items()
    )


@pytest.fixture
def step() -> Changepoint:
    (found,) = surveyed(line(level(0.1, 0.11))).steps
    return found


def nominated(step: Changepoint) -> Nomination:
    """What ``landspeed confirm`` understands of what ``landspeed steps --json`` prints."""
    return Nomination.parse(json.loads(json.dumps(step.facts())))


def test_confirm_understands_what_steps_prints(step: Changepoint) -> None:
    found = nominated(step)
    assert (found.before, found.after, found.variant) == (step.before, step.after, step.variant)
    assert (found.params, found.metric, found.ratio) == (step.params, step.metric, step.ratio)


@pytest.mark.parametrize(
    ("fates", "status"),
    [
        ([ConfirmationStatus.CONFIRMED], "confirmed"),
        ([ConfirmationStatus.CONFIRMED, ConfirmationStatus.REFUTED], "refuted"),
        ([ConfirmationStatus.UNDECIDED], NOMINATED),
        ([], NOMINATED),
    ],
)
def test_the_newest_word_of_fresh_samples_is_a_steps_status(
    step: Changepoint, fates: list[ConfirmationStatus], status: str
) -> None:
    notes = [
        Confirmation(nomination=nominated(step), fate=fate, time=f"2026-11-{day:02}T00:00:00Z")
        for day, fate in enumerate(fates, start=1)
    ]
    verdict_of = told([note.facts() for note in notes])
    assert (verdict_of(step) or NOMINATED) == status
    assert verdict_of(replace(step, mode="read-write")) is None
