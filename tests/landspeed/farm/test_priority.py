"""What is worth measuring first: the newest, then the middle of the largest gap."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from landspeed.farm.plan import halved, largest_gaps_first, newer_than_covered

lines = st.lists(st.booleans(), max_size=60)


def test_what_came_since_the_last_one_is_first_the_newest_of_it_before_all():
    assert newer_than_covered([True, False, True, False, False]) == [4, 3]


def test_of_a_line_of_which_nothing_is_known_the_tip_comes_first():
    assert newer_than_covered([False, False, False]) == [2]
    assert newer_than_covered([]) == []
    assert newer_than_covered([False]) == [0]


def test_nothing_is_newer_than_the_tip():
    assert newer_than_covered([False, True]) == []


def test_the_largest_gap_is_halved_again_and_again():
    known = [True, *[False] * 7, True, *[False] * 3, True]
    assert list(halved(known)) == [
        (7, 4),
        (3, 10),
        (3, 6),
        (3, 2),
        (1, 11),
        (1, 9),
        (1, 7),
        (1, 5),
        (1, 3),
        (1, 1),
    ]


@given(lines)
def test_each_hole_is_filled_once_and_gaps_never_grow(known):
    found = list(halved(known))
    assert sorted(at for _, at in found) == [at for at, one in enumerate(known) if not one]
    sizes = [size for size, _ in found]
    assert sizes == sorted(sizes, reverse=True)


@given(lines)
def test_wherever_it_ends_no_gap_is_larger_than_the_next_one_said(known):
    state = list(known)
    for size, at in halved(known):
        gaps = "".join("x" if one else "." for one in state).split("x")
        assert max(map(len, gaps)) == size
        assert not state[at]
        state[at] = True


@given(st.lists(lines, max_size=4))
def test_of_several_lines_the_one_with_the_largest_gap_comes_first(several):
    found = largest_gaps_first(several)
    assert sorted(found) == sorted(
        (line, at) for line, known in enumerate(several) for at, one in enumerate(known) if not one
    )
    state = [list(known) for known in several]
    for line, at in found:
        largest = [
            max(map(len, "".join("x" if one else "." for one in known).split("x")))
            for known in state
        ]
        assert largest[line] == max(largest)
        state[line][at] = True
