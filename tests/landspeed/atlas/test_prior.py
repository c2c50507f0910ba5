"""Which commits are suspected before anything between two counts is known."""

from __future__ import annotations

import numpy as np
import pytest

from landspeed.atlas.prior import change_reached, edit_weights


def test_a_commit_weighs_as_much_of_the_change_as_is_in_the_functions_that_it_edited():
    changes = {"ExecScan": -60.0, "ExecHash": 30.0, "palloc": 10.0}
    edited = {3: {"ExecScan", "other"}, 5: {"ExecScan", "palloc"}, 8: {"other"}, 9: set()}
    assert edit_weights(changes, edited) == pytest.approx({3: 0.6, 5: 0.7})
    assert edit_weights({}, edited) == {}


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
