"""Tarballs become trees, trees become directories, and not a byte changes on the way."""

from __future__ import annotations

import contextlib
import datetime
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from base.errors import SourceError, StorageError
from base.version import Version
from builders.source.repository import Repository
from tests.kits.builds.sourcekit import make_tarball, tree_of
from tests.kits.servers.cluster_kit import wait_for

V17 = Version.parse("17.1")
DAY = datetime.date(2024, 11, 14)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(directory=tmp_path / "sources.git")
    made.ensure()
    return made


def contents(directory: Path) -> dict[str, tuple[bytes, bool]]:
    """path → (content, executable) of what is in *directory*, links as their target."""
    found = {}
    for path in directory.rglob("*"):
        name = path.relative_to(directory).as_posix()
        if path.is_symlink():
            found[name] = (bytes(path.readlink()), False)
        elif path.is_file():
            found[name] = (path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return found


def test_a_tarball_comes_out_as_it_went_in(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text("[core]\n\tautocrlf = true\n\tattributesFile = /etc/passwd\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    archive = make_tarball(tmp_path, "17.1")
    kept = repository.import_tarball(V17, archive, day=DAY, origin="a test")
    repository.export(kept.tree, tmp_path / "out", seconds=86400)
    expected = {name: (data, mode == 0o755) for name, (data, mode) in tree_of("17.1").items()}
    expected["src/link.c"] = (b"main.c", False)
    expected["src/hard.c"] = expected["src/main.c"]
    assert contents(tmp_path / "out") == expected


def test_all_of_an_export_is_of_one_age(repository: Repository, tmp_path: Path) -> None:
    kept = repository.import_tarball(V17, make_tarball(tmp_path, "17.1"), day=DAY, origin="x")
    repository.export(kept.tree, tmp_path / "out", seconds=1_234_567_890)
    everything = [tmp_path / "out", *(tmp_path / "out").rglob("*")]
    assert {path.lstat().st_mtime for path in everything} == {1_234_567_890}


def test_a_tree_does_not_depend_on_when_or_where_it_was_imported(
    repository: Repository, tmp_path: Path
) -> None:
    other = Repository(directory=tmp_path / "other.git")
    other.ensure()
    (tmp_path / "later").mkdir()
    first = make_tarball(tmp_path, "17.1", mtime=1_600_000_000)
    second = make_tarball(tmp_path / "later", "17.1", mtime=1_700_000_000)
    one = repository.import_tarball(V17, first, day=DAY, origin="here")
    two = other.import_tarball(V17, second, day=DAY, origin="there")
    assert one.tree == two.tree
    assert repository.trees() == {V17: one}
    assert (one.date, one.origin) == (DAY, "here")


def test_git_finds_nothing_wrong(repository: Repository, tmp_path: Path) -> None:
    repository.import_tarball(V17, make_tarball(tmp_path, "17.1"), day=DAY, origin="x")
    assert "error" not in repository.git.text("fsck", "--full", "--strict", "--no-dangling")
    assert repository.git.text("rev-list", "--all") == ""


def test_a_day_nobody_knows_is_that_of_the_newest_file(
    repository: Repository, tmp_path: Path
) -> None:
    archive = make_tarball(tmp_path, "17.1", mtime=1_700_000_000)
    kept = repository.import_tarball(V17, archive, day=None, origin="x")
    assert kept.date == datetime.date(2023, 11, 14)


def test_the_release_notes_know_the_day_better(repository: Repository, tmp_path: Path) -> None:
    root = tmp_path / "postgresql-17.1"
    notes = root / "doc/src/sgml/release-17.sgml"
    notes.parent.mkdir(parents=True)
    (root / "configure").write_text("PACKAGE_VERSION='17.1'\n")
    entry = "<title>Release {}</title>\n<formalpara>\n<title>Release date:</title>\n<para>{}</para>"
    notes.write_text(entry.format("17.1", "2024-11-14") + entry.format("17", "2024-09-26"))
    archive = tmp_path / "notes.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(root, arcname=root.name)
    assert repository.import_tarball(V17, archive, day=None, origin="x").date == DAY


def test_a_truncated_tarball_leaves_nothing(repository: Repository, tmp_path: Path) -> None:
    archive = make_tarball(tmp_path, "17.1")
    archive.write_bytes(archive.read_bytes()[:-200])
    with pytest.raises(SourceError, match="not a whole tarball"):
        repository.import_tarball(V17, archive, day=DAY, origin="x")
    assert repository.trees() == {}
    assert repository.git.text("for-each-ref") == ""


def test_a_tarball_of_another_version_is_refused(repository: Repository, tmp_path: Path) -> None:
    archive = make_tarball(tmp_path, "17.2")
    with pytest.raises(SourceError, match=r"is not PostgreSQL 17\.1") as caught:
        repository.import_tarball(V17, archive, day=DAY, origin="x")
    assert "17.2" in caught.value.detail
    assert repository.trees() == {}


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/evil", "p/../../evil", "p/.git/config", "p/new\nline", "other/x"]
)
def test_a_path_that_leads_elsewhere_is_refused(
    repository: Repository, tmp_path: Path, name: str
) -> None:
    archive = tmp_path / "evil.tar"
    with tarfile.open(archive, "w") as tar:
        tar.addfile(tarfile.TarInfo("p/configure"))
        tar.addfile(tarfile.TarInfo(name))
    with pytest.raises(SourceError, match="not a whole tarball"):
        repository.import_tarball(V17, archive, day=DAY, origin="x")
    assert repository.trees() == {}


KILLED = """
import os, signal, sys
from pathlib import Path
from base.version import Version
import builders.source.repository as treeimport
from builders.source.repository import Repository

plain = treeimport._write_member
def dying(member, content, stream, seen):
    if seen.files == 3:
        stream.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    plain(member, content, stream, seen)
treeimport._write_member = dying
repository = Repository(directory=Path(sys.argv[1]))
repository.import_tarball(Version.parse("17.1"), Path(sys.argv[2]), day=None, origin="x")
"""


def _gits_on(directory: Path) -> list[str]:
    """The processes that were told of *directory*, this one apart, by id."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.fsencode(directory) in (process / "cmdline").read_bytes():
                found.append(process.name)
    return found


def test_an_import_that_was_killed_is_not_there_and_the_next_one_is_whole(
    repository: Repository, tmp_path: Path
) -> None:
    archive = make_tarball(tmp_path, "17.1")
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(repository.directory), str(archive)], check=False
    )
    assert done.returncode == -signal.SIGKILL
    # git outlives its parent for a moment, until it sees the end of its input: what it leaves
    # after the next import has swept would be the one after's to sweep
    wait_for(lambda: not _gits_on(repository.directory))
    assert repository.trees() == {}
    packs = repository.directory / "objects" / "pack"
    for leftover in packs.glob("tmp_*"):
        os.utime(leftover, (0, 0))
    (packs / "tmp_pack_of_another").touch()
    repository.sweep()
    kept = repository.import_tarball(V17, archive, day=DAY, origin="x")
    assert repository.trees() == {V17: kept}
    assert not list(repository.directory.glob("fast_import_crash_*"))
    assert [path.name for path in packs.glob("tmp_*")] == ["tmp_pack_of_another"]


def test_an_export_goes_into_an_empty_directory_only(
    repository: Repository, tmp_path: Path
) -> None:
    kept = repository.import_tarball(V17, make_tarball(tmp_path, "17.1"), day=DAY, origin="x")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "precious").touch()
    with pytest.raises(SourceError, match="not empty"):
        repository.export(kept.tree, tmp_path / "out", seconds=0)
    assert (tmp_path / "out" / "precious").exists()


def test_a_full_disk_is_called_by_its_name(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    git = programs / "git"
    git.write_text("#!/bin/sh\necho 'fatal: write error: No space left on device' >&2\nexit 128\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with pytest.raises(StorageError, match="could not write the source repository"):
        repository.import_tarball(V17, make_tarball(tmp_path, "17.1"), day=DAY, origin="x")


def test_without_git_the_error_says_so(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="git is not installed"):
        repository.trees()


def test_a_repository_is_made_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Repository(directory=tmp_path / "sources.git")

    def fails(self: Path, *_: object) -> int:
        raise OSError(28, "No space left on device", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fails)
        with pytest.raises(StorageError, match="could not write"):
            made.ensure()
    assert list(tmp_path.iterdir()) == []
    made.ensure()
    assert made.exists


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("configure", "VERSION='8.3.23'\n", "8.3.23"),
        ("configure", "#!\nPACKAGE_VERSION='9.6beta1'\n", "9.6beta1"),
        ("meson.build", "project('postgresql',\n  ['c'],\n  version: '18.6',\n)\n", "18.6"),
        ("configure", "PACKAGE_VERSION='of mine'\n", None),
        ("configure", f"PACKAGE_VERSION='{'1' * 21}'\n", None),
        ("meson.build", f"project('postgresql',\n  version: '{'1' * 21}',\n)\n", None),
        ("README", "PACKAGE_VERSION='17.1'\n", None),
    ],
)
def test_a_tree_says_its_version(
    repository: Repository, path: str, text: str, expected: str | None
) -> None:
    git = repository.git
    blob = git.text("hash-object", "-w", "--stdin", stdin=text)
    tree = git.text("mktree", stdin=f"100644 blob {blob}\t{path}\n")
    version = repository.version_of(tree)
    assert version == (Version.parse(expected) if expected else None)
