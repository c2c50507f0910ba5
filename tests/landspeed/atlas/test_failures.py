"""What a search over all workloads does when something fails that may work the next time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from base.errors import (
    BuildInterruptedError,
    BusyError,
    LandspeedError,
    RefError,
    SourceError,
    UsageError,
)
from base.files import locked
from benchmarks.workloads.catalog import workloads
from landspeed.atlas.run import Atlas
from landspeed.cli import bisect_all
from landspeed.cli.bisect import bisect_
from tests.kits.builds.sourcekit import GitUpstream
from tests.kits.made_up.atlas_search import Counting
from tests.kits.made_up.bisect_project import MadeUp, Pretence, facts, pretend

FIRST, CHANGED, LAST = 28, 30, 32
OFFLINE = SourceError("git read-tree failed", detail="could not resolve host")


def search(made: MadeUp, first: int = FIRST, last: int = LAST) -> Result:
    ends = made.commits[first], made.commits[last]
    return CliRunner().invoke(bisect_, [*ends, "--all", "--workload", "sort-text", "--json"])


def found_by(result: Result) -> list[str]:
    return [one["commit"]["subject"] for one in facts(result)["changes"]]


@pytest.mark.parametrize("error", [OFFLINE, BuildInterruptedError("could not build commit 30")])
def test_a_commit_whose_source_or_build_fails_for_now_is_tried_again(made, monkeypatch, error):
    failing: dict[int, LandspeedError] = {CHANGED: error}
    pretend(Pretence(failing=failing), monkeypatch.setattr)
    Counting(monkeypatch)
    assert search(made).exception is error
    failing.clear()
    result = search(made)
    assert found_by(result) == [f"commit {CHANGED}"]
    assert facts(result)["skipped"] == []


def test_a_server_that_fails_to_start_once_is_started_again(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    counting.crashes_once = {FIRST, CHANGED}
    result = search(made)
    assert found_by(result) == [f"commit {CHANGED}"]
    assert facts(result)["skipped"] == []


@pytest.mark.parametrize(
    ("broken", "ends", "side"), [([30], (28, 30), "BAD"), ([29, 31], (29, 31), "GOOD")]
)
def test_an_end_that_an_earlier_search_skipped_is_an_error(made, monkeypatch, broken, ends, side):
    pretend(Pretence(broken=broken), monkeypatch.setattr)
    Counting(monkeypatch)
    assert facts(search(made))["skipped"] != []
    error = search(made, *ends).exception
    assert isinstance(error, LandspeedError)
    assert error.message.startswith(f"{side} (")


def test_a_commit_that_was_skipped_and_counted_later_is_not_listed_as_skipped(made, monkeypatch):
    pretend(Pretence(broken=[30]), monkeypatch.setattr)
    Counting(monkeypatch)
    assert [one for one, _ in facts(search(made))["skipped"]] == [made.commits[30][:10]]
    pretend(Pretence(), monkeypatch.setattr)
    search(made, 28, 30)
    assert facts(search(made))["skipped"] == []


def test_a_workload_that_an_end_refuses_is_searched_from_the_nearest_commit_that_counts_it(
    made, monkeypatch
):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    counting.refused = {(FIRST, "sort-text"), (LAST, "sort-text")}
    result = search(made)
    assert found_by(result) == [f"commit {CHANGED}"]
    assert facts(result)["complete"]
    refused = [made.commits[FIRST][:10], "sort-text", "the counts differ"]
    assert refused in facts(result)["refused"]
    ends = made.commits[FIRST], made.commits[LAST]
    shown = CliRunner().invoke(bisect_, [*ends, "--all", "--workload", "sort-text"]).stdout
    assert "## Not counted" in shown
    assert f"`{refused[0]}`" in shown


@pytest.mark.parametrize("known", [True, False])
def test_a_commit_where_a_workload_is_another_is_never_named_for_it(made, monkeypatch, known):
    pretend(Pretence(), monkeypatch.setattr)
    Counting(monkeypatch, {LAST: {"sort-text": 0.5}})
    ends = made.commits[FIRST], made.commits[LAST]
    if known:  # from a search of other workloads, which built the commit
        CliRunner().invoke(bisect_, [*ends, "--all", "--workload", "float"])
    monkeypatch.setattr(
        Atlas, "_is_same", lambda _, workload, build: build.identifier != f"commit-{LAST}"
    )
    for _ in range(2):
        report = facts(search(made))
        assert report["changes"] == []
        assert report["complete"]
        assert [(one[0], one[1]) for one in report["refused"]] == [(ends[1][:10], "sort-text")]


def test_second_counts_of_a_workload_that_is_defined_in_another_way_since_then_are_made_again(
    made, monkeypatch, tmp_path
):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch, {})
    counting.fleeting = {"sort-text": (CHANGED, 1.02)}
    assert facts(search(made))["not_repeated"] != []
    again = [one for one in counting.again if one == (CHANGED, "sort-text")]
    (journal,) = (tmp_path / "results" / "atlas").glob("atlas-*.json")
    journal.write_text(journal.read_text().replace('"definition": "', '"definition": "former '))
    assert facts(search(made))["not_repeated"] != []
    assert len([one for one in counting.again if one == (CHANGED, "sort-text")]) > len(again)


def test_a_search_is_not_complete_before_its_changes_are_counted_again(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    monkeypatch.setattr(bisect_all, "find_kinds", lambda _: None)
    assert not facts(search(made))["complete"]
    assert counting.again == []
    ends = made.commits[FIRST], made.commits[LAST]
    words = [*ends, "--all", "--workload", "sort-text", "--dry-run", "--machines", "3", "--json"]
    plan = facts(CliRunner().invoke(bisect_, words))
    assert (plan["shares_count"], plan["builds"], plan["counts"]) == (1, 0, 2)


def test_a_second_count_that_fails_is_tried_again_by_the_next_search(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    counting.is_never_again = True
    report = facts(search(made))
    assert (report["complete"], report["counted_again"]) == (True, 0)
    counting.is_never_again = False
    assert facts(search(made))["counted_again"] == 1


def test_what_is_known_can_be_looked_at_while_a_search_has_the_journal(made, monkeypatch, tmp_path):
    pretend(Pretence(), monkeypatch.setattr)
    Counting(monkeypatch)
    search(made)
    (lock,) = (tmp_path / "results" / "atlas").glob(".atlas-*.lock")
    ends = made.commits[FIRST], made.commits[LAST]
    words = [*ends, "--all", "--workload", "sort-text", "--json"]
    with locked(lock, wait=False, busy="busy"):
        assert isinstance(search(made).exception, BusyError)
        assert facts(CliRunner().invoke(bisect_, [*words, "--dry-run"]))["builds"] == 0
        report = CliRunner().invoke(bisect_, [*words, "--budget", "0"])
        assert found_by(report) == [f"commit {CHANGED}"]


def test_workloads_that_the_first_commit_cannot_count_are_named_and_an_error_if_there_are_no_others(
    made, monkeypatch
):
    pretend(Pretence(), monkeypatch.setattr)
    Counting(monkeypatch)
    ends = made.commits[FIRST], made.commits[LAST]
    (timed, *_) = (one.name for one in workloads() if one.timed_only)
    alone = CliRunner().invoke(bisect_, [*ends, "--all", "--workload", timed])
    assert isinstance(alone.exception, UsageError)
    words = [*ends, "--all", "--workload", timed, "--workload", "float"]
    assert f"cannot count them: {timed}" in CliRunner().invoke(bisect_, words).stderr


@pytest.fixture
def upstream(made: MadeUp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> GitUpstream:
    """A repository of the test's own, of which the project is."""
    own, project = GitUpstream(tmp_path / "upstream"), tmp_path / "project"
    project.mkdir()
    shutil.copy(made.project / "asv.conf.json", project)
    (project / "landspeed.toml").write_text(
        f'[sources]\norder = ["git"]\n[sources.git]\nupstream = "{own.directory}"\n'
    )
    monkeypatch.setenv("LANDSPEED_PROJECT", str(project))
    monkeypatch.setenv("LANDSPEED_CACHE", str(tmp_path / "cache"))
    own.commit("19devel", "commit 0", when=1_700_000_000)
    return own


