"""Steps and what fresh samples have said of them meet."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from landspeed.nomination import Confirmation, Fate, Nomination
from landspeed.steps import NOMINATED, Step
from landspeed.surveying import told
from tests.synthetic_steps import level, line, surveyed


@pytest.fixture
def step() -> Step:
    (found,) = surveyed(line(level(0.1, 0.11))).steps
    return found


def nominated(step: Step) -> Nomination:
    """What ``landspeed confirm`` understands of what ``landspeed steps --json`` prints."""
    return Nomination.parse(json.loads(json.dumps(step.facts())))


def test_confirm_understands_what_steps_prints(step: Step) -> None:
    found = nominated(step)
    assert (found.before, found.after, found.variant) == (step.before, step.after, step.variant)
    assert (found.params, found.metric, found.ratio) == (step.params, step.metric, step.ratio)


@pytest.mark.parametrize(
    ("fates", "status"),
    [
        ([Fate.CONFIRMED], "confirmed"),
        ([Fate.CONFIRMED, Fate.REFUTED], "refuted"),
        ([Fate.UNDECIDED], NOMINATED),
        ([], NOMINATED),
    ],
)
def test_the_newest_word_of_fresh_samples_is_a_steps_status(
    step: Step, fates: list[Fate], status: str
) -> None:
    notes = [
        Confirmation(nomination=nominated(step), fate=fate, time=f"2026-11-{day:02}T00:00:00Z")
        for day, fate in enumerate(fates, start=1)
    ]
    verdict_of = told([note.facts() for note in notes])
    assert (verdict_of(step) or NOMINATED) == status
    assert verdict_of(replace(step, mode="read-write")) is None
