"""The known changes, and how an answer about one of them is scored."""

from __future__ import annotations

import json
import re
import tomllib
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from base.errors import LandspeedError, SourceError, UsageError
from benchmarks.workloads.catalog import choose
from builders.source.history import Commit
from landspeed.cli.bisect import bisect_
from landspeed.session.session import Session
from perf import replay
from perf.replay import (
    KNOWN,
    NEAR,
    Cycle,
    KnownChange,
    check,
    cycles,
    due,
    known_changes,
    ranges,
    score,
)
from tests.kits.made_up.atlas_search import Counting
from tests.kits.made_up.bisect_project import MadeUp, Pretence, pretend

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
    facts = {"changes": changes, "open": [], "complete": True, "size": 0.01}
    assert score(CHANGE, facts, PLACE) == expected


def test_a_commit_near_the_known_one_is_not_wrong_until_the_search_is_over():
    facts = {"changes": [named(200, 200)], "open": [], "complete": False, "size": 0.01}
    assert score(CHANGE, facts, PLACE) == "unfinished"
    assert score(CHANGE, facts | {"complete": True}, PLACE) == "wrong"


@pytest.mark.parametrize(
    ("direction", "ratio", "expected"),
    [
        ("slower", 1.0079, "missed"),
        ("slower", 1.0081, "exact"),
        ("faster", 1 / 1.0079, "missed"),
        ("faster", 1 / 1.0081, "exact"),
    ],
)
def test_a_commit_named_for_other_workloads_is_exact_only_if_its_own_changed_by_the_size(
    direction, ratio, expected
):
    other, own = named(5, 5, "float"), named(5, 5, ratio=ratio)
    both = own | {"workloads": other["workloads"] + own["workloads"]}
    facts = {"changes": [both], "open": [], "complete": True, "size": 0.01}
    assert score(replace(CHANGE, direction=direction), facts, PLACE) == expected


@pytest.mark.parametrize(
    ("workload", "expected"), [("sort-text", "range"), ("float", "unfinished")]
)
def test_a_search_that_is_not_over_names_the_range_that_is_open_and_misses_nothing(
    workload, expected
):
    span = {"after": {"ref": COMMITS[2]}, "last": {"ref": COMMITS[9]}, "workloads": [workload]}
    facts = {"changes": [], "open": [span], "complete": False, "size": 0.01}
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


def cycles_of(*subjects: str) -> list[tuple[str, tuple[str, ...]]]:
    history = [
        Commit(hash=str(at), date="", author="", email="", authored="", subject=subject)
        for at, subject in enumerate(subjects)
    ]
    return [(one.name, one.commits) for one in cycles(history)]


def test_a_cycle_is_from_one_development_version_to_the_next():
    found = cycles_of("Before", "Stamp HEAD as 18devel.", "Fix", "Stamp HEAD as 19devel.", "Add")
    assert found == [("18", ("1", "2", "3")), ("19", ("3", "4"))]


def test_8_5_which_was_renamed_is_the_beginning_of_the_cycle_of_9_0():
    versions = ("8.4devel.", "8.5devel.", "9.0devel, not 8.5", "9.1devel.")
    found = cycles_of(*(f"Stamp HEAD as {version}" for version in versions), "Add")
    assert found == [("8.4", ("0", "1")), ("9.0", ("1", "2", "3")), ("9.1", ("3", "4"))]


def test_a_word_that_is_a_cycle_chooses_no_hashes_and_a_hash_no_cycle():
    known = [replace(CHANGE, commit=digits + "0" * 30) for digits in ("16fa9b2b30", "16fa9b2b31")]
    of_14, of_16 = (
        Cycle(name=name, commits=("begin", one.commit, "end"))
        for name, one in zip(("14", "16"), known, strict=True)
    )
    assert due(known, of_14, [], 0.01) == known[:1]
    assert due(known, of_14, ["16"], 0.01) == []
    assert due(known, of_16, ["16"], 0.01) == known[1:]
    assert due(known, of_14, ["16fa9b2b30"], 0.01) == known[:1]
    assert due(known, of_16, ["16fa9b2b30"], 0.01) == []
    assert due(known, of_16, ["14", "16fa9b2b31"], 0.01) == known[1:]


@pytest.mark.parametrize("word", ["17", "0000", "000000", "00000001", "8.5", ""])
def test_a_word_that_is_neither_a_cycle_nor_seven_digits_of_a_known_hash_is_an_error(word):
    cycle = Cycle(name="16", commits=tuple(COMMITS))
    check([CHANGE], [cycle], ["16", "0000000", CHANGE.commit])
    with pytest.raises(UsageError, match=f'"{word}" is neither'):
        check([CHANGE], [cycle], ["16", word])