def test_a_range_in_which_no_commit_changes_the_server_is_an_error(upstream):
    first = upstream.git("rev-parse", "HEAD").strip()
    (upstream.directory / "doc").mkdir()
    (upstream.directory / "doc" / "x").write_text("more\n")
    upstream.git("add", "--all")
    upstream.git("commit", "-q", "-m", "commit 1")
    last = upstream.git("rev-parse", "HEAD").strip()
    result = CliRunner().invoke(bisect_, [first, last, "--all", "--workload", "float"])
    assert isinstance(result.exception, UsageError)
    assert "changes the server" in result.exception.message


def test_a_first_end_on_a_branch_that_was_merged_is_an_error_that_names_the_commit_to_take(
    upstream,
):
    parted = upstream.git("rev-parse", "HEAD").strip()
    upstream.git("checkout", "-q", "-b", "side")
    good = upstream.commit("19devel", "commit 10", when=1_700_000_010)
    upstream.git("checkout", "-q", "master")
    upstream.commit("19devel", "commit 1", when=1_700_000_020)
    upstream.git("merge", "-q", "--no-ff", "-s", "ours", "-m", "commit 20", "side")
    bad = upstream.commit("19devel", "commit 21", when=1_700_000_030)
    result = CliRunner().invoke(bisect_, [good, bad, "--all", "--workload", "float"])
    assert isinstance(result.exception, RefError)
    assert result.exception.hint == f"Give {parted[:10]} as GOOD, or a commit before it."
