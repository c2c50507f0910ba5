"""Regressions: what is one, when it is gone, and what its issue says, whatever commits say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from base.build import Origin, Variant
from base.typed import from_json
from builders.source import Position
from landspeed.bisect.note import BisectionNote
from landspeed.farm.github.issue_text import Mark, body, title
from landspeed.farm.github.regressions import Regression, Span, regressions
from tests.kits.made_up.changepoint_kit import HOSTILE, origin, place_of, step, subject_of
from tests.kits.made_up.synthetic_series import commit
from tests.landspeed.bisect.test_report import facts as bisection_facts

# --- what is one regression -----------------------------------------------------------------


def test_what_happened_at_one_commit_is_one_regression_however_many_series_show_it():
    (one,) = regressions(
        [
            step(3, 4),
            step(3, 4, 1.02, metric="instructions_cold"),
            step(1, 6, machine="other"),
            step(3, 4, 1.01, mode="read-write"),
        ],
        place_of,
    )
    assert len(one.changepoints) == 4
    assert one.changepoints[0].ratio == 1.02
    assert (one.span.before, one.span.last, one.span.count) == (commit(3), commit(4), 1)


def test_two_commits_are_two_regressions():
    found = regressions([step(3, 4), step(6, 7)], place_of)
    assert [one.span.last for one in found] == [commit(4), commit(7)]


def test_what_nobody_confirmed_and_what_got_better_is_none():
    steps = [step(3, 4, status="nominated"), step(5, 6, status="refuted"), step(7, 8, 0.9)]
    assert regressions(steps, place_of) == []


def test_what_is_on_no_branch_any_more_is_left_out():
    assert regressions([step(3, 950)], place_of) == []


def test_it_is_gone_when_a_later_confirmed_step_undoes_it_in_every_series():
    both = [step(3, 4), step(3, 4, metric="instructions_cold")]
    repair = step(8, 9, 1 / 1.01)
    assert not regressions([*both, repair], place_of)[0].is_repaired
    (one,) = regressions([*both, repair, replace(repair, metric="instructions_cold")], place_of)
    assert one.is_repaired
    assert {s.after for s in one.repairs} == {origin(9)}


@pytest.mark.parametrize(
    "repair",
    [
        step(8, 9, 0.995),
        step(8, 9, 1 / 1.01, status="nominated"),
        step(1, 2, 1 / 1.01),
        step(8, 9, 1 / 1.01, machine="other"),
        step(8, 9, 1 / 1.01, line="REL_17_STABLE"),
    ],
)
def test_half_a_repair_or_one_elsewhere_is_none(repair):
    found = regressions([step(3, 4), repair], place_of)
    assert not found[0].is_repaired


def test_several_steps_may_undo_it_together_and_a_later_regression_is_another():
    steps = [step(3, 4, 1.02), step(6, 7, 0.99), step(8, 9, 1 / 1.0098), step(11, 12, 1.02)]
    first, second = regressions(steps, place_of)
    assert first.is_repaired
    assert first.repairs[0].after == origin(9)
    assert not second.is_repaired


# --- the text ---------------------------------------------------------------------------------


def regression(**changes: Any) -> Regression:
    (one,) = regressions([step(3, 4), step(3, 4, 1.02, metric="instructions_cold")], place_of)
    return replace(one, **changes)


def without_code(markdown: str) -> str:
    """*markdown* without its code spans and blocks: what GitHub would make links of."""
    text = re.sub(r"^```.*?^```$", "", markdown, flags=re.M | re.S)
    text = re.sub(r"^    .*$", "", text, flags=re.M)
    return re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", text)


def test_nothing_of_a_commit_is_outside_of_code():
    one = regression(span=Span(line="<b>--> @x", before=commit(3), last=commit(4), first=4, end=4))
    found = note(hostile_bisection())
    text = body(replace(one, bisections=[found]), subject_of)
    for part in (without_code(text), without_code(title(one, subject_of))):
        for evil in ("@postgres", "#7", "<img", "$(id)", "<b>", "@x"):
            assert evil not in part
    assert "\n::error" not in text
    assert text.count("-->") == 1 + text.count("<b>-->") + text.count("<img src=x> -->")


def note(report: Mapping[str, Any], nomination: str = "x", time: str = "1") -> BisectionNote:
    return from_json(BisectionNote, {"nomination": nomination, "time": time, "report": report})


def naming(ref: str) -> Mapping[str, Any]:
    whole = bisection_facts()
    return whole | {"culprit": whole["culprit"] | {"ref": ref}}


def hostile_bisection() -> Mapping[str, Any]:
    found = dict(bisection_facts())
    evil = {"subject": HOSTILE, "author": "@evil <b>", "email": "x>\n# @postgres"}
    found["culprit"] = found["culprit"] | evil
    found["measurements"] = [row | {"subject": HOSTILE} for row in found["measurements"]]
    found["skipped"] = [{"position": 1, "name": "abc", "reason": HOSTILE}]
    return found


def test_an_issue_says_what_where_how_much_and_how_to_look():
    text = body(regression(), lambda _: "Do more")
    assert title(regression(), lambda _: "Do more") == (
        "+2.00 % instructions_cold (read-only): 0000000004 `Do more`"
    )
    assert f"**+2.00 % instructions_cold by commit {commit(4)} `Do more`** on `master`." in text
    assert "| `counter` | bs8 | `read-only/prepared/small-5/c1/default` | instructions |" in text
    assert "40,000.0 | 40,400.0 instructions/tx | +1.00 % | exact |" in text
    assert "landspeed explain 0000000003 0000000004 --scenario" in text
    assert Mark.read(text) == Mark.of(regression().span)


def test_an_issue_about_a_beta_is_about_the_release_that_it_turns_out_to_be():
    order = ("17.6", "18beta1", "18beta2", "18.0")

    def place(one: Origin) -> Position | None:
        position = order.index(one.release) if one.release in order else -1
        return Position(branch="releases", position=position) if position >= 0 else None

    wide = Span(line="releases", before="17.6", last="18beta2", first=1, end=2)
    narrow = Span(line="releases", before="17.6", last="18beta1", first=1, end=1)
    later = Span(line="releases", before="18beta2", last="18.0", first=3, end=3)
    assert Mark.of(wide).is_about(narrow, place)
    assert not Mark.of(wide).is_about(later, place)


def test_the_commands_of_an_issue_build_the_variant_that_regressed():
    variant = Variant.parse("bs4")
    (counted,) = regressions([step(3, 4, variant=variant)], place_of)
    assert "landspeed explain 0000000003:bs4 0000000004:bs4 --scenario" in body(counted, subject_of)
    (timed,) = regressions([step(3, 4, metric="latency", p_value=0.01, variant=variant)], place_of)
    text = body(timed, subject_of)
    assert "landspeed compare 0000000003:bs4 0000000004:bs4 --metric latency" in text
    assert "landspeed show 0000000004:bs4/read-only" in text


def test_where_it_is_not_known_better_the_issue_says_between_which_two():
    (one,) = regressions([step(3, 7)], place_of)
    assert "one of 4 commits up to 0000000007" in title(one, subject_of)
    assert f"after {commit(3)} and up to {commit(7)}" in body(one, subject_of)


def test_the_bisections_report_is_in_it():
    text = body(regression(bisections=[note(bisection_facts())]), subject_of)
    assert "<details><summary>The bisection</summary>" in text
    assert "### latency from" in text


def test_a_bisection_is_found_by_its_nomination_or_its_culprit():
    key = step(3, 4).key
    by_key = note(bisection_facts(culprit=None), key, time="2")
    by_culprit = note(naming(commit(4)), "wide")
    other = note(naming(commit(5)), "other")
    (one,) = regressions([step(3, 4)], place_of, [by_key, by_culprit, other, by_key])
    assert {found.nomination for found in one.bisections} == {key, "wide"}


@pytest.mark.slow
def test_a_text_is_never_longer_than_an_issue_may_be():
    many = [step(3, 4, machine=f"machine{number}") for number in range(2000)]
    (one,) = regressions(many, place_of)
    assert len(body(one, subject_of)) < 65_536
