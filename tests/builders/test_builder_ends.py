"""Two Builders at once, and Builders that are killed: nothing half done is ever a Build."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from base.build import Variant
from builders.sandbox import Progress
from tests.kits.builds.buildkit import (
    PretendedSources,
    alive,
    build,
    builder,
    ended,
    eventually,
    forked,
    is_empty,
    programs,
)

pytestmark = pytest.mark.slow

# The compiler says who it is, and waits for the word to go on.
HELD = "echo $$ >> {root}/compilers; while [ ! -e {root}/go ]; do sleep 0.02; done"


@pytest.fixture(autouse=True)
def _pretended_toolchain(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{programs(tmp_path / 'bin')}:{os.environ['PATH']}")


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def held(tmp_path):
    """What makes a compiler wait until ``go`` is there."""
    return HELD.format(root=tmp_path)


def compilers(root: Path) -> list[int]:
    """The process ids of the compilers that were started below *root*."""
    path = root / "compilers"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def test_two_that_want_one_build_at_once_build_it_once(cache, tmp_path, held):
    (said := tmp_path / "said").touch()

    def tell(progress: Progress) -> None:
        with said.open("a") as stream:
            stream.write(f"{progress.step}\n")

    def second() -> None:
        made = builder(cache, main=held)
        made.build(made.sources.resolve("13"), Variant(), progress=tell)

    with forked(partial(build, builder(cache, main=held))) as one:
        eventually(lambda: compilers(tmp_path), "the first compiler")
        with forked(second) as two:
            eventually(lambda: "waiting for another" in said.read_text(), "the second to wait")
            (tmp_path / "go").touch()
            assert (ended(one), ended(two)) == (0, 0)
    assert len(compilers(tmp_path)) == 1
    assert len(builder(cache).store.all()) == 1


def test_when_the_first_of_two_fails_the_second_builds(cache, tmp_path, held):
    with forked(partial(build, builder(cache, main=f"{held}; exit 1"))) as one:
        eventually(lambda: compilers(tmp_path), "the first compiler")
        with forked(partial(build, builder(cache))) as two:
            (tmp_path / "go").touch()
            assert (ended(one), ended(two)) == (1, 0)
    assert len(builder(cache).store.all()) == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_build_leaves_no_build_and_no_compiler_and_the_next_builds_it(
    cache, tmp_path, held, number
):
    with forked(partial(build, builder(cache, main=held))) as pid:
        eventually(lambda: compilers(tmp_path), "the compiler")
        os.kill(pid, number)
        assert ended(pid) != 0
    assert builder(cache).store.all() == []
    eventually(lambda: not any(map(alive, compilers(tmp_path))), "the end of the compiler")
    (tmp_path / "go").touch()
    assert build(builder(cache, main=held)).program("postgres").exists()
    assert is_empty(cache / "trees")


def test_the_next_build_begins_only_when_all_of_a_killed_one_has_ended(cache, tmp_path, held):
    with forked(partial(build, builder(cache, main=held))) as pid:
        eventually(lambda: compilers(tmp_path), "the compiler")
        os.kill(pid, signal.SIGKILL)
        # at once, and without the word to go on: only its death can free the tree
        runs = "grep -qs 'State:.[^ZX]' /proc/$pid/status"
        check = f"for pid in $(cat {tmp_path}/compilers); do {runs} && exit 1; done; true"
        build(builder(cache, main=check))


@pytest.mark.parametrize("moment", ["shutil.move", "builders.store.write_atomic"])
def test_a_kill_while_storing_leaves_no_build_and_the_next_builds_it(cache, monkeypatch, moment):
    def killed(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with monkeypatch.context() as patched:
        patched.setattr(moment, killed)
        with forked(partial(build, builder(cache))) as pid:
            assert ended(pid) == -signal.SIGKILL
    assert builder(cache).store.all() == []
    build(builder(cache))
    assert len(builder(cache).store.all()) == 1
    assert is_empty(cache / "trees")


def test_a_kill_while_unpacking_does_not_disturb_the_next_build(cache):
    class Deadly(PretendedSources):
        def export(self, source, directory):
            super().export(source, directory)
            os.kill(os.getpid(), signal.SIGKILL)

    deadly = replace(builder(cache), sources=Deadly())
    with forked(partial(build, deadly)) as pid:
        assert ended(pid) == -signal.SIGKILL
    left = [entry.name for entry in (cache / "trees").iterdir()]
    assert left
    assert all(".unpack-" in name for name in left), "what is cut short never has a tree's name"
    build(builder(cache))
    assert is_empty(cache / "trees")
