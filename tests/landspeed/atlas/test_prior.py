"""Which commits are suspected before anything between two counts is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from base.paths import Paths
from landspeed.atlas import edits
from landspeed.atlas.edits import EditPrior
from landspeed.atlas.prior import change_reached, edit_weights
from landspeed.atlas.search import LevelInterval
from landspeed.profiling.diff import Cost


def test_a_commit_weighs_as_much_of_the_change_as_is_in_the_functions_that_it_edited():
    changes = {"ExecScan": -60.0, "ExecHash": 30.0, "palloc": 10.0}
    edited = {3: {"ExecScan", "other"}, 5: {"ExecScan", "palloc"}, 8: {"other"}, 9: set()}
    assert edit_weights(changes, edited) == pytest.approx({3: 0.6, 5: 0.7})
    assert edit_weights({}, edited) == {}


def cost(function: str, own: float) -> Cost:
    return Cost(
        function=function,
        own_before=100.0,
        own_after=100.0 + own,
        inclusive_before=0.0,
        inclusive_after=0.0,
    )


@pytest.mark.parametrize(
    ("walker", "nested", "weights"),
    [(80.0, 10.0, {1: 0.9, 2: 0.1}), (-80.0, 80.0, {2: 1.0})],
)
def test_what_a_function_costs_in_calls_of_itself_is_added_to_the_rest(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    walker: float,
    nested: float,
    weights: dict[int, float],
):
    found = (cost("walker", walker), cost("walker'2", nested), cost("palloc", 10.0))
    monkeypatch.setattr(edits, "changed_functions", lambda *_, **__: found)
    nothing: Any = None
    prior = EditPrior(
        commits=nothing,
        history=nothing,
        paths=Paths(cache=tmp_path, project=tmp_path),
        record_of=lambda *_: "",
    )
    prior.__dict__["edited"] = {1: frozenset({"walker"}), 2: frozenset({"palloc"})}
    interval = LevelInterval(series="s", first=0, last=3, change=0.1, free=(1, 2))
    assert prior(interval) == pytest.approx(weights)


def test_without_weights_the_change_is_anywhere_alike():
    assert change_reached(10, 14, {}) == pytest.approx([0, 0.25, 0.5, 0.75, 1])


def test_a_suspect_has_most_of_the_probability_and_the_others_share_the_rest():
    reached = change_reached(0, 100, {40: 1.0})
    assert reached[39] < 0.25
    assert reached[40] > 0.75
    assert np.all(np.diff(reached) > 0)
    assert reached[-1] == pytest.approx(1)


def test_suspects_outside_and_weak_ones_are_trusted_less():
    assert change_reached(0, 4, {0: 1.0, 7: 1.0}) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    assert np.diff(change_reached(0, 4, {2: 0.1}))[1] < 0.4
