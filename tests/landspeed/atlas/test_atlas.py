"""``landspeed bisect --all`` from end to end, on real commits and made-up servers."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from base.errors import LandspeedError, MeasureError, UsageError
from benchmarks.counted.count import Counter
from benchmarks.records.record import Record
from benchmarks.workloads.scenario import Cell
from landspeed.atlas import run
from landspeed.cli.bisect import bisect_
from landspeed.console.progress import Meter
from landspeed.farm.acceptance import acceptance, parse_assigned
from landspeed.farm.merge import merge_results
from landspeed.session.session import Session
from tests.kits.made_up.atlas_search import AGAIN, WORKLOADS, Counting, Done, named, search
from tests.kits.made_up.bisect_project import COUNT, MadeUp, Pretence, facts, pretend

pytestmark = pytest.mark.slow


def test_every_commit_that_changed_a_workload_is_found_with_its_functions_and_has_a_page(
    made, monkeypatch, tmp_path
):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    report = facts(search(made, "--json"))
    assert named(report) == [
        ("commit 30", 1, ["sort-text", "hash-join"]),
        ("commit 45", 1, ["insert-one"]),
    ]
    assert report["complete"]
    assert report["changes"][0]["parent"]["subject"] == "commit 29"
    slower = report["changes"][0]["workloads"][0]
    assert slower["after"] / slower["before"] == pytest.approx(1.03)
    assert slower["functions"] == [{"function": "ExecSort", "change": 30000.0}]
    assert [w["kind"] for one in report["changes"] for w in one["workloads"]] == ["code"] * 3
    assert len(counting.counted) == report["counts"]
    assert sorted(counting.again) == AGAIN
    assert report["counted_again"] == 3
    assert {name for at, name in counting.counted if at in (29, 30, 44, 45)} == set(WORKLOADS)
    assert report["builds"] <= 5 + 4 + 4
    (page,) = (tmp_path / "results" / "atlas").glob(f"*-{report['bad']['name']}/index.html")
    point = f'<a href="../../commit.html#{report["changes"][0]["commit"]["ref"]}"><circle class='
    assert f'{point}"rise"' in page.read_text()
    culprit = report["changes"][0]["commit"]
    flames = page.parent / f"{culprit['name']}-sort-text.svg"
    assert "ExecSort" in flames.read_text()
    for address in (
        f"../../commit.html#{culprit['ref']}",
        flames.name,
        "../../trends.html#joins.track_instructions?machine=",
    ):
        assert f'<a href="{address}' in page.read_text()
    listed = (tmp_path / "results" / "atlas" / "index.html").read_text()
    assert f'<a href="{page.parent.name}/index.html">' in listed


def test_the_same_command_counts_nothing_again_and_a_finer_grid_only_what_is_missing(
    made, monkeypatch
):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    search(made)
    before = list(counting.counted)
    text = search(made).stdout
    assert counting.counted == before
    assert "| `commit 30` |" in text
    assert "| code |" in text
    assert "`sort-text` +3.00 %, `hash-join` +2.00 %" in text
    assert "`ExecSort` +30,000" in text
    finer = facts(search(made, "--json", "--size", "0.5%", "--grid", "8"))
    assert [one[0] for one in named(finer)] == ["commit 30", "commit 45"]
    assert counting.counted[: len(before)] == before
    assert len(counting.counted) > len(before)
    assert sorted(counting.again) == AGAIN


def test_an_interrupted_search_resumes_at_the_count_where_it_stopped(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    for stop in (1, 8, 20, 29):
        counting.interrupt_after = stop
        search(made)
        assert len(counting.counted) == stop
    counting.interrupt_after = None
    report = facts(search(made, "--json"))
    assert [one[0] for one in named(report)] == ["commit 30", "commit 45"]
    assert sorted(counting.again) == AGAIN


def test_commits_that_do_not_build_or_run_are_passed_over_and_named_as_a_range(
    made, monkeypatch, tmp_path
):
    pretend(Pretence(broken=[16, 30, 31]), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    counting.crashing = {29}
    counting.refused = {(45, "insert-one"), (17, "float")}
    report = facts(search(made, "--json"))
    assert named(report) == [
        ("commit 32", 4, ["sort-text", "hash-join"]),
        ("commit 46", 2, ["insert-one", "float"]),
    ]
    assert {reason for _, reason in report["skipped"]} == {
        *(f"commit {number} does not compile" for number in (16, 30, 31)),
        "the server does not start",
    }
    assert [made.commits[45][:10], "insert-one", "the counts differ"] in report["refused"]
    counted = len(counting.counted)
    assert named(facts(search(made, "--json"))) == named(report)
    assert len(counting.counted) == counted

    # a workload that is defined in another way since then is tried again
    counting.refused = set()
    (journal,) = (tmp_path / "results" / "atlas").glob("atlas-*.json")
    journal.write_text(re.sub(r'("definition": ?")', r"\1former ", journal.read_text()))
    tries = counting.again.count((45, "insert-one"))
    again = facts(search(made, "--json"))
    assert not again["refused"]
    assert counting.again.count((45, "insert-one")) > tries


def test_a_count_that_fails_once_is_made_again_after_the_others(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    counting.fails_once = {(0, "sort-text"), (30, "hash-join")}
    report = facts(search(made, "--json"))
    assert named(report) == [
        ("commit 30", 1, ["sort-text", "hash-join"]),
        ("commit 45", 1, ["insert-one"]),
    ]
    assert not report["refused"]
    assert counting.again[0] == (0, "sort-text")


def test_a_server_that_crashes_with_what_failed_leaves_the_other_workloads_counted(
    made, monkeypatch
):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    counting.fails_once, counting.crashes_again = {(0, "hash-join")}, True
    report = facts(search(made, "--json"))
    assert [one[0] for one in named(report)] == ["commit 30", "commit 45"]
    assert report["complete"]
    assert report["skipped"] == []
    assert report["refused"] == [[made.commits[0][:10], "hash-join", "the counts differ"]]


def test_identical_servers_are_counted_once(made, monkeypatch):
    pretend(Pretence(same=[range(16, 30), range(30, 45)]), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    assert [one[0] for one in named(facts(search(made, "--json")))] == ["commit 30", "commit 45"]
    assert {one for one in counting.counted if one[0] in (29, 31, 44)} <= {*AGAIN}


def test_an_end_that_cannot_be_counted_is_an_error(made, monkeypatch):
    pretend(Pretence(broken=[COUNT]), monkeypatch.setattr)
    Counting(monkeypatch)
    error = search(made).exception
    assert isinstance(error, LandspeedError)
    assert error.message.startswith("BAD (")


def test_a_spent_budget_ends_with_what_is_found_and_what_is_still_open(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    Counting(monkeypatch)
    ticks = iter(range(10**6))
    monkeypatch.setattr(run, "_clock", lambda: float(next(ticks)))
    result = search(made, "--json", "--budget", "60s")
    assert isinstance(result.exception, MeasureError)
    report = facts(result)
    assert not report["complete"]
    assert "Not searched to the end" in search(made, "--budget", "20s").stdout or report["open"]
    assert search(made, "--budget", "1h").exit_code == 0


def test_the_time_left_is_what_a_count_takes_with_the_loading_of_its_data(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting, now, shown = Counting(monkeypatch), [0.0], [("", 0.0)][:0]

    def seven_seconds(counter: Counter, cells: Sequence[Cell], done: Done) -> None:
        def later(cell: Cell, outcome: Record | LandspeedError) -> None:
            now[0] += 7.0
            done(cell, outcome)

        counting(counter, cells, later)

    monkeypatch.setattr(run, "count_side_by_side", seven_seconds)
    monkeypatch.setattr(run, "_clock", lambda: now[0])
    monkeypatch.setattr(
        Meter, "update", lambda _, __, doing, left: shown.append((doing.split("; ")[1], left))
    )
    report = facts(search(made, "--json"))
    assert report["count_seconds"] == 7 * report["counts"]
    # 5 points of the grid, 6 counts at each
    counts = [(doing, left) for doing, left in shown if doing.startswith("4 builds")][:6]
    assert [doing for doing, _ in counts] == [
        f"4 builds, {left} counts or more" for left in range(29, 23, -1)
    ]
    assert [before - after for (_, before), (_, after) in pairwise(counts)] == [7.0] * 5


def test_a_dry_run_says_what_is_left_and_does_nothing(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    planned = facts(search(made, "--dry-run", "--json"))
    assert (planned["commits"], planned["builds"], planned["counts"]) == (COUNT, 5, 5 * 6)
    assert planned["disk_gb"] == 3.6
    assert planned["builds_per_change"] == 4
    assert facts(search(made, "--dry-run", "--json", "--grid", "3000"))["builds_per_change"] == 6
    assert counting.counted == []
    text = search(made, "--dry-run").stdout
    assert "5 builds and 30 counts" in text
    assert "3.6 GB of disk (LANDSPEED_TEMPLATES_GB limits the data)" in text
    monkeypatch.setenv("LANDSPEED_TEMPLATES_GB", "1")
    assert facts(search(made, "--dry-run", "--json"))["disk_gb"] == 1.1


def test_a_dry_run_says_how_many_builds_the_store_no_longer_has(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    Counting(monkeypatch, {})
    search(made)
    done = search(made, "--dry-run").stdout
    assert done.rstrip().endswith("6 workloads: nothing is left to be built or counted")
    one_more = ["--dry-run", "--json", "--workload", "analyze"]
    plan = facts(search(made, *one_more))
    assert (plan["builds"], plan["counts"]) == (0, 5)
    for build in Session().builder.store.root.glob("commit-*"):
        build.rmdir()
    assert facts(search(made, *one_more))["builds"] == 5


def share(made: MadeUp, monkeypatch: pytest.MonkeyPatch, results: Path, *words: str) -> Result:
    """A search whose results are at *results*, another machine's."""
    monkeypatch.setenv("LANDSPEED_RESULTS", str(results))
    result = search(made, *words)
    assert result.exception is None, result.exception
    return result