def test_every_entry_that_cannot_be_asked_is_named_in_one_error_before_the_first_search():
    cycle = Cycle(name="16", commits=tuple(COMMITS[1:]))
    elsewhere = [replace(CHANGE, commit=one) for one in ("f" * 40, COMMITS[5][:39], *COMMITS[:2])]
    unknown = replace(CHANGE, workloads=("sort-*", "nix-*"))
    with pytest.raises(UsageError) as raised:
        check([CHANGE, *elsewhere, unknown], [cycle], [])
    lines = raised.value.detail.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == [one.commit for one in elsewhere]
    assert lines[-1] == f'{unknown.commit}: no workload is called "nix-*"'


CYCLE = "25"
"""A cycle of the commits 25 … 45, of which commit 30 changes sort-text."""


@pytest.fixture
def asked(made: MadeUp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """Where `replay.main` has searched made-up servers for commit 30; each range is its ends."""
    searched: list[list[str]] = []

    def search(ends: Sequence[str], _: Namespace) -> tuple[int, Any]:
        searched.append([f"commit {made.commits.index(end)}" for end in ends])
        words = [*ends, "--all", "--workload", "sort-text", "--json"]
        result = CliRunner().invoke(bisect_, words)
        error = result.exception
        code = error.exit_code if isinstance(error, LandspeedError) else result.exit_code
        return code, json.loads(result.stdout) if result.stdout else None

    entry = {
        "commit": made.commits[30],
        "direction": "slower",
        "workloads": ["sort-*"],
        "seen_by": ["instructions"],
    }
    known = tmp_path / "known_changes.toml"
    facts = (f"{name} = {json.dumps(value)}\n" for name, value in entry.items())
    known.write_text("[[change]]\n" + "".join(facts))
    monkeypatch.setattr(replay, "KNOWN", known)
    monkeypatch.setattr(replay, "_BEGINS", re.compile(r"commit (25|45)$"))
    monkeypatch.setattr(replay, "search", search)
    Counting(monkeypatch)
    return searched


@pytest.mark.parametrize(
    ("broken", "moved"),
    [
        ([], []),
        ([25], [["commit 24", "commit 35"]]),
        ([35, 36], [["commit 25", "commit 37"]]),
        ([*range(21, 26), *range(35, 40)], [["commit 20", "commit 40"]]),
    ],
)
def test_an_end_that_does_not_build_is_moved_outwards(asked, monkeypatch, capsys, broken, moved):
    pretend(Pretence(broken=broken), monkeypatch.setattr)
    assert replay.main(["--span", "10", CYCLE]) == 0
    assert asked == [["commit 25", "commit 35"], *moved]
    assert json.loads(capsys.readouterr().out.splitlines()[0])["score"] == "exact"


def test_an_end_is_moved_by_at_most_five_commits(asked, monkeypatch, capsys):
    pretend(Pretence(broken=range(20, 26)), monkeypatch.setattr)
    assert replay.main(["--span", "10", CYCLE]) == 1
    assert asked == [["commit 25", "commit 35"]]
    assert json.loads(capsys.readouterr().out.splitlines()[0])["score"] == "failed"


def test_an_end_is_not_moved_out_of_the_history(asked, monkeypatch, capsys):
    monkeypatch.setattr(replay, "_BEGINS", re.compile(r"commit (0)$"))
    pretend(Pretence(broken=[0, 64]), monkeypatch.setattr)
    assert replay.main(["--span", "64"]) == 1
    assert asked == [["commit 0", "commit 64"]]
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["score"] == {"failed": 1}


@pytest.mark.parametrize("error", [UsageError("no project", hint="make one"), SourceError("gone")])
def test_an_error_is_printed_as_landspeed_prints_it_and_gives_the_exit_code(
    asked, monkeypatch, capsys, error
):
    def fail() -> Session:
        raise error

    monkeypatch.setattr(replay, "Session", fail)
    assert replay.main([]) == error.exit_code
    printed = capsys.readouterr()
    assert printed.err.split() == str(error).split()
    assert printed.out == ""
    assert asked == []


def test_ctrl_c_says_that_nothing_is_lost(monkeypatch, capsys):
    def interrupt() -> Session:
        raise KeyboardInterrupt

    monkeypatch.setattr(replay, "Session", interrupt)
    assert replay.main([]) == 130
    assert capsys.readouterr().err == (
        "interrupted: all counts are kept; the same command resumes\n"
    )


def test_a_word_that_chooses_nothing_ends_the_replay_before_it_searches(asked, capsys):
    assert replay.main(["24"]) == UsageError.exit_code
    assert capsys.readouterr().err.startswith('error:  "24" is neither a cycle nor')
    assert asked == []


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
