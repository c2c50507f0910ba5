"""Counting a suite when things go wrong: one message each, the others go on, nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from base.build import Build, Origin, Variant
from base.errors import BuildError, LandspeedError, MeasureError, StorageError
from benchmarks.counted import count
from benchmarks.machine.machine import Machine
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from benchmarks.workloads.catalog import Workload, choose, named
from benchmarks.workloads.scenario import Cell
from landspeed.campaign import workloads as module
from landspeed.campaign.campaign import Tally
from landspeed.sampling import counted as counted_
from landspeed.session.target import Target
from tests.kits.made_up.stand_ins import made_up_build, timed_record

MACHINE = replace(Machine.detect("elephant"), cores=1)
NAMES = ("select-1-simple", "sort-text", "insert-one")


def build(release: str) -> Build:
    origin = Origin(release=release, commit=None, tree="a" * 40, date="2025-01-01")
    return made_up_build(f"{release}-bs8", origin, version=release, digest=release)


@dataclass
class Servers:
    """Stands for Counter: counts, or fails as it is told to."""

    failing: dict[str, LandspeedError] = field(default_factory=dict)
    unloadable: str = ""
    interrupted_at: str = ""
    counted: list[str] = field(default_factory=list)
    servers_per_core: int = 1
    shares: list[int] = field(default_factory=list)
    waiting: dict[str, threading.Barrier] = field(default_factory=dict)
    at_once: list[int] = field(default_factory=list)

    def of(self, _session: Any, build: Build, _pgbench: Any, _preset: str) -> Any:
        return StandIn(servers=self, build=build, servers_per_core=self.servers_per_core)

    def load(self, build: Build) -> None:
        if build.origin.release == self.unloadable:
            raise StorageError("not enough disk space to load a template (0.8 GB)")

    def count(self, build: Build, cells: Sequence[Cell]) -> Iterator[Record | LandspeedError]:
        self.shares.append(len(cells))
        for cell in cells:
            name = str(cell.scenario.mode)
            if name == self.interrupted_at:
                raise KeyboardInterrupt
            if name in self.waiting:
                self.waiting[name].wait(60)
            self.counted.append(f"{build.origin.release} {name}")
            yield self.failing.get(name) or timed_record(
                build=build,
                cell=cell,
                machine=MACHINE,
                run={"preset": "catalog", "round": 1},
                sample={"instructions": 1000.0},
                epoch={"identifier": "e"},
            )


@dataclass(frozen=True, kw_only=True)
class StandIn:
    """The `Counter` of one build."""

    servers: Servers
    build: Build
    servers_per_core: int
    machine: Machine = MACHINE
    at_once: int = 1
    stop: threading.Event = field(default_factory=threading.Event)

    def load(self, _cell: Cell) -> None:
        self.servers.load(self.build)

    def count(self, cells: Sequence[Cell]) -> Iterator[Record | LandspeedError]:
        self.servers.at_once.append(self.at_once)
        return self.servers.count(self.build, cells)


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Servers:
    made = Servers()
    environment = SimpleNamespace(identifier="e")
    for name, stand_in in {
        "counter_of": made.of,
        "require_countable": lambda: None,
        "measuring": lambda **_: nullcontext(),
        "note_identical_builds": lambda *_: None,
    }.items():
        monkeypatch.setattr(module, name, stand_in)
    monkeypatch.setattr(counted_, "count_environment", lambda *_: environment)
    return made


@dataclass
class Session:
    """A session whose builds are made up; those in ``broken`` do not build."""

    records: RecordStore
    machine: Machine = MACHINE
    broken: str = ""

    @property
    def builder(self) -> Any:
        return SimpleNamespace(store=SimpleNamespace(in_use=lambda _: nullcontext()))

    def pgbench_build(self, *, with_server: bool = False) -> Build:
        return build("18.1")

    def build_all(self, targets: Sequence[Target], jobs: None) -> dict[Target, Any]:
        return {
            one: BuildError("could not build") if one.ref == self.broken else build(one.ref)
            for one in targets
        }


@pytest.fixture
def session(tmp_path: Path) -> Any:
    return Session(records=RecordStore(tmp_path))


def counted(session: Any, *releases: str, workloads: Sequence[Workload] | None = None) -> Tally:
    targets = [Target.parse(one, Variant()) for one in releases]
    return module.count_workloads(session, targets, workloads or choose(NAMES))


def test_a_workload_that_fails_is_one_message_and_the_same_command_tries_only_it_again(
    session: Any, servers: Servers
) -> None:
    servers.failing = {"sort-text": MeasureError("could not count sort-text on 18.1 bs8")}
    tally = counted(session, "17", "18")
    assert [error.message for error in tally.errors] == [
        "could not count sort-text on 18.1 bs8"
    ] * 2
    assert tally.measured == 4
    servers.failing, servers.counted = {}, []
    again = counted(session, "17", "18")
    assert servers.counted == ["17 sort-text", "18 sort-text"]
    assert (again.measured, again.present) == (2, 4)


def test_data_that_do_not_fit_the_disk_are_one_message_and_other_builds_are_counted(
    session: Any, servers: Servers
) -> None:
    servers.unloadable = "17"
    tally = counted(session, "17", "18")
    (error,) = tally.errors
    assert isinstance(error, StorageError)
    assert {one.split()[0] for one in servers.counted} == {"18"}


def test_a_build_that_fails_is_one_message_and_the_others_are_counted(
    session: Any, servers: Servers
) -> None:
    session.broken = "17"
    assert len(counted(session, "17", "18").errors) == 1
    assert len(servers.counted) == len(NAMES)


def test_ctrl_c_keeps_what_is_counted_and_the_same_command_goes_on(
    session: Any, servers: Servers
) -> None:
    servers.interrupted_at = "insert-one"
    with pytest.raises(KeyboardInterrupt):
        counted(session, "18")
    done = len(servers.counted)
    assert 0 < done < len(NAMES)
    servers.interrupted_at = ""
    again = counted(session, "18")
    assert (again.measured, again.present) == (len(NAMES) - done, done)
    assert len(set(servers.counted)) == len(servers.counted) == len(NAMES)


@pytest.mark.parametrize(("several", "shares"), [(1, [3]), (3, [1, 1, 1])])
def test_a_core_has_as_many_servers_as_keep_it_busy(
    session: Any, servers: Servers, several: int, shares: list[int]
) -> None:
    servers.servers_per_core = several
    counted(session, "14")
    assert servers.shares == shares


@pytest.mark.parametrize(("several", "shares"), [(1, [3]), (2, [1, 2])])
def test_what_needs_servers_of_its_own_is_counted_alone_by_whoever_is_ready(
    session: Any, servers: Servers, several: int, shares: list[int]
) -> None:
    servers.servers_per_core = several
    names = ["copy-in-csv", "select-1-simple", "regexp", "insert-one", "sort-text"]
    counted(session, "18", workloads=choose(names))
    assert sorted(servers.shares) == sorted([1, 1, *shares])
    assert sorted(servers.counted) == sorted(f"18 {name}" for name in names)


@pytest.mark.parametrize("names", [["copy-in-csv", "insert-one"], ["copy-in-csv", "regexp"]])
def test_what_needs_servers_of_its_own_does_not_wait_until_a_core_is_free(
    session: Any, servers: Servers, names: list[str]
) -> None:
    both = threading.Barrier(2)
    servers.waiting = dict.fromkeys(names, both)
    tally = counted(session, "18", workloads=choose(names))
    assert (tally.measured, tally.errors) == (2, [])


@pytest.mark.parametrize(
    ("names", "at_once"), [(["copy-in-csv"], 3), (["copy-in-csv", "regexp"], 1)]
)
def test_the_servers_of_one_workload_run_side_by_side_where_cores_would_be_idle(
    session: Any, servers: Servers, names: list[str], at_once: int
) -> None:
    servers.servers_per_core = 3
    counted(session, "14", workloads=choose(names))
    assert set(servers.at_once) == {at_once}


@pytest.mark.parametrize(("known", "several"), [({"stats_fetch_consistency"}, 1), (set(), 3)])
def test_before_15_sessions_sleep_for_their_statistics(
    monkeypatch: pytest.MonkeyPatch, known: set[str], several: int
) -> None:
    monkeypatch.setattr(count, "known_settings", lambda _: known)
    nothing: Any = None
    counter = count.Counter(
        build=build("14"),
        pgbench=nothing,
        machine=MACHINE,
        paths=nothing,
        context={},
        stop=threading.Event(),
    )
    assert counter.servers_per_core == several


def test_what_a_version_does_not_have_and_what_is_only_timed_is_named_and_left_out(
    session: Any, servers: Servers, capsys: pytest.CaptureFixture[str]
) -> None:
    eight = replace(named("insert-one"), name="many-at-once", clients=8)
    tally = counted(session, "9.3", workloads=[*choose(["brin", "sort-text"]), eight])
    assert servers.counted == ["9.3 sort-text"]
    assert not tally.errors
    said = capsys.readouterr().err
    assert "not applicable: brin, which 9.3 bs8 does not have" in said
    assert "many-at-once" in said
