"""The candidates between GOOD and BAD: commits, releases, from a release into its commits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from base.build import Variant
from base.errors import BuildError, RefError, UsageError
from builders.source import Sources
from landspeed.bisect.commit_range import (
    Candidate,
    CommitRange,
    RangeKind,
    commit_range,
    commits_of_release,
    release_range,
)
from landspeed.bisect.sweep import targets_between
from landspeed.cli.bisect import bisect_
from landspeed.session.target import Target
from tests.kits.builds.sourcekit import GitUpstream, Harness
from tests.kits.made_up.bisect_project import MadeUp, Pretence, pretend


@pytest.fixture
def upstream(tmp_path: Path) -> GitUpstream:
    """17.0 and 17.1 on a branch of their own, 18.0 on master, two commits before each."""
    made = GitUpstream(tmp_path / "upstream")
    made.commit("17devel", "the beginning")
    for subject in ("a", "b"):
        made.commit("17devel", subject)
    made.git("branch", "REL_17_STABLE")
    for subject in ("c", "d"):
        made.commit("18devel", subject)
    made.commit("18.0", "stamp 18.0")
    made.git("tag", "REL_18_0")
    made.git("checkout", "--quiet", "REL_17_STABLE")
    for name in ("17.0", "17.1"):
        made.commit("17.0", f"work towards {name}")
        made.commit(name, f"stamp {name}")
        made.git("tag", f"REL_{name.replace('.', '_')}")
    made.git("checkout", "--quiet", "master")
    return made


@pytest.fixture
def sources(tmp_path: Path, upstream: GitUpstream) -> Sources:
    harness = Harness(tmp_path)
    days = {"17.0": "2024-09-26", "17.1": "2024-11-14", "18.0": "2025-09-25"}
    releases = [harness.released(name, day) for name, day in days.items()]
    return harness.sources(*releases, order=("git",), upstream=str(upstream.directory))


def subjects(commits: CommitRange) -> list[str]:
    return [candidate.subject for candidate in commits.candidates]


def test_commits_are_in_the_order_they_came_from_good_to_bad(sources):
    assert (
        subjects(commit_range(sources, "master~4", "master"))
        == [*("a", "b", "c", "d", "stamp 18.0")][-5:]
    )


def test_a_merged_branch_is_one_commit_its_merge(sources, upstream):
    upstream.git("checkout", "--quiet", "-b", "side", "master~1")
    upstream.commit("18devel", "on the side")
    upstream.git("checkout", "--quiet", "master")
    upstream.git("merge", "--quiet", "-s", "ours", "-m", "a merge", "side")
    assert subjects(commit_range(sources, "master~2", "master")) == ["d", "stamp 18.0", "a merge"]


def test_releases_are_in_version_order(sources):
    commits = release_range(sources, "17.0", "18")
    assert [c.ref for c in commits.candidates] == ["17.0", "17.1", "18.0"]
    assert commits[0].date == "2024-09-26"
    assert commits.positions["17.1"] == 1


def test_from_one_release_to_the_next_the_commits_begin_where_their_branches_parted(sources):
    commits = release_range(sources, "17.0", "18")
    assert subjects(commits_of_release(sources, commits[0], commits[1])) == [
        "stamp 17.0",
        "work towards 17.1",
        "stamp 17.1",
    ]
    assert subjects(commits_of_release(sources, commits[1], commits[2])) == [
        "b",
        "c",
        "d",
        "stamp 18.0",
    ]


def test_releases_in_the_wrong_order_and_commits_that_are_no_releases_are_refused(sources):
    with pytest.raises(RefError, match="GOOD comes after BAD"):
        release_range(sources, "18", "17.0")
    with pytest.raises(RefError, match="is not a release"):
        release_range(sources, "17.0", "master~1")
    with pytest.raises(UsageError, match="the same") as caught:
        release_range(sources, "18", "18.0")
    assert "18 and 18.0" in caught.value.detail


def test_a_release_without_history_is_no_end_for_commits(tmp_path):
    harness = Harness(tmp_path)
    releases = [harness.released(name, "2025-01-01") for name in ("17.0", "17.1")]
    with pytest.raises(RefError, match="not as a commit") as caught:
        commit_range(harness.sources(*releases), "17.0", "17.1")
    assert "--over releases" in caught.value.hint


def test_releases_of_two_branches_are_no_line_and_where_they_parted_is_offered(sources, upstream):
    with pytest.raises(RefError, match="GOOD is not an ancestor of BAD") as caught:
        commit_range(sources, "17.1", "18.0")
    parted = upstream.git("rev-parse", "master~3")[:10]
    assert parted in caught.value.detail
    assert caught.value.hint == f"Give {parted} as GOOD."


@pytest.mark.slow
def test_the_verb_goes_over_releases_and_on_into_the_commits(
    tmp_path: Path, upstream: GitUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "asv.conf.json").write_text("{}")
    (project / "landspeed.toml").write_text(
        f'[sources]\norder = ["git"]\n[sources.git]\nupstream = "{upstream.directory}"\n'
    )
    monkeypatch.setenv("LANDSPEED_PROJECT", str(project))
    monkeypatch.setenv("LANDSPEED_CACHE", str(tmp_path / "cache"))
    order = ("the beginning", "a", "b", "c", "d", "stamp 18.0")
    late = dict.fromkeys(("work towards 17.0", "stamp 17.0", "work towards 17.1", "stamp 17.1"), 2)
    numbers = {**{subject: at for at, subject in enumerate(order)}, **late}
    pretend(Pretence(steps={"4": 1.05}, numbers=numbers), monkeypatch.setattr)
    words = ["17.0", "18.0", "--over", "releases", "--deep", "--json", "--improvement"]
    reversed_ = CliRunner().invoke(bisect_, words)
    assert json.loads(reversed_.stdout)["answer"] == "reversed"
    found = CliRunner().invoke(bisect_, words[:-1])
    release, commit = json.loads(found.stdout)
    assert release["culprit"]["name"] == "18.0"
    assert release["culprit"]["parent"]["name"] == "17.1"
    assert commit["culprit"]["subject"] == "d"
    assert commit["good"]["subject"] == "b"
    (project / "results/bisect" / commit["state"]).unlink()
    budget = f"--budget={release['spent_seconds'] + 5:.0f}s"
    _, undecided = json.loads(CliRunner().invoke(bisect_, [*words[:-1], budget]).stdout)
    assert undecided["answer"] == "undecided", "the budget is for both searches together"
    told = CliRunner().invoke(bisect_, words[:-2]).stdout
    assert "PostgreSQL 18.0" in told
    assert "landspeed bisect 17.0 18.0 --over releases --deep" in told


@pytest.mark.slow
def test_releases_without_history_are_refused_before_the_search_that_would_go_on_into_commits(
    made: MadeUp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_history(*_: object) -> CommitRange:
        raise RefError('"17.1" is known as a release, not as a commit')

    pretend(Pretence(), monkeypatch.setattr)
    candidates = tuple(Candidate(ref=one, name=one, date="", subject="") for one in ("17.1", "18"))
    releases = CommitRange(kind=RangeKind.RELEASES, candidates=candidates)
    monkeypatch.setattr("landspeed.cli.bisect.release_range", lambda *_: releases)
    monkeypatch.setattr("landspeed.cli.bisect.commits_of_release", no_history)
    monkeypatch.setattr("landspeed.cli.bisect.bisect", lambda *_, **__: pytest.fail("it searched"))
    words = ["17.1", "18", "--over", "releases", "--deep"]
    result = CliRunner().invoke(bisect_, words)
    assert isinstance(result.exception, RefError)


def test_an_end_that_fails_is_named_and_keeps_its_own_hint(sources):
    commits = commit_range(sources, "master~4", "master")
    commits.require_inside(1, BuildError("it fails"), "cannot be built")
    for hint, shown in (("Install bison.", "Install bison."), ("", "Choose another end")):
        failed = BuildError("it fails", hint=hint)
        with pytest.raises(BuildError, match=r"BAD \(.*\) cannot be built") as caught:
            commits.require_inside(commits.last, failed, "cannot be built")
        assert caught.value.detail == "it fails"
        assert caught.value.hint.startswith(shown)


def test_variants_are_those_between_two_that_differ_in_one_size():
    def target(word: str) -> Target:
        return Target.parse(word, Variant())

    sizes = [t.variant.name for t in targets_between(target("18:bs2"), target("18:bs16"))]
    assert sizes == ["bs2", "bs4", "bs8", "bs16"]
    wal = [t.variant.name for t in targets_between(target("18:wal16"), target("18:bs8"))]
    assert wal == ["bs8", "bs8-wal16"]
    for good, bad in (("18:bs4", "18:bs4"), ("18:bs4", "18:bs8-wal16"), ("17:bs4", "18:bs8")):
        with pytest.raises(UsageError):
            targets_between(target(good), target(bad))
