"""The Builder: what it makes, what it finds again, and one clear error for each that fails."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from base.build import Variant
from base.errors import BuildError, BusyError, StorageError
from base.files import digest_tree
from builders.builder import Builder
from builders.recipe import Recipe
from builders.sandbox import Host
from tests.kits.builds.buildkit import (
    PretendedSources,
    build,
    builder,
    is_empty,
    programs,
    remount_read_only,
    small_disk,
)


@pytest.fixture(autouse=True)
def _pretended_toolchain(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{programs(tmp_path / 'bin')}:{os.environ['PATH']}")


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


# --- when all goes well --------------------------------------------------------------------


def test_a_build_has_its_facts_its_files_and_leaves_nothing_else(cache):
    made = build(builder(cache))
    assert made == builder(cache).store.find(made.identifier)
    assert made.identifier.startswith("13.16-bs8-")
    assert (made.version.major_text, made.build_system) == ("13", "configure")
    assert made.origin.release == "13.16"
    assert made.toolchain["cc"] == "gcc (Pretended) 12.2.0"
    assert made.cpu_seconds > 0
    assert {p.name for p in (made.prefix / "bin").iterdir()} == {"postgres", "initdb", "pg_config"}
    assert is_empty(cache / "trees")


def test_a_commit_that_has_the_tree_of_another_has_its_build_under_its_own_name(cache):
    maker = builder(cache)
    made = build(maker)
    source = maker.sources.resolve("13.16")
    reverted = replace(source, origin=replace(source.origin, release=None, commit="c" * 40))
    assert maker.find(reverted, Variant()) == replace(made, origin=reverted.origin)
    again = maker.build(reverted, Variant(), progress=lambda _: None)
    assert again == replace(made, origin=reverted.origin)


def test_every_directory_of_the_real_recipe_is_visited(cache):
    made = build(builder(cache, kind=Builder))
    installed = {p.name for p in (made.prefix / "bin").iterdir()}
    assert {"postgres", "initdb", "pg_config", "pg_controldata"} <= installed
    log = (cache / "logs" / f"{made.identifier}.log").read_text()
    visited = re.findall(r"^\$ make .*-C (\S+)", log, re.MULTILINE)
    assert visited.index("src/port") < visited.index("src/common") < visited.index("src/bin/initdb")


def test_the_digest_is_of_the_installed_files_and_not_of_where_or_when(cache, tmp_path):
    one, other = build(builder(cache)), build(builder(tmp_path / "another"))
    assert one.digest == other.digest
    (one.prefix / "BUILD.json").unlink()
    assert digest_tree(one.prefix) == one.digest
    assert build(builder(tmp_path / "third", main="true # more")).digest != one.digest


def test_what_is_built_is_not_built_again(cache, tmp_path):
    counting = f"echo $$ >> {tmp_path}/compilers"
    first = build(builder(cache, main=counting))
    assert build(builder(cache, main=counting)) == first
    assert len((tmp_path / "compilers").read_text().split()) == 1


def test_variants_are_builds_of_their_own(cache):
    made = {build(builder(cache), Variant(blocksize=size)).identifier for size in (4, 8)}
    assert len(made) == len(builder(cache).store.all()) == 2


def test_the_callers_environment_does_not_reach_the_compiler(cache, tmp_path, monkeypatch):
    for name in ("CFLAGS", "MAKEFLAGS", "PGPORT", "LD_LIBRARY_PATH", "DESTDIR", "CCACHE_DISABLE"):
        monkeypatch.setenv(name, "-n" if name == "MAKEFLAGS" else "leaked")
    build(builder(cache, main=f'{{ env; echo "argv: $@"; }} > {tmp_path}/seen'))
    seen = (tmp_path / "seen").read_text()
    assert "leaked" not in seen
    assert "argv: -O2 main.c" in seen


def test_the_store_makes_room_but_never_for_what_was_just_built(cache):
    tight = builder(cache, limit=0)
    build(tight)
    last = build(tight, Variant(blocksize=4))
    assert tight.store.all() == [last]


# --- errors --------------------------------------------------------------------------------


def test_what_is_busy_inside_a_build_is_not_taken_for_its_lock(cache):
    class Busy(PretendedSources):
        def export(self, source, directory):
            raise BusyError("somebody else has the sources")

    said = []
    maker = replace(builder(cache), sources=Busy())
    with pytest.raises(BusyError):
        maker.build(maker.sources.resolve("13"), Variant(), progress=lambda p: said.append(p.step))
    assert said == ["unpack"]


def test_a_compiler_error_is_a_build_error_and_the_tree_and_log_are_kept(cache):
    with pytest.raises(BuildError) as caught:
        build(builder(cache, main="echo \"main.c:1: error: expected ';'\"; exit 1"))
    error = caught.value
    assert error.message == "could not build PostgreSQL 13.16 bs8"
    assert 'Step "make src/backend all" ended with exit code 2.' in error.detail
    assert "main.c:1: error: expected ';'" in error.detail
    tree, log = (re.search(rf"^{what}: +(.*)$", error.detail, re.M)[1] for what in ("tree", "log"))
    assert (Path(tree) / "src/backend/main.c").exists()
    assert "main.c:1: error" in Path(log).read_text()
    assert error.hint
    assert builder(cache).store.all() == []


@pytest.mark.parametrize(
    "answer",
    ["", "{", "[]", "1" * 9000, "[" * 4000, '{"code": "x"}', r"\377"],
    ids=["empty", "no JSON", "no object", "long", "deep", "no number", "no UTF-8"],
)
def test_an_answer_that_a_step_writes_in_the_workers_place_is_a_build_error(cache, answer):
    find_session = "read -r _ _ _ _ _ worker _ </proc/self/stat"
    write = f"printf '{answer}\\n' >/proc/$worker/fd/1"
    with pytest.raises(BuildError, match="an answer that cannot be read"):
        build(builder(cache, main=f"{find_session}; {write}"))
    assert builder(cache).store.all() == []


def test_after_a_compiler_error_was_mended_the_next_build_is_whole(cache):
    with pytest.raises(BuildError):
        build(builder(cache, main="exit 1"))
    assert build(builder(cache)).program("postgres").read_text() == "true\n"
    assert is_empty(cache / "trees")


def test_a_recipe_that_installs_no_server_is_a_build_error_and_no_build(cache):
    class Forgetful(Builder):
        def recipe(self, *arguments):
            whole = super().recipe(*arguments)
            return replace(whole, steps=tuple(s for s in whole.steps if "initdb" not in s.name))

    with pytest.raises(BuildError, match="installed no initdb"):
        build(builder(cache, kind=Forgetful))
    assert builder(cache).store.all() == []


@pytest.mark.parametrize("missing", ["gcc", "bison", "make", "ccache"])
def test_a_missing_tool_is_a_build_error_that_says_make_setup(
    cache, tmp_path, monkeypatch, missing
):
    only = programs(tmp_path / "only")
    for name in ("sh", "make", "cp", "mkdir", "env", "sort"):
        (only / name).symlink_to(
            next(p for p in (f"/bin/{name}", f"/usr/bin/{name}") if Path(p).exists())
        )
    (only / missing).unlink()
    monkeypatch.setenv("PATH", str(only))
    with pytest.raises(BuildError) as caught:
        build(builder(cache))
    assert caught.value.message == f'could not run "{missing}"'
    assert "make setup" in caught.value.hint
    assert builder(cache).store.all() == []


def test_too_little_room_is_said_before_anything_is_built(cache):
    with small_disk(cache, kilobytes=500):
        with pytest.raises(StorageError) as caught:
            build(builder(cache))
        assert caught.value.message == "not enough disk space to build 13.16"
        assert "LANDSPEED_CACHE" in caught.value.hint
        assert is_empty(cache / "trees")


def test_a_disk_that_fills_under_the_compiler_is_one_clear_error_and_no_build(cache, monkeypatch):
    monkeypatch.setattr("builders.builder._BUILD_BYTES", 0)
    with small_disk(cache, kilobytes=500):
        with pytest.raises(BuildError) as caught:
            build(builder(cache, main='cat /dev/zero > "$HOME/large"'))
        assert "Free some space" in caught.value.hint
        assert builder(cache).store.all() == []
        os.truncate(next((cache / "trees").glob("*/large")), 0)
        assert build(builder(cache)).program("postgres").exists(), "room was made: it goes on"


@pytest.mark.parametrize("kilobytes", [4, 8, 16, 24, 32, 48, 64])
def test_a_disk_that_is_full_at_any_point_is_a_storage_or_build_error(
    cache, monkeypatch, kilobytes
):
    monkeypatch.setattr("builders.builder._BUILD_BYTES", 0)
    with small_disk(cache, kilobytes=kilobytes):
        with pytest.raises((StorageError, BuildError)) as caught:
            build(builder(cache))
        assert "space" in caught.value.hint
        assert builder(cache).store.all() == []


def test_a_read_only_cache_is_one_clear_error(cache):
    with small_disk(cache, kilobytes=500, read_only=True):
        with pytest.raises(StorageError) as caught:
            build(builder(cache))
        assert "Read-only file system" in caught.value.detail
        assert "LANDSPEED_CACHE" in caught.value.hint


def test_what_was_built_is_found_in_a_cache_that_became_read_only(cache, monkeypatch):
    monkeypatch.setattr("builders.builder._BUILD_BYTES", 0)
    with small_disk(cache, kilobytes=4000):
        made = build(builder(cache))
        remount_read_only(cache)
        assert build(builder(cache)) == made


@pytest.mark.parametrize("damage", ["", "{", "[]"])
def test_a_corrupt_proof_is_no_build_and_is_built_again(cache, damage):
    made = build(builder(cache))
    (made.prefix / "BUILD.json").write_text(damage)
    assert builder(cache).store.find(made.identifier) is None
    again = build(builder(cache))
    assert (again.identifier, again.digest) == (made.identifier, made.digest)


@pytest.mark.parametrize("damage", [Path.unlink, partial(os.truncate, length=0)])
def test_a_build_without_its_server_is_built_again(cache, damage):
    made = build(builder(cache))
    damage(made.program("postgres"))
    again = build(builder(cache))
    assert (again.identifier, again.digest) == (made.identifier, made.digest)
    assert again.program("postgres").stat().st_size > 0


@pytest.mark.parametrize("is_of_strangers", [True, False])
def test_a_strangers_patch_is_built_afresh_and_writes_to_no_compiler_cache(
    cache, monkeypatch, is_of_strangers
):
    class Sources(PretendedSources):
        def is_of_strangers(self, source):
            return is_of_strangers

    # the pretended compiler is where bubblewrap shows nothing
    monkeypatch.setattr("builders.sandbox.host.can_confine", lambda: False)
    maker = builder(cache)
    wanted = "1" if is_of_strangers else ""
    maker = replace(maker, sources=Sources(main=f'test "$CCACHE_READONLY" = "{wanted}"'))
    source = maker.sources.resolve("13")
    assert maker.build(source, Variant(), progress=lambda _: None).prefix.is_dir()


@pytest.mark.parametrize(
    "plant", ["mkfifo bin/pipe", "mkdir BUILD.json", "echo {} > BUILD.json", "ln -s x BUILD.json"]
)
def test_a_build_that_installs_a_pipe_or_a_proof_of_its_own_is_refused(cache, plant):
    place = '"$HOME.stage/opt/pgsql"'
    maker = builder(cache, main=f"(mkdir -p {place}/bin; cd {place}; {plant})")
    with pytest.raises(BuildError, match="the build installed"):
        build(maker)
    assert maker.store.all() == []
    assert not list(maker.store.root.glob("[!.]*"))


def test_a_build_leaves_no_setuid_program_for_other_users(cache):
    plant = 'install -D -m 6755 /dev/null "$HOME.stage/opt/pgsql/bin/x"'
    made = build(builder(cache, main=plant))
    assert (made.prefix / "bin/x").stat().st_mode & 0o7777 == 0o755
    for name in ("trees", "logs"):
        assert (cache / name).stat().st_mode & 0o777 == 0o700


def test_a_build_whose_install_directory_leads_elsewhere_is_refused(cache, tmp_path, monkeypatch):
    maker = builder(cache)
    source = maker.sources.resolve("13")
    other = build(maker).prefix.rename(tmp_path / "other")

    def run(sandbox: Host, plan: Recipe, *, stage: Path, **_: object) -> float:
        installed = stage / plan.prefix.removeprefix("/")
        installed.parent.mkdir(parents=True)
        installed.symlink_to(other)
        return 0.0

    monkeypatch.setattr(Host, "run", run)
    with pytest.raises(BuildError, match="installed no postgres"):
        maker.build(source, Variant(), progress=lambda _: None)
    assert other.is_dir()


def test_a_build_that_nests_directories_too_deeply_fails_alone(cache, monkeypatch):
    """What it leaves is removed: no later build meets it."""
    monkeypatch.setattr("builders.cleanup._KEPT", 0)
    deep = "mkdir -p {0}; (cd {0}; for i in $(seq 1200); do mkdir d; cd -P d; done)"
    with pytest.raises(BuildError, match=r"could not build 13\.16"):
        build(builder(cache, main=deep.format("$HOME.stage/opt/pgsql")))
    with pytest.raises(BuildError, match=r"could not build PostgreSQL 13\.16"):
        build(builder(cache, main=f"{deep.format('$HOME')}; exit 1"), Variant(blocksize=2))
    build(builder(cache), Variant(blocksize=4))
    assert is_empty(cache / "trees")