@pytest.mark.parametrize("backwards", [False, True])
def test_machines_that_count_a_share_each_find_together_what_one_finds_if_one_of_them_is_lost(
    made, monkeypatch, tmp_path, backwards
):
    pretend(Pretence(broken=[31], same=[range(20, 26)]), monkeypatch.setattr)
    alone = Counting(monkeypatch)
    alone.refused = several_refused = {(33, "hash-join"), (48, "float")}
    one = named(facts(share(made, monkeypatch, tmp_path / "one", "--json")))
    assert [subject for subject, *_ in one] == ["commit 30", "commit 45"]

    several, union = Counting(monkeypatch), tmp_path / "union"
    several.refused = several_refused
    for go in range(9):
        plan = facts(share(made, monkeypatch, union, "--dry-run", "--machines", "3", "--json"))
        if not plan["shares_count"]:
            break
        assert (plan["good"], plan["bad"]) == (
            f"{made.commits[0]}:bs8",
            f"{made.commits[COUNT]}:bs8",
        )
        ended = []
        for job in plan["shares"]:
            machine = tmp_path / f"{go}-{job['name']}"
            merge_results(union, machine)
            before = len(several.counted)
            left = facts(share(made, monkeypatch, machine, "--share", job["share"], "--json"))
            assert (left["builds"], left["counts"]) == (0, 0)
            if (go, job["name"]) == (0, "2"):
                del several.counted[before:]  # it is lost, and what it has counted with it
            else:
                ended.append((job["name"], machine))
        report = facts(share(made, monkeypatch, union, "--budget", "0", "--json"))
        assert not report["complete"]
        assert report["builds_left"] > 0
        assigned = parse_assigned(json.dumps(plan["assigned"]))
        for name, machine in reversed(ended) if backwards else ended:
            accept = acceptance(assigned[f"results-atlas-{name}"], machine)
            merge_results(machine, union, accept=accept)
        assert not list(union.glob("**/aside/**/*.json"))
    report = facts(share(made, monkeypatch, union, "--budget", "0", "--json"))
    assert report["complete"]
    assert named(report) == one
    assert {at for at, _ in several.counted} >= {0, COUNT}
    assert sorted(one for one in several.again if one not in several_refused) == AGAIN
    # a machine for itself goes on from the same results, and has nothing to do
    before = len(several.counted)
    assert named(facts(share(made, monkeypatch, union, "--json"))) == one
    assert len(several.counted) == before
    # what two machines have built is one build
    journal = max((union / "atlas").glob("atlas-*.json"))
    shutil.copy(journal, journal.with_stem(f"{journal.stem[:-8]}{8 * '0'}"))
    again = facts(share(made, monkeypatch, union, "--budget", "0", "--json"))
    assert again["builds"] == report["builds"]


