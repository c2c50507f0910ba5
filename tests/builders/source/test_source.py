"""Sources as a whole: order, fallbacks, what is remembered, and the branch that asv draws."""

from __future__ import annotations

import logging
import multiprocessing
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from base.errors import RefError, SourceError, StorageError
from builders.catalog import Release
from builders.source import view
from builders.source.view import Entry, branch_dates
from tests.kits.builds.sourcekit import Harness, release


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path)


def test_a_major_is_its_newest_release(harness: Harness) -> None:
    old, new = harness.released("17.0", "2024-09-26"), harness.released("17.1", "2024-11-14")
    sources = harness.sources(old, new)
    found = sources.resolve("17")
    assert found.origin.release == "17.1"
    assert found.origin.date == "2024-11-14"
    assert found.version == new.version
    assert sources.resolve("17.0").origin.tree != found.origin.tree


def test_what_was_resolved_once_is_resolved_offline_to_the_same(harness: Harness) -> None:
    known = harness.released("17.1", "2024-11-14")
    found = harness.sources(known).resolve("17")
    for tarball in harness.pool.iterdir():
        tarball.unlink()
    assert harness.sources(known).resolve("17") == found
    assert harness.sources(known, order=()).resolve("17.1") == found


def test_an_export_is_dated_at_noon_of_the_release(harness: Harness, tmp_path: Path) -> None:
    sources = harness.sources(harness.released("17.1", "2024-11-14"))
    sources.export(sources.resolve("17"), tmp_path / "out")
    seconds = (tmp_path / "out" / "configure").stat().st_mtime
    assert datetime.fromtimestamp(seconds, UTC) == datetime(2024, 11, 14, 12, tzinfo=UTC)


def test_a_corrupt_tarball_is_refused_and_the_next_source_is_tried(harness: Harness) -> None:
    known = harness.released("17.1", "2024-11-14")
    tarball = next(harness.pool.iterdir())
    tarball.write_bytes(tarball.read_bytes()[:-1] + b"!")
    with pytest.raises(SourceError, match="cannot be reached") as caught:
        harness.sources(known, order=("tarball", "git")).resolve("17.1")
    lines = caught.value.detail.splitlines()
    assert lines[0].startswith("tarball: ")
    assert known.sha256 is not None
    assert known.sha256 in caught.value.detail
    assert lines[-1] == "git: no upstream is configured"
    assert not harness.sources(known).statuses()[0].is_here


def test_a_newer_release_that_cannot_be_had_gives_way_to_an_older_one(harness: Harness) -> None:
    old = harness.released("17.0", "2024-09-26")
    gone = release("17.1", "2024-11-14", "0" * 64)
    assert harness.sources(old, gone).resolve("17").origin.release == "17.0"


