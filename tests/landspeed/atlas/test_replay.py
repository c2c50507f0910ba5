"""The known changes, and how an answer about one of them is scored."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import pytest

from benchmarks.workloads.catalog import choose
from builders.source.history import Commit
from perf.replay import KNOWN, NEAR, Cycle, KnownChange, cycles, known_changes, ranges, score

COMMITS = [f"{number:040x}" for number in range(NEAR + 10)]
PLACE = {commit: at for at, commit in enumerate(COMMITS)}
CHANGE = KnownChange(
    commit=COMMITS[5],
    direction="slower",
    workloads=("sort-*",),
    seen_by=frozenset({"instructions"}),
)


def named(first: int, last: int, workload: str = "sort-text", ratio: float = 1.1) -> dict[str, Any]:
    return {
        "commit": {"ref": COMMITS[last]},
        "parent": {"ref": COMMITS[first - 1]},
        "among": last - first + 1,
        "workloads": [{"workload": workload, "before": 100.0, "after": 100.0 * ratio}],
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([named(5, 5)], "exact"),
        ([named(2, 2), named(5, 5)], "exact"),
        ([named(4, 6)], "range"),
        ([named(2, 2)], "wrong"),
        ([named(NEAR + 6, NEAR + 6)], "missed"),
        ([], "missed"),
        ([named(5, 5, "float")], "missed"),
        ([named(5, 5, ratio=0.9)], "missed"),
    ],
)
def test_an_answer_is_scored_by_what_it_names_for_the_workload(changes, expected):
    facts = {"changes": changes, "open": [], "complete": True}
    assert score(CHANGE, facts, PLACE) == expected


@pytest.mark.parametrize(
    ("workload", "expected"), [("sort-text", "range"), ("float", "unfinished")]
)
def test_a_search_that_is_not_over_names_the_range_that_is_open_and_misses_nothing(
    workload, expected
):
    span = {"after": {"ref": COMMITS[2]}, "last": {"ref": COMMITS[9]}, "workloads": [workload]}
    facts = {"changes": [], "open": [span], "complete": False}
    assert score(CHANGE, facts, PLACE) == expected


@pytest.mark.parametrize(
    ("measured", "size", "expected"),
    [
        (None, 0.01, True),
        ({"sort-text": 0.011, "sort-numeric": 0.002}, 0.01, True),
        ({"sort-text": -0.011}, 0.01, True),
        ({"sort-text": 0.009}, 0.01, False),
        ({"sort-text": 0.009}, 0.005, True),
        ({"of no suite": 0.5}, 0.01, False),
    ],
)
def test_what_was_measured_to_be_smaller_than_the_size_is_not_asked_for(measured, size, expected):
    assert replace(CHANGE, measured=measured).is_asked(size) == expected


def test_a_cycle_is_from_one_development_version_to_the_next():
    subjects = ["Before", "Stamp HEAD as 18devel.", "Fix", "Stamp HEAD as 19devel.", "Add"]
    made = [
        Commit(hash=str(at), date="", author="", email="", authored="", subject=subject)
        for at, subject in enumerate(subjects)
    ]
    found = [(one.name, one.commits) for one in cycles(made)]
    assert found == [("18", ("1", "2", "3")), ("19", ("3", "4"))]


@pytest.mark.parametrize(("span", "parts"), [(1, 10), (3, 3), (10, 1), (300, 1)])
def test_a_cycle_is_searched_in_ranges_that_share_their_ends_and_leave_out_nothing(span, parts):
    cycle = Cycle(name="18", commits=tuple(COMMITS[:11]))
    found = [one.commits for one in ranges(cycle, span)]
    assert len(found) == parts
    assert all(len(commits) > min(span, 10) for commits in found)
    assert [commits[0] for commits in found[1:]] == [commits[-1] for commits in found[:-1]]
    assert (*found[0], *(one for commits in found[1:] for one in commits[1:])) == cycle.commits


def test_what_was_measured_is_in_the_direction_and_of_the_workloads_that_an_entry_names():
    for row in tomllib.loads(KNOWN.read_text())["change"]:
        measured = row.get("measured")
        if measured is None:
            continue
        # nobody is asked for a change that counting did not show
        assert bool(row["workloads"]) == bool(measured)
        for pattern in row["workloads"]:
            shown = [share for name, share in measured.items() if fnmatchcase(name, pattern)]
            assert shown
            assert all((share > 0) == (row["direction"] == "slower") for share in shown)


def test_every_known_change_is_of_the_catalog_and_most_are_visible_to_counts():
    known = known_changes()
    assert len({one.commit for one in known}) == len(known) >= 30
    assert sum(one.is_visible for one in known) >= 25
    for one in known:
        assert len(one.commit) == 40
        assert one.direction in ("slower", "faster")
        for pattern in one.workloads:
            assert choose([pattern])
