"""A series of patches applied to a commit: whole, the same each time, and without side effects."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.errors import SourceError
from builders.source import Sources
from tests.kits.builds.sourcekit import GitUpstream, Harness, release

pytestmark = pytest.mark.slow

LINES = [f"line {number}\n" for number in range(1, 40)]


@pytest.fixture
def postgres(tmp_path: Path) -> GitUpstream:
    made = GitUpstream(tmp_path / "postgres")
    (made.directory / "scan.c").write_text("".join(LINES))
    made.commit("19devel", "first")
    made.git("config", "uploadpack.allowFilter", "true")
    made.git("config", "uploadpack.allowAnySHA1InWant", "true")
    return made


@pytest.fixture
def series(postgres: GitUpstream, tmp_path: Path) -> list[Path]:
    """Two patches as "git format-patch" writes them, of a branch that only their author has."""
    fork = GitUpstream(tmp_path / "fork")
    fork.git("fetch", "--quiet", str(postgres.directory), "master")
    fork.git("checkout", "--quiet", "-b", "mine", "FETCH_HEAD")
    for number in (5, 35):
        text = (fork.directory / "scan.c").read_text()
        (fork.directory / "scan.c").write_text(text.replace(f"line {number}\n", "slower\n"))
        fork.commit("19devel", f"change line {number}")
    fork.git("format-patch", "--quiet", "--cover-letter", "-2", "-o", str(tmp_path / "out"))
    return sorted((tmp_path / "out").glob("000[12]*"))


def sources_of(tmp_path: Path, upstream: str) -> Sources:
    harness = Harness(tmp_path)
    return harness.sources(release("17.0", "2024-09-26"), order=("git",), upstream=upstream)


@pytest.mark.parametrize("scheme", ["", "file://"], ids=["a clone here", "a partial clone"])
def test_a_series_makes_the_same_commit_each_time_and_no_branch(tmp_path, postgres, series, scheme):
    sources = sources_of(tmp_path, f"{scheme}{postgres.directory}")
    base = sources.resolve("master")
    found = sources.patched(base, series)
    assert found == sources.patched(base, series)
    sources.export(found, tmp_path / "tree")
    assert (tmp_path / "tree" / "scan.c").read_text().count("slower") == 2
    assert sources.resolve(str(found.origin.commit)) == found
    assert sources.is_of_strangers(found)
    assert not sources.is_listed(found)
    assert sources.is_listed(base)
    assert sources.branches() == {"master": base.origin.commit}
    assert not list(tmp_path.glob("**/*patches-*"))


def test_a_mailbox_is_a_series_and_mails_without_a_patch_are_passed_over(
    tmp_path, postgres, series
):
    letter = next((tmp_path / "out").glob("0000*"))
    mailbox = tmp_path / "thread.mbox"
    mailbox.write_text("".join(path.read_text() for path in (letter, *series)))
    sources = sources_of(tmp_path, str(postgres.directory))
    base = sources.resolve("master")
    assert sources.patched(base, [mailbox]) == sources.patched(base, series)
    with pytest.raises(SourceError, match="holds no patch"):
        sources.patched(base, [letter])


def test_a_patch_that_does_not_apply_is_one_error_with_its_name_the_file_and_the_hunk(
    tmp_path, postgres, series
):
    (postgres.directory / "scan.c").write_text("".join(LINES).replace("line 34\n", "another\n"))
    postgres.commit("19devel", "first")  # what it writes to its note does not change
    sources = sources_of(tmp_path, str(postgres.directory))
    with pytest.raises(SourceError, match=r"0002-change-line-35\.patch\" does not apply") as caught:
        sources.patched(sources.resolve("master"), series)
    assert caught.value.detail.startswith("change line 35\n")
    assert "scan.c, the hunk at line 32:\n@@ -32,7 +32,7 @@" in caught.value.detail
    assert "-line 35\n+slower" in caught.value.detail
    assert not list(tmp_path.glob("**/*patches-*"))


def test_what_is_no_mail_is_refused_with_what_would_be_one(tmp_path, postgres, series):
    plain = tmp_path / "plain.diff"
    plain.write_text("hello\n")
    sources = sources_of(tmp_path, str(postgres.directory))
    with pytest.raises(SourceError, match="is not a patch") as caught:
        sources.patched(sources.resolve("master"), [plain])
    assert "git format-patch" in caught.value.hint


def test_a_patch_cannot_write_outside_of_its_tree_or_start_a_program(tmp_path, postgres, series):
    aim = tmp_path / "aim"
    for path in (".git/hooks/post-applypatch", "../aim", str(aim)):
        hostile = tmp_path / "hostile.patch"
        hostile.write_text(
            "From: a <a@example.org>\nDate: Thu, 1 Jan 2026 00:00:00 +0000\nSubject: hi\n\n---\n"
            f"diff --git a/{path} b/{path}\nnew file mode 100755\nindex 000..111\n"
            f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+#!/bin/sh\n-- \n2.39\n"
        )
        sources = sources_of(tmp_path, str(postgres.directory))
        with pytest.raises(SourceError):
            sources.patched(sources.resolve("master"), [hostile])
    assert not aim.exists()
