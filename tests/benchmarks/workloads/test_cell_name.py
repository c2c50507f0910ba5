"""The one spelling of a cell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import UsageError
from benchmarks.workloads.cell_name import CellName, cell_syntax

word = st.none() | st.from_regex(r"[a-z][a-z0-9-]*", fullmatch=True)


@given(
    st.builds(
        CellName,
        mode=word,
        protocol=word,
        scale=word,
        clients=st.none() | st.integers(1, 1000),
        configuration=word,
        cache_state=st.sampled_from([None, "warm", "cold"]),
    )
)
def test_what_is_spelled_is_parsed_again(name: CellName) -> None:
    assert CellName.parse(str(name)) == name


def test_the_name_of_a_recorded_cell_has_all_its_parts() -> None:
    facts = {"mode": "read-only", "protocol": "simple", "tier": "small", "scale": 5, "clients": 4}
    timed = CellName.of(facts | {"profile": "tuned"})
    assert str(timed) == "read-only/simple/small-5/c4/tuned"
    counted = CellName.of(facts | {"profile": "tuned", "buffers": "cold"})
    assert str(counted) == "read-only/simple/small-5/c4/tuned/cold"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a/b/c/c1/e/f/g", "is not a scenario"),
        ("a/b/c/many", '"many" is not a number of clients'),
        ("a/b/c/c0", '"c0" is not a number of clients'),
    ],
)
def test_what_is_not_a_cell_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CellName.parse(text)


def test_parts_may_be_left_out_or_match_all() -> None:
    assert CellName.parse("*//small=3/4") == CellName(scale="small-3", clients=4)
    assert cell_syntax(3) == "MODE[/PROTOCOL[/SCALE]]"
