"""Words of others in our Markdown: whatever they hold, they stay words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landspeed.console.markdown import code, markdown_table, plain

HOSTILE = (
    "Fix $(touch /tmp/pwned) in @postgres/committers, closes #1",
    "``` <script>alert(1)</script> ![x](http://evil.example/x.png)",
    "::set-output name=count::99\n::error::pwned",
    "a | b | `c` | <!-- landspeed:regression -->",
    "``",
    "right\u202eto left\u202c and\x1b[31mred\x00",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_stay_in_their_code_span(text):
    span = code(text)
    fence = re.match(r"`+", span)[0]
    inner = span.removeprefix(fence).removesuffix(fence)
    # no run of as many backticks is inside, so the span ends where it should
    assert fence not in re.findall(r"`+", inner)
    assert "\n" not in span
    assert "\x1b" not in span
    assert "\u202e" not in span


@given(st.text())
def test_a_code_span_is_one_line_and_ends_where_it_begins(text):
    span = code(text)
    if not span:
        assert plain(text) == ""
        return
    fence = re.match(r"`+", span)[0]
    assert span.endswith(fence)
    assert len(span.splitlines()) == 1
    runs = re.findall(r"`+", span[len(fence) : -len(fence)])
    assert fence not in runs


@given(st.text())
def test_a_cell_of_a_table_has_no_bar_that_is_not_escaped(text):
    *_, row = markdown_table(["title"], [[code(text)]]).splitlines()
    cell = row.removeprefix("|").removesuffix("|")
    assert re.search(r"(?<!\\)(\\\\)*\|", cell) is None


def test_the_last_letter_of_align_holds_for_all_columns_that_remain():
    table = markdown_table(["side", "runs", "mean"], [["a", "1", ""]], align="lr")
    assert table == "| side | runs | mean |\n|---|---:|---:|\n| a | 1 | |"


def test_what_is_long_is_cut():
    assert len(plain("x" * 1000)) == 200
    assert code("x" * 1000).endswith("…`")
