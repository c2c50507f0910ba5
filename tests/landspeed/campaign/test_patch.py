"""The sides of a patch's comparison, and where a patch of anybody is not measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.build import Variant
from base.errors import SourceError, UsageError
from landspeed.campaign.patch import Sides, patched, since_merge_base
from landspeed.cli.compare import compare_
from landspeed.session.session import Session
from landspeed.session.target import Target
from tests.kits.builds.sourcekit import GitUpstream, Harness


@pytest.fixture
def upstream(tmp_path: Path) -> GitUpstream:
    """master with three commits, and a branch with one that left it after the second."""
    made = GitUpstream(tmp_path / "postgres")
    made.commit("19devel", "first")
    made.commit("19devel", "second")
    made.git("checkout", "--quiet", "-b", "mine")
    made.commit("19devel", "my patch")
    made.git("format-patch", "--quiet", "-1", "-o", str(tmp_path))
    made.git("checkout", "--quiet", "master")
    made.commit("19devel", "third")
    return made


@pytest.fixture
def session(tmp_path: Path, upstream: GitUpstream, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("LANDSPEED_UPSTREAM", str(upstream.directory))
    monkeypatch.delenv("RUNNER_ENVIRONMENT", raising=False)
    return Session(paths=Harness(tmp_path).paths, only_counts=True)


def target(word: str) -> Target:
    return Target.parse(word, Variant())


def test_a_branch_is_compared_with_the_commit_at_which_it_left_the_other(session, upstream):
    base = upstream.git("rev-parse", "master~1")
    found = since_merge_base(session, target("master"), target("mine"))
    assert (found.before, found.after) == (target(base), target("mine"))
    assert found.patch.startswith(f"mine left master at {base[:10]} (2020-09-13, second)")
    based = since_merge_base(session, target("master~1"), target("mine"))
    assert based.before == target("master~1")
    assert "mine is based on" in based.patch


def test_an_older_commit_is_compared_as_it_is(session):
    sides = target("master"), target("master~2")
    found = since_merge_base(session, *sides)
    assert found == Sides(before=sides[0], after=sides[1])


def test_a_patch_is_a_commit_of_its_own_that_is_counted_and_nowhere_timed(
    session, tmp_path, monkeypatch
):
    (patch,) = tmp_path.glob("0001-*.patch")
    found = patched(session, target("master~1:bs4"), [patch])
    assert str(found.after.variant) == "bs4"
    assert f"{found.after.ref[:10]} is 0001-my-patch.patch on master~1" in found.patch
    session.named(found.after)

    with pytest.raises(UsageError, match="counted, never timed"):
        Session(paths=session.paths).named(found.after)
    monkeypatch.setenv("RUNNER_ENVIRONMENT", "self-hosted")
    with pytest.raises(UsageError, match="no self-hosted runner runs it"):
        session.named(found.after)
    session.named(target("mine"))


def test_a_patch_of_something_else_says_so(session, tmp_path):
    (patch,) = tmp_path.glob("0001-*.patch")
    with pytest.raises(SourceError, match="does not apply") as caught:
        patched(session, target("master"), [patch])
    assert "note, the hunk at line 1:" in caught.value.detail


@pytest.mark.parametrize(
    "words",
    [["master", "none.patch", "--patch", __file__], ["master", "--patch", "none.patch"]],
    ids=["a further word", "the option"],
)
def test_a_file_that_is_not_there_is_named(session, words, monkeypatch):
    monkeypatch.setenv("LANDSPEED_PROJECT", str(session.paths.project))
    with pytest.raises(UsageError, match=r"there is no file .none\.patch"):
        compare_.main([*words, "--suite", "small"], standalone_mode=False)
