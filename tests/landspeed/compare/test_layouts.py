"""A change that is gone when functions lie elsewhere is one of layout."""

from __future__ import annotations

import pytest

from base.build import Variant
from base.errors import UsageError
from landspeed.compare.layouts import (
    LAYOUTS,
    LayoutCheck,
    check_layouts,
    in_layout,
    require_layouts,
)
from landspeed.compare.side import Side
from landspeed.compare.verdict import Verdict

SLOWER, FASTER, SAME, UNDECIDED = Verdict.SLOWER, Verdict.FASTER, Verdict.SAME, Verdict.UNDECIDED


def checked(first: Verdict, *others: Verdict) -> tuple[LayoutCheck | None, list[str]]:
    """What becomes of *first* with these verdicts in other layouts, and the layouts asked for."""
    asked = list[str]()

    def compare_in(flag: str) -> Verdict:
        asked.append(flag)
        return others[len(asked) - 1]

    return check_layouts(first, compare_in), asked


@pytest.mark.parametrize("first", [SAME, UNDECIDED])
def test_what_is_no_change_is_not_checked(first: Verdict) -> None:
    assert checked(first) == (None, [])


@pytest.mark.parametrize(
    ("others", "is_layout"),
    [
        ((SLOWER, SLOWER, SLOWER), False),
        ((SLOWER, UNDECIDED, SLOWER, SLOWER), False),
        ((SAME, FASTER), True),
        ((SLOWER, SLOWER, SAME, UNDECIDED), True),
    ],
)
def test_four_of_five_layouts_must_show_it_and_no_more_are_built_than_needed(
    others: tuple[Verdict, ...], is_layout: bool
) -> None:
    check, asked = checked(SLOWER, *others)
    assert check is not None
    assert asked == list(LAYOUTS[: len(others)])
    assert check.facts()["is_layout"] == is_layout
    assert ("not one of layout" in str(check)) != is_layout


def test_a_side_is_built_with_one_flag_more() -> None:
    side = Side.parse("18:bs4-O3", Variant(), "default")
    assert str(in_layout(side, "align64")) == "18:bs4-O3-align64/default"


def test_only_two_sides_that_are_built_here_and_timed_have_other_layouts() -> None:
    def sides(*words: str) -> list[Side]:
        return [Side.parse(word, Variant(), "default") for word in words]

    require_layouts(sides("17", "18"), counted=False)
    for words, counted, message in (
        (("17", "18"), True, "timed metric"),
        (("16", "17", "18"), False, "two sides"),
        (("17", "@mine"), False, "@mine/default cannot be built"),
        (("17", "18:bs8-align32"), False, "align32/default cannot be built"),
    ):
        with pytest.raises(UsageError, match=message):
            require_layouts(sides(*words), counted=counted)
