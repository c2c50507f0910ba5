"""The git upstream: borrowed or cloned, followed when rewritten, never guessed at."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from base.errors import RefError, SourceError
from builders.source import Sources, upstream
from builders.source.git import Git
from tests.kits.builds.sourcekit import GitUpstream, Harness, release

pytestmark = pytest.mark.slow


@pytest.fixture
def postgres(tmp_path: Path) -> GitUpstream:
    """master at 18devel, REL_17_STABLE two commits after 17.0, with tags."""
    made = GitUpstream(tmp_path / "postgres")
    made.commit("8.2.0", "ancient")
    made.commit("17devel", "first")
    made.git("branch", "REL_17_STABLE")
    made.commit("18devel", "second")
    made.commit("18devel", "third")
    made.git("checkout", "--quiet", "REL_17_STABLE")
    made.commit("17.0", "Stamp 17.0.", when=1_727_000_000)
    made.git("tag", "-a", "-m", "17.0", "REL_17_0")
    made.commit("17.1", "Stamp 17.1.", when=1_731_000_000)
    made.git("tag", "REL_17_1")
    made.commit("17.1", "after 17.1")
    made.git("checkout", "--quiet", "master")
    return made


@pytest.fixture(autouse=True)
def always_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask upstream again every time, as if ten minutes had passed."""
    monkeypatch.setattr("builders.source.sources.MINUTES", -1)


def sources_of(harness: Harness, location: str) -> Sources:
    return harness.sources(
        release("17.0", "2024-09-26"), order=("git", "tarball"), upstream=location
    )


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


@pytest.fixture
def sources(harness: Harness, postgres: GitUpstream) -> Sources:
    return sources_of(harness, str(postgres.directory))


def test_branches_commits_and_abbreviations_resolve(
    sources: Sources, postgres: GitUpstream
) -> None:
    tip = postgres.git("rev-parse", "master")
    before = postgres.git("rev-parse", "master~1")
    for ref in ("master", tip, tip[:8], f"{tip[:12]}~0"):
        found = sources.resolve(ref)
        assert found.origin.commit == tip, ref
        assert str(found.version) == "18devel"
        assert found.origin.release is None
    assert sources.resolve("master~1").origin.commit == before
    assert sources.resolve("REL_17_STABLE").origin.tree == postgres.git(
        "rev-parse", "REL_17_STABLE^{tree}"
    )


