"""Builds as archives: what one job builds, another has, unless a byte of it is not what it was."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from click.testing import CliRunner

from base.build import Build
from base.errors import UsageError
from base.files import digest_tree
from builders.store import Store
from landspeed.cli.main import cli
from landspeed.farm.build_archive import register_archive, write_archive
from tests.kits.builds.buildkit import a_build
from tests.kits.farm.farm_kit import Farm
from tests.kits.farm.track_world import pretended_farm

pytestmark = pytest.mark.slow

__all__ = ["pretended_farm"]  # fixture


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A Build in a store: a program, a library that is a link, a file with two names deep down."""
    installed = tmp_path / "stage"
    for name in ("bin/postgres", "lib/libpq.so.5.18", "share/timezone/Europe/Vienna"):
        (installed / name).parent.mkdir(parents=True, exist_ok=True)
        (installed / name).write_text(name)
    (installed / "bin/postgres").chmod(0o755)
    zones = installed / "share/timezone"
    (zones / "Vienna").hardlink_to(zones / "Europe/Vienna")  # as zic does
    (installed / "lib/libpq.so.5").symlink_to("libpq.so.5.18")
    made = replace(a_build("13.16-bs8-0123456789ab"), digest=digest_tree(installed))
    return Store(root=tmp_path / "there", limit=10**9).put(installed, made)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(root=tmp_path / "here", limit=10**9)


@pytest.fixture
def archive(build: Build, tmp_path: Path) -> Path:
    file = tmp_path / "builds" / "one.tar.gz"
    write_archive(file, build)
    return file


def test_what_is_archived_is_registered_as_the_very_same_build(archive, build, store):
    found = register_archive(archive, store)
    assert found == replace(build, prefix=store.root / build.identifier)
    assert store.find(build.identifier) == found
    (found.prefix / "BUILD.json").unlink()
    assert digest_tree(found.prefix) == build.digest
    assert found.program("postgres").stat().st_mode & 0o777 == 0o755
    assert (found.prefix / "lib/libpq.so.5").is_symlink()
    assert [path.name for path in store.root.iterdir() if path.name.startswith(".a")] == []


def test_what_is_in_the_store_already_stays(archive, store):
    first = register_archive(archive, store)
    (first.prefix / "mark").write_text("")
    assert register_archive(archive, store) == first
    assert (first.prefix / "mark").exists()


def test_build_json_is_the_last_member_of_an_archive(archive):
    with tarfile.open(archive) as tar:
        assert tar.getnames()[-1] == "13.16-bs8-0123456789ab/BUILD.json"


def remade(archive: Path, **changes: bytes | None) -> None:
    """*archive* with files (by their last name) that hold something else, or are gone."""
    with tarfile.open(archive) as tar:
        members = [(m, tar.extractfile(m).read() if m.isreg() else b"") for m in tar]
    with tarfile.open(archive, "w:gz") as tar:
        for member, content in members:
            name = Path(member.name).name.replace(".", "_")
            new = changes.get(name, content)
            if new is not None:
                member.size = len(new) if member.isreg() else 0
                tar.addfile(member, BytesIO(new))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"postgres": b"another server"}, "not those that its BUILD.json describes"),
        ({"Vienna": None}, "not those that its BUILD.json describes"),
        ({"BUILD_json": None}, "No such file"),
        ({"BUILD_json": b"{}"}, "identifier"),
    ],
)
def test_a_changed_archive_is_refused_and_leaves_nothing(archive, store, changes, said):
    remade(archive, **changes)
    with pytest.raises(UsageError, match="not the archive of a build") as caught:
        register_archive(archive, store)
    assert said in caught.value.detail
    assert store.all() == []
    assert [path for path in store.root.iterdir() if path.name != ".locks"] == []


def test_an_archive_under_another_builds_name_is_refused(archive, build, store):
    facts = build.facts() | {"identifier": "18.6-bs8-ffffffffffff"}
    remade(archive, BUILD_json=json.dumps(facts).encode())
    with pytest.raises(UsageError) as caught:
        register_archive(archive, store)
    assert "BUILD.json describes 18.6-bs8-ffffffffffff" in caught.value.detail


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.9])
def test_an_archive_that_was_cut_short_is_refused(archive, store, keep):
    whole = archive.read_bytes()
    archive.write_bytes(whole[: int(len(whole) * keep)])
    with pytest.raises(UsageError):
        register_archive(archive, store)
    assert store.all() == []


