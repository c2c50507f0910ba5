"""Numbers as text."""

from __future__ import annotations

import pytest

from landspeed.console.format import change, counted, number, percent


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 blocks"), (1, "1 block"), (2, "2 blocks"), (1702, "1,702 blocks")]
)
def test_a_count_agrees_with_its_noun(count, text):
    assert counted(count, "block") == text


def test_an_irregular_plural_is_given():
    assert counted(2, "entry", "entries") == "2 entries"
    assert counted(1, "entry", "entries") == "1 entry"


def test_shares_changes_and_measured_values_have_one_spelling():
    assert percent(0.999) == "99.9 %"
    assert change(1.0304) == "+3.04 %"
    assert change(0.99) == "-1.00 %"
    assert (number(0.0546721), number(54910.46)) == ("0.05467", "54,910.5")
