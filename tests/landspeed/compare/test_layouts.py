"""A change that is gone when functions lie elsewhere is one of layout."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from base.build import ALIGNMENTS, Variant
from base.errors import BuildError, UsageError
from landspeed.cli.compare import compare_
from landspeed.compare.layouts import (
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
    ("others", "is_layout", "told"),
    [
        (
            (SLOWER, SLOWER, SLOWER),
            False,
            "SLOWER in 4 of 4 layouts of the code: the change is n",
        ),
        ((SLOWER, UNDECIDED, SLOWER, SLOWER), False, "SLOWER in 4 of 5"),
        ((SAME, FASTER), True, "SLOWER in 1 of 3 layouts of the code: the change is one of layout"),
        ((SLOWER, SAME, SLOWER, SAME), True, "SLOWER in 3 of 5"),
        ((SLOWER, SLOWER, SAME, UNDECIDED), None, "SLOWER in 3 of 5 layouts of the code: too few"),
        ((UNDECIDED,) * 4, None, "SLOWER in 1 of 5 layouts of the code: too few verdicts"),
    ],
)
def test_four_of_five_layouts_must_show_it_and_no_more_are_built_than_needed(
    others: tuple[Verdict, ...], is_layout: bool | None, told: str
) -> None:
    check, asked = checked(SLOWER, *others)
    assert check is not None
    assert asked == list(ALIGNMENTS[: len(others)])
    assert check.facts()["is_layout"] == is_layout
    assert str(check).startswith(told)


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


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have ``compare`` find SLOWER, then SAME, of the sides that it returns as text."""
    asked = list[str]()

    def plan_comparison(session: Any, sides: Sequence[Side], *_: Any, **__: Any) -> Any:
        asked.append(" ".join(map(str, sides)))
        if asked[-1].startswith("17:bs4-align1/"):
            raise BuildError("could not build 17")
        return SimpleNamespace(require_different=lambda: None)

    stand_ins: dict[str, Any] = {
        "Session": lambda **_: None,
        "plan_comparison": plan_comparison,
        "_announced": lambda _: "comparing",
        "compare": lambda *_, **__: SimpleNamespace(
            comparison=SimpleNamespace(
                findings=[SimpleNamespace(verdict=SLOWER if len(asked) == 1 else SAME)]
            )
        ),
        "comparison_text": lambda *_: "18 is SLOWER",
        "comparison_markdown": lambda *_: "",
        "comparison_facts": lambda *_: {},
    }
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(f"landspeed.cli.compare.{name}", stand_in)
    return asked


def test_compare_builds_both_sides_in_other_layouts_and_says_what_becomes_of_the_change(
    asked: list[str],
) -> None:
    done = CliRunner().invoke(compare_, ["17", "18", "--layouts"])
    assert done.stdout == (
        "18 is SLOWER\n\n"
        "SLOWER in 1 of 3 layouts of the code: "
        "the change is one of layout, not of what the code does.\n"
    )
    assert asked == [
        "17:bs8/default 18:bs8/default",
        "17:bs8-align1/default 18:bs8-align1/default",
        "17:bs8-align32/default 18:bs8-align32/default",
    ]
    asked.clear()
    told = json.loads(CliRunner().invoke(compare_, ["17", "18", "--layouts", "--json"]).stdout)
    assert told["layouts"]["verdicts"] == {"default": "SLOWER", "align1": "SAME", "align32": "SAME"}
    asked.clear()
    assert CliRunner().invoke(compare_, ["17", "18"]).stdout == "18 is SLOWER\n"
    assert len(asked) == 1


@pytest.mark.parametrize("options", [(), ("--fresh",)])
@pytest.mark.usefixtures("asked")
def test_fresh_is_fresh_in_every_layout(
    options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = list[bool]()

    def compare(*_: object, **keywords: bool) -> SimpleNamespace:
        fresh.append(keywords["fresh"])
        found = SimpleNamespace(verdict=SLOWER if len(fresh) == 1 else SAME)
        return SimpleNamespace(comparison=SimpleNamespace(findings=[found]))

    monkeypatch.setattr("landspeed.cli.compare.compare", compare)
    assert CliRunner().invoke(compare_, ["17", "18", "--layouts", *options]).exit_code == 0
    assert fresh == [bool(options)] * 3


def test_a_layout_that_cannot_be_built_does_not_take_the_comparison_with_it(
    asked: list[str],
) -> None:
    done = CliRunner().invoke(compare_, ["17:bs4", "18", "--layouts"])
    assert done.stdout == "18 is SLOWER\n"
    assert isinstance(done.exception, BuildError)
    assert len(asked) == 2