def test_two_builds_in_one_archive_are_refused(archive, build, store):
    with tarfile.open(archive, "w:gz", dereference=True) as tar:
        tar.add(build.prefix, arcname="one")
        tar.add(build.prefix, arcname="two")
    with pytest.raises(UsageError, match="not the archive of a build") as caught:
        register_archive(archive, store)
    assert "2 builds" in caught.value.detail


def test_what_a_killed_one_left_is_swept_when_it_is_old(archive, store):
    left = store.root / ".archive-left"
    left.mkdir(parents=True)
    young = store.root / ".archive-young"
    young.mkdir()
    os.utime(left, (1_000_000_000, 1_000_000_000))
    register_archive(archive, store)
    assert not left.exists()
    assert young.exists()


def test_a_bad_archive_in_a_directory_keeps_no_other_from_the_store(
    archive, build, tmp_path, monkeypatch
):
    (tmp_path / "asv.conf.json").write_text("{}")
    monkeypatch.setenv("LANDSPEED_PROJECT", str(tmp_path))
    monkeypatch.setenv("LANDSPEED_CACHE", str(tmp_path / "cache"))
    directory = tmp_path / "several"
    for name in ("a.tar.gz", "c.tar.gz"):
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_bytes(archive.read_bytes()[:100])
    (directory / "b.tar.gz").write_bytes(archive.read_bytes())
    done = CliRunner().invoke(cli, ["build", "--from", f"{directory}/"])
    assert (done.exit_code, Path(done.stdout.strip()).name) == (0, build.identifier)
    assert done.stderr.count("was set aside") == 2
    alone = CliRunner().invoke(cli, ["build", "--from", str(directory / "a.tar.gz")])
    assert isinstance(alone.exception, UsageError)


# --- the verbs, on made-up servers -----------------------------------------------------------


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    made = Farm.make(tmp_path / "farm", commits=0)
    for number in range(2):
        made.commit(f"commit {number}")
    return made


@pytest.fixture
def pretended(farm: Farm, pretended_farm: list[str]) -> Callable[..., CompletedProcess[str]]:
    """``landspeed *arguments`` on servers that are like *world*; what was built is in ``deeds``."""

    def run(*arguments: str, **world: object) -> CompletedProcess[str]:
        told = json.dumps({"log": str(farm.root / "deeds"), **world})
        return subprocess.run(
            [*pretended_farm, *arguments],
            env=farm.environment(LANDSPEED_TEST_WORLD=told),
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.slow
def test_an_archive_that_is_there_is_taken_and_nothing_is_built(farm, tmp_path, pretended):
    file = str(tmp_path / "builds" / "one.tar.gz")
    first = pretended("build", farm.commits[1], "--archive", file)
    assert first.returncode == 0, first.stderr
    shutil.rmtree(farm.paths.store)
    again = pretended("build", farm.commits[1], "--archive", file)
    assert again.stdout == first.stdout
    assert (farm.root / "deeds").read_text() == "build 1\n"
    shutil.rmtree(farm.paths.store)
    done = pretended("build", "--from", str(tmp_path / "builds") + "/")
    assert done.stdout == first.stdout
    done = pretended("build", "--from", str(tmp_path / "nothing") + "/")
    assert (done.returncode, done.stdout) == (0, "")


def test_a_damaged_archive_is_made_anew(farm, tmp_path, pretended):
    file = tmp_path / "one.tar.gz"
    file.write_bytes(b"no archive")
    done = pretended("build", farm.commits[1], "--archive", str(file))
    assert "writing the archive anew" in done.stderr
    assert register_archive(file, Store(root=tmp_path / "other", limit=10**9))


def test_what_does_not_build_is_noted_and_passed_over_after_the_second_time(
    farm, tmp_path, pretended
):
    file = str(tmp_path / "one.tar.gz")
    for times in (1, 2):
        done = pretended("build", farm.commits[1], "--archive", file, broken=[1])
        assert done.returncode == 6, done.stderr
        assert len(farm.records.failures.read(dict)) == times
    assert not Path(file).exists()
    told = json.loads(farm.landspeed("farm", "plan", "--json").stdout)
    assert told["refs"] == [farm.commits[0]]


@pytest.mark.parametrize(
    "words", [["18", "17", "--archive", "x.tar.gz"], ["18", "--archive", "x.zip"]]
)
def test_an_archive_is_one_build_in_one_file(farm, words):
    done = farm.landspeed("build", *words, check=False)
    assert done.returncode == 2
    assert "an archive holds one build" in done.stderr
