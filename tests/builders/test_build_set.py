"""Many builds at once: all of them, never too many at a time, and clean ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from base.build import Build, Variant
from base.errors import BuildError, LandspeedError
from builders.build_set import BuildSetProgress, Order, build_many
from builders.builder import Builder
from builders.sandbox.jobserver import job_server
from landspeed.session.session import build_failure
from tests.kits.builds.buildkit import (
    PretendedSources,
    alive,
    builder,
    ended,
    eventually,
    forked,
    is_empty,
    programs,
)

pytestmark = pytest.mark.slow

SIZES = (1, 2, 4, 8, 16)
# One line when it begins and one when it ends: how many overlap is read from them.
OVERLAP = "echo + >> {log}; sleep 0.1; echo - >> {log}"


@pytest.fixture(autouse=True)
def _pretended_toolchain(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{programs(tmp_path / 'bin')}:{os.environ['PATH']}")


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def orders(maker: Builder, sizes: Iterable[int] = SIZES) -> list[Order]:
    source = maker.sources.resolve("13")
    return [Order(source=source, variant=Variant(blocksize=size)) for size in sizes]


def most_at_once(log: Path) -> int:
    running = most = 0
    for line in log.read_text().split():
        running += 1 if line == "+" else -1
        most = max(most, running)
    return most


def test_all_are_built_and_told_in_the_order_they_were_asked_for(cache):
    maker = builder(cache)
    wanted = orders(maker)
    told: list[BuildSetProgress] = []
    outcomes = build_many(maker, wanted, at_once=3, tell=told.append)
    assert list(outcomes) == wanted
    assert [b.variant for b in outcomes.values() if isinstance(b, Build)] == [
        order.variant for order in wanted
    ]
    assert len(maker.store.all()) == len(SIZES)
    assert is_empty(cache / "trees")
    assert told[-1].share == 1.0
    assert not told[-1].doing


@pytest.mark.parametrize(("at_once", "most"), [(1, 1), (2, 2), (9, 2)])
def test_no_more_are_built_at_once_than_asked_for_nor_than_there_are_cores(cache, at_once, most):
    log = cache.with_name("log")
    maker = builder(cache, main=OVERLAP.format(log=log))
    build_many(maker, orders(maker), at_once=at_once, tell=lambda _: None)
    assert 1 <= most_at_once(log) <= most


def test_one_that_fails_is_an_outcome_and_the_others_are_built(cache):
    failing = "grep -q blocksize=4 ../../configured && { echo 'main.c:1: error'; exit 1; }; true"
    maker = builder(cache, main=failing)
    wanted = orders(maker)
    outcomes = build_many(maker, wanted, at_once=2, tell=lambda _: None)
    failed = {o.variant.name: e for o, e in outcomes.items() if not isinstance(e, Build)}
    assert list(failed) == ["bs4"]
    assert isinstance(failed["bs4"], BuildError)
    assert "main.c:1: error" in failed["bs4"].detail
    assert len(maker.store.all()) == len(SIZES) - 1


def test_no_build_of_a_set_makes_room_for_another(cache):
    maker = builder(cache, limit=0)
    found = build_many(maker, orders(maker), at_once=1, tell=lambda _: None)
    assert all(maker.store.find(one.identifier) for one in found.values())


def test_the_longest_begins_first(cache):
    class Longer(PretendedSources):
        def size(self, source):
            return int(source.origin.tree[:2])

    maker = replace(builder(cache), sources=Longer())
    lengths = {1: 10, 2: 30, 4: 20}
    wanted = []
    for order in orders(maker, lengths):
        length = lengths[order.variant.blocksize]
        origin = replace(order.source.origin, tree=str(length) * 20)
        wanted.append(replace(order, source=replace(order.source, origin=origin)))
    ended_: list[str] = []

    def note(standing: BuildSetProgress) -> None:
        ended_.extend(o.variant.name for o in standing.outcomes if o.variant.name not in ended_)

    build_many(maker, wanted, at_once=1, tell=note)
    assert ended_ == ["bs2", "bs4", "bs1"]


def test_what_nobody_expected_is_raised_where_the_set_was_asked_for(cache):
    class Broken(PretendedSources):
        def export(self, source, directory):
            raise ZeroDivisionError("a bug")

    maker = replace(builder(cache), sources=Broken())
    with pytest.raises(ZeroDivisionError, match="a bug"):
        build_many(maker, orders(maker), at_once=2, tell=lambda _: None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupt_ends_every_compiler_of_every_build(cache, tmp_path, number):
    maker = builder(cache, main=f"echo $$ >> {tmp_path}/compilers; sleep 600")
    compilers = tmp_path / "compilers"

    def pids() -> list[int]:
        return [int(line) for line in compilers.read_text().split()] if compilers.exists() else []

    with forked(lambda: build_many(maker, orders(maker), at_once=2, tell=lambda _: None)) as pid:
        eventually(lambda: len(pids()) == 2, "two compilers")
        os.kill(pid, number)
        assert ended(pid) != 0
    eventually(lambda: not any(map(alive, pids())), "the end of the compilers")
    assert maker.store.all() == []


# --- the stock of jobs ---------------------------------------------------------------------

EDGES = 8


def write_makefile(directory: Path, log: Path) -> list[str]:
    targets = " ".join(f"t{n}" for n in range(EDGES))
    recipe = OVERLAP.format(log=log)
    (directory / "Makefile").write_text(f"all: {targets}\n{targets}:\n\t@{recipe}\n")
    return ["make", "-s", "-C", str(directory), "all"]


def write_ninja(directory: Path, log: Path) -> list[str]:
    edges = "".join(f"build t{n}: go\n" for n in range(EDGES))
    command = OVERLAP.format(log=log)
    (directory / "build.ninja").write_text(f"rule go\n  command = {command}\n{edges}")
    return [str(Path(sys.executable).parent / "ninja"), "-C", str(directory)]


@pytest.mark.parametrize(
    "writers",
    [(write_makefile, write_makefile), (write_ninja, write_ninja), (write_makefile, write_ninja)],
)
def test_make_and_ninja_share_the_jobs_they_are_given(tmp_path, writers):
    log = tmp_path / "log"
    with job_server(1) as server:
        running = []
        for number, write in enumerate(writers):
            directory = tmp_path / str(number)
            directory.mkdir()
            running.append(
                subprocess.Popen(
                    write(directory, log),
                    env={"PATH": os.environ["PATH"], **server.environment},
                    pass_fds=server.descriptors,
                    stdout=subprocess.DEVNULL,
                )
            )
        assert [process.wait() for process in running] == [0, 0]
        assert most_at_once(log) == 3, "one for each, and the one in stock"
        assert os.read(server.taking, 9) == b"+", "it was given back"


def test_a_job_that_a_build_has_left_is_taken_by_the_others(tmp_path):
    log = tmp_path / "log"
    with job_server(0) as server:
        process = subprocess.Popen(
            write_makefile(tmp_path, log),
            env={"PATH": os.environ["PATH"], **server.environment},
            pass_fds=server.descriptors,
        )
        eventually(log.exists, "the first")
        server.give()
        assert process.wait() == 0
    assert most_at_once(log) == 2


# --- what is said at the end ---------------------------------------------------------------


def errors(count: int) -> list[LandspeedError]:
    return [BuildError(f"could not build number {n}", detail="log: there") for n in range(count)]


def test_a_set_that_went_well_ends_with_no_error():
    assert build_failure([]) is None


def test_a_set_of_one_ends_with_its_own_error():
    (own,) = errors(1)
    assert build_failure([own]) is own


def test_each_failure_is_told_and_the_last_error_counts_them(capsys):
    error = build_failure(errors(2))
    assert error is not None
    assert error.message == "2 of 2 builds failed, the others are done"
    assert error.exit_code == BuildError.exit_code
    told = capsys.readouterr().err
    assert told.count("error:  could not build number") == 2
    assert told.count("log: there") == 2
