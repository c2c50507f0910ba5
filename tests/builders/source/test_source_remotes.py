"""Branches of other repositories: only of those that are listed, whole even in a partial clone."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.errors import RefError, SourceError
from builders.source import Sources
from builders.source.git import Git
from tests.kits.builds.sourcekit import GitUpstream, Harness, release


@pytest.fixture
def postgres(tmp_path: Path) -> GitUpstream:
    made = GitUpstream(tmp_path / "postgres")
    made.commit("19devel", "first")
    made.git("config", "uploadpack.allowFilter", "true")
    made.git("config", "uploadpack.allowAnySHA1InWant", "true")
    return made


@pytest.fixture
def fork(postgres: GitUpstream, tmp_path: Path) -> GitUpstream:
    """A clone with a branch of its own, which changes a file that upstream has, too."""
    made = GitUpstream(tmp_path / "fork")
    made.git("fetch", "--quiet", str(postgres.directory), "master")
    made.git("checkout", "--quiet", "-b", "fast/path", "FETCH_HEAD")
    made.commit("19devel", "a patch of mine")
    return made


def sources_of(tmp_path: Path, upstream: str, **remotes: str) -> Sources:
    made = Harness(tmp_path).sources(
        release("17.0", "2024-09-26"), order=("git",), upstream=upstream
    )
    return Sources(
        paths=made.paths,
        catalog=made.catalog,
        config=made.config.model_copy(update={"remotes": remotes}),
    )


@pytest.mark.parametrize("scheme", ["", "file://"], ids=["a clone here", "a partial clone"])
def test_a_branch_of_a_listed_remote_is_resolved_and_exported_whole(
    tmp_path, postgres, fork, scheme
):
    upstream = f"{scheme}{postgres.directory}"
    sources = sources_of(tmp_path, upstream, hacker=str(fork.directory))
    source = sources.resolve("hacker/fast/path")
    assert source.origin.commit == fork.git("rev-parse", "HEAD")
    sources.export(source, tmp_path / "tree")
    assert (tmp_path / "tree" / "note").read_text() == "a patch of mine"
    before = sources.resolve("hacker/fast/path~1")
    assert before.origin.commit == postgres.git("rev-parse", "master")
    assert sources.is_of_strangers(source)
    assert not sources.is_of_strangers(before)


def test_a_branch_that_moved_is_asked_for_again(tmp_path, postgres, fork):
    sources = sources_of(tmp_path, str(postgres.directory), hacker=str(fork.directory))
    sources.resolve("hacker/fast/path")
    tip = fork.commit("19devel", "second thoughts")
    assert sources.resolve("hacker/fast/path").origin.commit == tip


def test_a_remote_may_be_another_users_clone(tmp_path, postgres, fork, monkeypatch):
    tip = fork.git("rev-parse", "HEAD")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    sources = sources_of(tmp_path, str(postgres.directory), hacker=str(fork.directory))
    assert sources.resolve("hacker/fast/path").origin.commit == tip


def test_what_is_not_listed_is_not_fetched_and_the_error_names_what_is(tmp_path, postgres, fork):
    sources = sources_of(tmp_path, str(postgres.directory), hacker=str(fork.directory))
    with pytest.raises(RefError) as caught:
        sources.resolve("other/fast/path")
    assert f"Remote, as hacker/BRANCH: {fork.directory}" in caught.value.detail
    with pytest.raises(RefError):
        sources.resolve("hacker/slow/path")
    # a remote's branches are not upstream's
    with pytest.raises(RefError):
        sources.resolve("fast/path")


def test_a_remote_that_does_not_answer_is_one_clear_error(tmp_path, postgres):
    sources = sources_of(tmp_path, str(postgres.directory), gone=str(tmp_path / "nowhere"))
    with pytest.raises(SourceError, match='remote "gone"') as caught:
        sources.resolve("gone/master")
    assert "LANDSPEED_REMOTES" in caught.value.hint


def test_a_patch_of_the_commitfest_is_fetched_by_its_number_alone_and_is_never_listed(
    tmp_path, postgres, fork
):
    fork.git("branch", "cf/5000")
    fork.git("branch", "cf/5001")
    made = sources_of(tmp_path, str(postgres.directory), hacker=str(fork.directory))
    config = made.config.model_copy(update={"remotes": {}, "cfbot": str(fork.directory)})
    sources = Sources(paths=made.paths, catalog=made.catalog, config=config)
    source = sources.resolve("cf/5000")
    assert source.origin.commit == fork.git("rev-parse", "cf/5000")
    assert sources.is_of_strangers(source)
    assert not sources.is_listed(source)
    assert sources.is_listed(sources.resolve("cf/5000~1"))
    assert "cf/5001" not in Git(directory=made.paths.sources).text("for-each-ref")
    # what the branch was is as little trusted as what it is
    fork.git("branch", "--force", "cf/5000", fork.commit("19devel", "second version"))
    assert sources.resolve("cf/5000").origin.commit != source.origin.commit
    assert not sources.is_listed(sources.resolve(str(source.origin.commit)))
    # as after a kill between the fetch and the note of what it brought
    git = Git(directory=made.paths.sources)
    tip = git.text("rev-parse", "refs/landspeed/remotes/cf/5000")
    git.run("update-ref", "-d", f"refs/landspeed/unlisted/{tip}")
    assert not sources.is_listed(sources.resolve(tip))
    # a listed remote that has the same commit vouches for it
    assert made.is_listed(made.resolve("hacker/fast/path"))
    with pytest.raises(SourceError, match='remote "cf"'):
        sources.resolve("cf/9999")