def test_a_build_that_is_another_elsewhere_is_counted_and_the_search_ends(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    search(made)
    once = len(counting.counted)
    # the same commits, but none of the files that the first builds installed
    pretend(
        Pretence(same=[[number + 1000, number] for number in range(COUNT)]), monkeypatch.setattr
    )
    assert [one[0] for one in named(facts(search(made, "--json", "--grid", "8")))] == [
        "commit 30",
        "commit 45",
    ]
    assert len(counting.counted) > once


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--all", "--metric", "tps"], "--all does not go with --metric"),
        (["--all", "--mode", "read-write"], "--all does not go with --mode"),
        (["--all", "--size", "0.1%"], "--size must be at least 0.4 % with --all"),
        (["--suite", "small"], "--suite, --workload, --grid, --machines and --share need --all"),
        (["--grid", "7"], "--suite, --workload, --grid, --machines and --share need --all"),
        (["--all", "--machines", "2"], "--machines needs --dry-run"),
        (["--all", "--share", "a..b", "--machines", "2"], "--machines needs --dry-run"),
        (["--all", "--share", "a"], '"a" is not a share'),
        (["--all", "--share", "a..b"], "there is no share a..b between GOOD and BAD"),
    ],
)
def test_options_that_do_not_go_together_are_refused(made, words, message):
    result = CliRunner().invoke(bisect_, [made.commits[0], made.commits[9], *words])
    assert isinstance(result.exception, UsageError)
    assert result.exception.message == message