def test_what_failed_today_is_not_tried_again_unless_asked_for_by_name(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    old = harness.released("17.0", "2024-09-26")
    gone = release("17.1", "2024-11-14", "0" * 64)
    harness.sources(old, gone).resolve("17")
    caplog.clear()
    harness.sources(old, gone).resolve("17")
    assert caplog.messages == []
    with pytest.raises(SourceError):
        harness.sources(old, gone).resolve("17.1")
    back = harness.released("17.1", "2024-11-14")
    assert harness.sources(old, back).resolve("17").origin.release == "17.1"


def test_a_release_without_a_sha256_is_not_taken_by_tarball(harness: Harness) -> None:
    harness.released("17.1", "2024-11-14")
    sources = harness.sources(release("17.1", "2024-11-14"))
    for ref in ("17", "17.1"):
        with pytest.raises(SourceError) as caught:
            sources.resolve(ref)
        assert "tarball: the catalog has no sha256 for it" in caught.value.detail
    assert "sha256 in builders/releases.toml" in caught.value.hint


def test_no_configured_source_is_a_clear_error(harness: Harness) -> None:
    with pytest.raises(SourceError) as caught:
        harness.sources(release("17.1", "2024-11-14"), order=()).resolve("17")
    assert "No source is configured" in caught.value.detail


def test_an_unknown_version_names_what_is_nearby(harness: Harness) -> None:
    sources = harness.sources(release("16.0", "2023-09-14"), release("17.0", "2024-09-26"))
    for ref, nearby in (("17.9", "17.0"), ("42", "16.0, 17.0")):
        with pytest.raises(RefError, match=f"PostgreSQL {ref} is not known") as caught:
            sources.resolve(ref)
        assert nearby in caught.value.detail
        assert "landspeed list" in caught.value.hint
    with pytest.raises(RefError, match="too old"):
        sources.resolve("7.4")


def test_the_statuses_say_what_is_here_and_what_would_reach_the_rest(harness: Harness) -> None:
    here, there = harness.released("17.1", "2024-11-14"), release("18.0", "2025-09-25")
    sources = harness.sources(here, there, order=("git", "tarball"))
    sources.resolve("17")
    first, second = sources.statuses()
    assert first.is_here
    assert first.taken_from is not None
    assert str(here.sha256) in first.taken_from
    assert first.date == here.date
    assert not second.is_here
    assert not second.is_reachable
    assert second.reach == (
        "git: no upstream is configured",
        "tarball: the catalog has no sha256 for it",
    )


def test_an_empty_cache_is_not_touched_by_looking(harness: Harness) -> None:
    sources = harness.sources(release("17.1", "2024-11-14", "0" * 64))
    assert not sources.statuses()[0].is_here
    assert sources.release_at("0" * 40) is None
    assert not harness.paths.cache.exists()


def test_a_read_only_cache_is_one_clear_error(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(self: Path, *_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", str(self))

    sources = harness.sources(harness.released("17.1", "2024-11-14"))
    monkeypatch.setattr(Path, "mkdir", refuses)
    with pytest.raises(StorageError) as caught:
        sources.resolve("17")
    assert "LANDSPEED_CACHE" in caught.value.hint


def test_a_read_only_cache_still_serves_what_it_has(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object, **__: object) -> int:
        raise OSError(30, "Read-only file system", "the cache")

    known = harness.released("17.1", "2024-11-14")
    found = harness.sources(known).resolve("17")
    branch = harness.sources(known).releases_branch()
    monkeypatch.setattr(Path, "mkdir", refuses)
    monkeypatch.setattr("base.files._open_lock", refuses)
    monkeypatch.setattr("builders.source.view.write_atomic", refuses)
    assert harness.sources(known).resolve("17") == found
    assert harness.sources(known).releases_branch() == branch


def _resolve(root: Path, sha256: str, results: multiprocessing.Queue[str]) -> None:
    # the log of a forked process is its own
    heard: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = heard.append  # type: ignore[method-assign]
    logging.getLogger("builders").addHandler(handler)
    harness = Harness(root)
    found = harness.sources(release("17.1", "2024-11-14", sha256)).resolve("17")
    downloads = sum(record.getMessage().startswith("downloading") for record in heard)
    results.put(f"{found.origin.tree} {downloads}")


def test_two_landspeeds_fetch_once(harness: Harness) -> None:
    known = harness.released("17.1", "2024-11-14")
    context = multiprocessing.get_context("fork")
    results: multiprocessing.Queue[str] = context.Queue()
    both = [
        context.Process(target=_resolve, args=(harness.root, known.sha256, results))
        for _ in range(2)
    ]
    for process in both:
        process.start()
    answers = [results.get(timeout=60).split() for _ in both]
    for process in both:
        process.join()
    assert answers[0][0] == answers[1][0]
    assert sorted(count for _, count in answers) == ["0", "1"]


# -- the releases branch -----------------------------------------------------------------------


def git(harness: Harness, *arguments: str) -> str:
    argv = ["git", f"--git-dir={harness.paths.sources}", *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def three(harness: Harness) -> tuple[Release, ...]:
    return (
        release("16.0", "2023-09-14"),
        release("16.11", "2025-11-13"),
        harness.released("17.0", "2024-09-26"),
    )


def test_the_branch_has_one_commit_per_release_in_version_order(harness: Harness) -> None:
    sources = harness.sources(*three(harness))
    branch = sources.releases_branch()
    assert list(branch) == ["16.0", "16.11", "17.0"]
    subjects = git(harness, "log", "--reverse", "--format=%H %s", "releases").splitlines()
    assert subjects == [f"{commit} PostgreSQL {name}" for name, commit in branch.items()]
    # this is how asv numbers revisions
    numbered = git(harness, "rev-list", "--all", "--date-order", "--reverse").splitlines()
    assert numbered == list(branch.values())
    assert git(harness, "symbolic-ref", "HEAD") == "refs/heads/releases"
    for name, commit in branch.items():
        assert git(harness, "rev-parse", f"refs/tags/{name}") == commit
        assert sources.release_at(commit) == name
    assert "Released 2025-11-13." in git(harness, "log", "-1", "--format=%b", branch["16.11"])


def test_the_branchs_dates_ascend_and_every_major_keeps_its_day(harness: Harness) -> None:
    sources = harness.sources(*three(harness))
    branch = sources.releases_branch().values()
    dates = [sources.dates(branch)[commit] for commit in branch]
    assert dates == sorted(dates)
    assert dates[0] == datetime(2023, 9, 14, 12, tzinfo=UTC)
    assert dates[1] == datetime(2024, 9, 26, 11, 59, 59, tzinfo=UTC)
    assert dates[2] == datetime(2024, 9, 26, 12, tzinfo=UTC)
    assert branch_dates([]) == []


def test_a_commit_has_the_tree_where_it_is_here_and_a_note_where_not(harness: Harness) -> None:
    sources = harness.sources(*three(harness))
    before = sources.releases_branch()
    assert git(harness, "ls-tree", "--name-only", before["17.0"]) == "SOURCE-NOT-HERE"
    found = sources.resolve("17.0")
    after = sources.releases_branch()
    assert git(harness, "rev-parse", f"{after['17.0']}^{{tree}}") == found.origin.tree
    assert after["16.11"] == before["16.11"]
    assert after["17.0"] != before["17.0"]
    # who still holds the old hash is understood
    assert sources.release_at(before["17.0"]) == sources.release_at(after["17.0"]) == "17.0"
    assert sources.resolve(before["17.0"]) == sources.resolve(after["17.0"]) == found


def test_the_branch_is_rebuilt_only_when_its_inputs_changed(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = three(harness)
    branch = harness.sources(*known).releases_branch()

    def never(*_: object) -> None:
        pytest.fail("it was rebuilt")

    with monkeypatch.context() as patch:
        patch.setattr(view.View, "rebuild", never)
        assert harness.sources(*known).releases_branch() == branch
    fewer = harness.sources(known[0], known[2]).releases_branch()
    assert list(fewer) == ["16.0", "17.0"]
    assert git(harness, "tag").splitlines() == ["16.0", "17.0"]
    assert harness.sources(*known).releases_branch() == branch


def test_a_branch_somebody_moved_is_rebuilt(harness: Harness) -> None:
    sources = harness.sources(*three(harness))
    branch = sources.releases_branch()
    git(harness, "update-ref", "refs/heads/releases", branch["16.0"])
    assert sources.releases_branch() == branch
    assert git(harness, "rev-parse", "releases") == branch["17.0"]


def test_the_branch_is_the_same_wherever_the_same_is_here(tmp_path: Path, harness: Harness) -> None:
    (tmp_path / "other").mkdir()
    other = Harness(tmp_path / "other")
    assert (
        harness.sources(*three(harness)).releases_branch()
        == other.sources(*three(other)).releases_branch()
    )


def test_asv_can_clone_and_read_it(harness: Harness, tmp_path: Path) -> None:
    sources = harness.sources(*three(harness))
    sources.resolve("17")
    sources.releases_branch()
    argv = ["git", "clone", "--quiet", "--shared", str(harness.paths.sources), str(tmp_path / "c")]
    subprocess.run(argv, check=True, capture_output=True)
    assert (tmp_path / "c" / "configure").read_text().endswith("PACKAGE_VERSION='17.0'\n")


def test_a_hash_that_is_no_release_is_none(harness: Harness) -> None:
    sources = harness.sources(*three(harness))
    sources.releases_branch()
    assert sources.release_at("0" * 40) is None
    assert sources.release_at("--all") is None
    with pytest.raises(RefError):
        sources.dates(["0" * 40])


def test_many_minors_of_an_old_major_stay_in_order() -> None:
    late = datetime(2030, 1, 1, tzinfo=UTC).date()
    early = datetime(2020, 1, 1, tzinfo=UTC).date()
    entries = [Entry(name=str(n), date=late, tree=None) for n in range(5)]
    dates = branch_dates([*entries, Entry(name="new", date=early, tree=None)])
    assert dates == sorted(set(dates))
    assert dates[-1].date() == early
