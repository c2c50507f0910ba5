"""A clone on this machine as the upstream: which ones can be borrowed from, and ones that move."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from base.errors import SourceError, StorageError, UsageError
from builders.source import Sources
from tests.kits.builds.sourcekit import GitUpstream, Harness, release

pytestmark = pytest.mark.slow


@pytest.fixture
def postgres(tmp_path: Path) -> GitUpstream:
    """master at 18devel, after 17.1 with its tag."""
    made = GitUpstream(tmp_path / "postgres")
    made.commit("17.1", "Stamp 17.1.")
    made.git("tag", "REL_17_1")
    made.commit("18devel", "second")
    return made


def sources_of(harness: Harness, location: str) -> Sources:
    return harness.sources(release("17.1", "2024-11-14"), order=("git",), upstream=location)


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


@pytest.fixture
def sources(harness: Harness, postgres: GitUpstream) -> Sources:
    return sources_of(harness, str(postgres.directory))


def test_a_shallow_clone_is_refused_with_what_completes_it(postgres, tmp_path):
    origin = f"file://{postgres.directory}"
    postgres.git("clone", "--quiet", "--depth=1", origin, str(tmp_path / "shallow"))
    with pytest.raises(UsageError, match="shallow clone") as caught:
        sources_of(Harness(tmp_path), str(tmp_path / "shallow")).resolve("master")
    assert "git fetch --unshallow" in caught.value.hint


def test_a_partial_clone_on_this_machine_is_refused_unless_its_branches_are_whole(
    postgres, tmp_path
):
    postgres.git("config", "uploadpack.allowFilter", "true")
    origin = f"file://{postgres.directory}"
    for name, more in (("lacking", "--bare"), ("whole", "--single-branch")):
        where = str(tmp_path / name)
        postgres.git("clone", "--quiet", "--filter=blob:none", more, "--no-tags", origin, where)
    with pytest.raises(UsageError, match="partial clone") as caught:
        sources_of(Harness(tmp_path), str(tmp_path / "lacking")).resolve("master")
    assert "without --filter" in caught.value.hint
    whole = sources_of(Harness(tmp_path), str(tmp_path / "whole"))
    assert str(whole.resolve("master").version) == "18devel"


def test_a_moved_clone_is_found_where_the_settings_say_it_is_now(
    sources, postgres, harness, tmp_path
):
    release = sources.resolve("17.1")
    commit = postgres.git("rev-parse", "master")
    shutil.move(postgres.directory, tmp_path / "moved")
    assert sources.resolve("17.1").origin.tree == release.origin.tree
    with pytest.raises(SourceError) as caught:
        sources.files(release)
    assert "Put the clone back" in caught.value.hint
    moved = sources_of(harness, str(tmp_path / "moved"))
    assert moved.files(release) == ["configure", "note"]
    assert moved.resolve(commit[:9]).origin.commit == commit


def test_a_source_repository_that_is_none_is_one_clear_error(sources, harness):
    sources.resolve("master")
    (harness.paths.sources / "HEAD").unlink()
    with pytest.raises(StorageError, match="is no git repository"):
        sources.resolve("master")


@pytest.mark.parametrize("name", ["packed-refs", "refs/landspeed/heads/master"])
def test_a_lock_of_a_git_that_was_killed_is_named_and_then_removed(
    sources, postgres, harness, name
):
    sources.resolve("master")
    new = postgres.commit("18devel", "third")
    lock = harness.paths.sources / f"{name}.lock"
    lock.touch()
    git = sources._repository.git
    with pytest.raises(SourceError) as caught:
        git.run("update-ref", "-d", "refs/landspeed/heads/master")
    assert str(lock) in caught.value.detail
    assert "10 minutes" in caught.value.hint
    os.utime(lock, (0, 0))
    sources.refresh()
    assert sources.resolve("master").origin.commit == new