def test_a_commit_that_is_here_takes_four_processes_of_git(
    sources: Sources, postgres: GitUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a search resolves each of its commits many times
    tip = postgres.git("rev-parse", "master")
    sources.resolve(tip)
    started: list[str] = []
    plain = Git._done
    monkeypatch.setattr(
        Git,
        "_done",
        lambda git, asked, **more: started.append(asked[0]) or plain(git, asked, **more),
    )
    assert sources.resolve(tip).origin.commit == tip
    assert len(started) <= 4, started


def test_a_release_is_its_tag(sources: Sources, postgres: GitUpstream) -> None:
    for ref, name in (("17", "17.1"), ("17.0", "17.0"), ("REL_17_0", "17.0")):
        found = sources.resolve(ref)
        assert found.origin.release == name
        assert found.origin.commit == postgres.git("rev-parse", f"REL_{name.replace('.', '_')}^0")
    assert sources.resolve("17.0").origin.date == "2024-09-26"
    assert sources.resolve("17.1").origin.date == "2024-11-07"


def test_a_trees_first_source_stays(harness: Harness, postgres: GitUpstream) -> None:
    by_tarball = harness.sources(harness.released("17.1", "2024-11-14")).resolve("17.1")
    by_both = sources_of(harness, str(postgres.directory)).resolve("17.1")
    assert by_both.origin.tree == by_tarball.origin.tree
    assert by_both.origin.commit is None


def test_a_local_clone_is_borrowed_from(
    sources: Sources, harness: Harness, postgres: GitUpstream
) -> None:
    found = sources.resolve("master")
    objects = harness.paths.sources / "objects"
    lender = (objects / "info" / "alternates").read_text().strip()
    assert lender == str(postgres.directory / ".git" / "objects")
    commit = found.origin.commit or ""
    assert not (objects / commit[:2] / commit[2:]).exists()
    assert not list(objects.glob("pack/*.pack"))


def test_a_clone_of_another_user_is_borrowed_from(
    sources: Sources, postgres: GitUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    tip = postgres.git("rev-parse", "master")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert sources.resolve("master").origin.commit == tip


def test_a_clones_tracked_branches_go_before_its_own(
    harness: Harness, postgres: GitUpstream, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    postgres.git("clone", "--quiet", str(postgres.directory), str(clone))
    newest = postgres.commit("18devel", "fourth")
    postgres.git("-C", str(clone), "fetch", "--quiet")
    found = sources_of(harness, str(clone))
    assert found.resolve("master").origin.commit == newest
    assert found.resolve("REL_17_STABLE").version.major == (17,)


def test_a_url_is_cloned_without_contents_where_the_server_allows(
    harness: Harness, postgres: GitUpstream, tmp_path: Path
) -> None:
    postgres.git("config", "uploadpack.allowFilter", "true")
    postgres.git("config", "uploadpack.allowAnySHA1InWant", "true")
    sources = sources_of(harness, postgres.directory.as_uri())
    found = sources.resolve("master")
    git = sources._repository.git
    listed = git.text("rev-list", "--objects", "--missing=print", "refs/heads/master~2")
    assert "?" in listed
    sources.export(found, tmp_path / "out")
    assert (tmp_path / "out" / "note").read_text() == "third"


def test_a_url_whose_server_does_not_filter_works_too(
    harness: Harness, postgres: GitUpstream, tmp_path: Path
) -> None:
    sources = sources_of(harness, postgres.directory.as_uri())
    sources.export(sources.resolve("master"), tmp_path / "out")
    assert (tmp_path / "out" / "note").read_text() == "third"


def test_a_rewritten_branch_is_followed_and_its_old_commits_stay(
    sources: Sources,
    postgres: GitUpstream,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    old = sources.resolve("master")
    postgres.git("reset", "--quiet", "--hard", "HEAD~1")
    new = postgres.commit("18devel", "third, better")
    assert sources.resolve("master").origin.commit == new
    assert any("master was rewritten upstream" in line for line in caplog.messages)
    postgres.git("reflog", "expire", "--expire=now", "--all")
    postgres.git("gc", "--quiet", "--prune=now")
    assert sources.resolve(old.origin.commit or "") == old
    sources.export(old, tmp_path / "out")
    assert (tmp_path / "out" / "note").read_text() == "third"


def test_a_fetch_that_fails_in_part_keeps_the_old_commits_of_what_it_rewrote(
    sources: Sources, postgres: GitUpstream
) -> None:
    old = sources.resolve("master").origin.commit
    heads = sources._repository.directory / "refs/landspeed/heads"
    for branch in ("REL_17_STABLE", "master"):
        postgres.git("checkout", "--quiet", branch)
        postgres.git("reset", "--quiet", "--hard", "HEAD~1")
        new = postgres.commit("18devel", f"{branch}, better")
    (heads / "REL_17_STABLE.lock").touch()
    with pytest.raises(SourceError, match="could not be fetched"):
        sources.refresh()
    git = sources._repository.git
    assert git.text("rev-parse", f"{upstream.HEADS}/master") == new
    assert git.text("for-each-ref", "--format=%(objectname)", upstream.KEPT) == old


def test_a_clone_that_was_rewritten_and_cleaned_in_between_is_fetched_again(
    sources: Sources, postgres: GitUpstream
) -> None:
    sources.resolve("master")
    postgres.git("reset", "--quiet", "--hard", "HEAD~1")
    postgres.git("tag", "--delete", "REL_17_1")
    postgres.git("reflog", "expire", "--expire=now", "--all")
    postgres.git("gc", "--quiet", "--prune=now")
    new = postgres.commit("18devel", "third, better")
    assert sources.resolve("master").origin.commit == new


def test_a_branch_upstream_no_longer_has_may_make_room_for_others(
    sources: Sources, postgres: GitUpstream
) -> None:
    postgres.git("branch", "wip", "master~1")
    assert sources.resolve("wip").origin.commit == postgres.git("rev-parse", "wip")
    postgres.git("branch", "-D", "wip")
    postgres.git("branch", "wip/two", "master")
    assert sources.resolve("wip/two").origin.commit == postgres.git("rev-parse", "master")


def test_an_ambiguous_abbreviation_names_the_commits(
    sources: Sources, postgres: GitUpstream
) -> None:
    sources.resolve("master")
    git = sources._repository.git
    tree = git.text("rev-parse", "refs/heads/master^{tree}")
    seen: dict[str, str] = {}
    for number in range(5000):
        text = f"tree {tree}\nauthor A <a@b> {number} +0000\ncommitter A <a@b> 0 +0000\n\n.\n"
        begin = hashlib.sha1(f"commit {len(text)}\0{text}".encode()).hexdigest()[:4]
        if begin in seen:
            break
        seen[begin] = text
    *_, made = (
        git.text("hash-object", "-t", "commit", "-w", "--stdin", stdin=one)
        for one in (seen[begin], text)
    )
    with pytest.raises(RefError, match="ambiguous") as caught:
        sources.resolve(made[:4])
    assert "2 commits begin with it" in caught.value.detail
    assert sources.resolve(made).origin.commit == made


def test_a_commit_before_8_3_is_refused(sources: Sources) -> None:
    with pytest.raises(RefError, match="too old") as caught:
        sources.resolve("master~3")
    assert "8.2.0" in caught.value.message


def test_a_commit_that_is_not_postgresql_is_refused(
    sources: Sources, postgres: GitUpstream
) -> None:
    (postgres.directory / "configure").write_text("VERSION='something else'\n")
    postgres.git("commit", "--quiet", "--all", "-m", "no more")
    with pytest.raises(RefError, match="is not PostgreSQL"):
        sources.resolve("master")


def test_a_beta_that_only_upstream_tagged_is_known_at_the_first_glance(
    sources: Sources, postgres: GitUpstream
) -> None:
    postgres.git("tag", "REL_18_BETA1", "master~1")
    version, _ = sources.look_up("REL_18_BETA1")
    assert str(version) == "18beta1"


@pytest.mark.parametrize("ref", ["no-such-branch", "deadbeef", "master~99", "REL_17_9_STABLE"])
def test_what_upstream_has_not_is_a_clear_error(sources: Sources, ref: str) -> None:
    with pytest.raises(RefError, match="the git upstream has no"):
        sources.resolve(ref)


def test_without_an_upstream_a_branch_is_unknown_and_the_hint_says_how(harness: Harness) -> None:
    sources = harness.sources(release("17.0", "2024-09-26"), order=("git", "tarball"))
    with pytest.raises(RefError, match='"master" is not known') as caught:
        sources.resolve("master")
    assert "landspeed.toml" in caught.value.hint


def test_an_upstream_that_cannot_be_reached_is_no_obstacle_to_what_is_known(
    sources: Sources, postgres: GitUpstream, caplog: pytest.LogCaptureFixture
) -> None:
    found = sources.resolve("master")
    (postgres.directory / ".git" / "HEAD").write_text("nonsense")
    assert sources.resolve("master") == found
    assert any("could not be fetched" in line for line in caplog.messages)


def test_a_clone_that_was_moved_away_is_named(
    sources: Sources, postgres: GitUpstream, harness: Harness, tmp_path: Path
) -> None:
    sources.resolve("master")
    shutil.move(postgres.directory, tmp_path / "moved")
    with pytest.raises(SourceError, match="borrows from is gone"):
        sources.resolve("master")
    assert sources.statuses()
    moved = sources_of(harness, str(tmp_path / "moved"))
    assert str(moved.resolve("master").version) == "18devel"


def test_the_releases_branch_is_upstreams_to_have_but_ours_to_show(
    sources: Sources, postgres: GitUpstream
) -> None:
    postgres.git("branch", "releases")
    sources.resolve("master")
    branch = sources.releases_branch()
    assert list(branch) == ["17.0", "17.1"]
    git = sources._repository.git
    assert git.text("rev-parse", "refs/heads/releases") == branch["17.1"]
    assert sorted(git.text("tag").splitlines()) == ["17.0", "17.1"]
    tree = git.text("rev-parse", f"{branch['17.1']}^{{tree}}")
    assert tree == postgres.git("rev-parse", "REL_17_1^{tree}")


def test_upstream_is_not_asked_again_within_minutes(
    sources: Sources, postgres: GitUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builders.source.sources.MINUTES", upstream.MINUTES)
    found = sources.resolve("master")
    postgres.commit("18devel", "fourth")
    assert sources.resolve("master") == found


def test_a_branch_that_was_pushed_since_the_last_fetch_is_found(
    sources: Sources, postgres: GitUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builders.source.sources.MINUTES", upstream.MINUTES)
    sources.resolve("master")
    postgres.git("branch", "newbranch")
    assert sources.resolve("newbranch").origin.commit == postgres.git("rev-parse", "newbranch")


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"x %s", b"nan %s"])
def test_a_damaged_note_of_the_last_fetch_means_that_there_was_none(
    sources, postgres, harness, damage
):
    sources.resolve("master")
    stamp = harness.paths.cache / "upstream.stamp"
    stamp.write_bytes(damage.replace(b"%s", str(postgres.directory).encode()))
    new = postgres.commit("18devel", "fourth")
    assert sources.resolve("master").origin.commit == new


def test_a_branch_that_is_shown_makes_room_for_others_when_upstream_removed_it(sources, postgres):
    first = postgres.git("rev-parse", "master")
    postgres.git("branch", "wip")
    sources.resolve("master")
    sources.branches_of([first], ["wip*"])
    postgres.git("branch", "-D", "wip")
    postgres.git("branch", "wip/two")
    postgres.git("checkout", "--quiet", "wip/two")
    second = postgres.commit("18devel", "fourth")
    sources.refresh()
    assert sources.branches_of([first, second], ["wip*"]) == {first: "master", second: "wip/two"}


def test_a_commit_whose_date_nobody_understands_is_one_clear_error(sources, postgres):
    day = "@253402300800 +0000"
    (postgres.directory / "note").write_text("later")
    postgres.git("commit", "-qam", "in the year 10000", GIT_COMMITTER_DATE=day)
    with pytest.raises(RefError, match="no date that is understood"):
        sources.resolve("master")


@pytest.mark.parametrize("way", ["to a file", "to a directory"])
def test_a_tree_follows_a_directory_that_becomes_a_file_and_back(sources, postgres, tmp_path, way):
    place = postgres.directory / "doc"
    place.mkdir()
    (place / "readme").write_text("")
    trees = [postgres.commit("18devel", "a directory")]
    shutil.rmtree(place)
    place.write_text("")
    trees.append(postgres.commit("18devel", "a file"))
    old, new = map(sources.resolve, trees if way == "to a file" else trees[::-1])
    sources.export(old, tmp_path / "tree")
    changes = sources.changes(old.origin.tree, new)
    sources.update(changes, tmp_path / "tree", time_ns=1)
    assert (tmp_path / "tree/doc").is_file() is (way == "to a file")
    assert (tmp_path / "tree/doc/readme").is_file() is (way == "to a directory")
