"""A Campaign with made-up builds and runs: what it goes on after, and what it never does twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from base.build import Build, Origin, Variant
from base.errors import BuildError, BusyError, ClusterError, MeasureError, RefError, SourceError
from base.files import digest_text
from base.paths import Paths
from base.version import Version
from benchmarks.machine.machine import Machine
from benchmarks.records.identical_builds import IdenticalBuild
from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore
from benchmarks.workloads.scenario import Mode, preset_named
from builders.source import Source
from landspeed.campaign import campaign as campaign_
from landspeed.campaign.campaign import Campaign, Request, failed, summary
from landspeed.session.target import Target, parse_targets
from tests.kits.made_up.stand_ins import made_up_build, nothing, timed_record

PRESET = replace(preset_named("quick"), client_counts=(1,), samples=2)


_FOREIGN = Origin(release=None, commit=None, tree="", date="2025-01-01", registered="vendor")


class _Store:
    in_use = staticmethod(nothing)


class _Sources:
    def resolve(self, ref: str) -> Source:
        if ref == "77":
            raise RefError("PostgreSQL 77 is not known")
        if ref == "9.0":
            raise SourceError("the source of PostgreSQL 9.0.23 cannot be reached")
        origin = Origin(release=f"{ref}.1", commit=None, tree=ref * 20, date="2025-01-01")
        return Source(version=Version.parse(f"{ref}.1"), origin=origin)


@dataclass
class _Builder:
    sources: _Sources = field(default_factory=_Sources)
    store: _Store = field(default_factory=_Store)

    def newest_stable(self) -> Source:
        return self.sources.resolve("18")


@dataclass
class _Workshop:
    paths: Paths
    builder: _Builder = field(default_factory=_Builder)
    machine: Machine = field(default_factory=lambda: Machine.detect("elephant"))
    builds: list[str] = field(default_factory=list)
    twins: tuple[str, ...] = ()

    @property
    def records(self) -> RecordStore:
        return RecordStore(self.paths.records)

    def named(self, target: Target) -> Source | Build:
        if target.registered is None:
            return self.builder.sources.resolve(target.ref)
        return self._made(Source(version=Version.parse("15.1"), origin=_FOREIGN), Variant())

    def build(
        self,
        source: Source,
        variant: Variant,
        *,
        on_built: Callable[[], None],
        title: str = "",
    ) -> Build:
        name = f"{source.version}-{variant}"
        if source.version == Version.parse("15.1"):
            raise BuildError("could not build PostgreSQL 15.1 bs8")
        if source.version == Version.parse("14.1"):
            raise SourceError("git read-tree failed")
        if name not in self.builds:
            self.builds.append(name)
            on_built()
        return self._made(source, variant)

    def _made(self, source: Source, variant: Variant) -> Build:
        name = f"{source.version}-{variant}"
        return made_up_build(
            name,
            source.origin,
            digest="twins" if str(source.version) in self.twins else digest_text(name),
            version=str(source.version),
            variant=variant,
        )


@dataclass
class _Runs:
    """Stands for `measure`: keeps what was asked for, fails where told to."""

    asked: list[str] = field(default_factory=list)
    failing: str = ""
    stop_after: int | None = None

    def __call__(self, *, build: Build, cell: Any, machine: Machine, **rest: Any) -> Record:
        if self.stop_after is not None and len(self.asked) >= self.stop_after:
            raise KeyboardInterrupt
        self.asked.append(f"{build.identifier} {cell.scenario.mode}")
        if self.failing and build.identifier.startswith(self.failing):
            raise MeasureError("the server died under pgbench")
        run = {"seconds": rest["seconds"], "seed": rest["seed"], **rest["context"]}
        return timed_record(build=build, cell=cell, machine=machine, run=run)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> _Runs:
    made = _Runs()
    monkeypatch.setattr(campaign_, "measure", made)
    monkeypatch.setattr(campaign_, "prepare", lambda **_: None)
    monkeypatch.setattr(campaign_, "templates", lambda *_, **__: None)
    monkeypatch.setattr(campaign_, "measuring", nothing)
    return made


@pytest.fixture
def session(tmp_path: Path) -> _Workshop:
    return _Workshop(paths=Paths(cache=tmp_path / "cache", project=tmp_path))


def campaign(
    session: _Workshop, *targets: str, publish: Callable[[], None] | None = None
) -> Campaign:
    request = Request(targets=parse_targets(targets, Variant()), preset=PRESET, scales={})
    return Campaign(session=session, requests=[request], publish=publish)  # type: ignore[arg-type]


def test_requests_of_one_campaign_are_interleaved_and_share_what_they_both_ask(
    session: _Workshop, runs: _Runs
) -> None:
    only_reads = replace(PRESET, modes=(Mode.READ_ONLY,))
    requests = [
        Request(targets=parse_targets(names, Variant()), preset=preset, scales={})
        for names, preset in ((["17", "18"], only_reads), (["18"], PRESET))
    ]
    made = Campaign(session=session, requests=requests, publish=None)  # type: ignore[arg-type]
    assert made.run().measured == 6
    assert sorted(set(runs.asked)) == [
        "17.1-bs8 read-only",
        "18.1-bs8 read-only",
        "18.1-bs8 read-write",
    ]
    assert [[b.label for b in builds] for builds in made.builds] == [
        ["17.1 bs8", "18.1 bs8"],
        ["18.1 bs8"],
    ]
    assert {asked.split()[0] for asked in runs.asked[:3]} == {"17.1-bs8", "18.1-bs8"}


def test_requests_that_measure_otherwise_are_no_campaign(session: _Workshop) -> None:
    requests = [
        Request(targets=[], preset=replace(PRESET, seconds=seconds), scales={})
        for seconds in (1, 2)
    ]
    with pytest.raises(ValueError, match="differ in how they measure"):
        Campaign(session=session, requests=requests, publish=None)  # type: ignore[arg-type]


def test_memory_that_data_lay_in_is_given_back_whatever_happens(
    session: _Workshop, runs: _Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[set[str]] = []
    monkeypatch.setattr(
        "landspeed.sampling.sampler.give_back", lambda names, home: given.append(names)
    )
    runs.stop_after = 1
    preset = replace(PRESET, profiles=("default", "default-on-tmpfs"))
    request = Request(targets=parse_targets(["18"], Variant()), preset=preset, scales={})
    with pytest.raises(KeyboardInterrupt):
        Campaign(session=session, requests=[request], publish=None).run()  # type: ignore[arg-type]
    assert given == [{"tmpfs"}]


def test_every_point_gets_its_samples_interleaved_over_the_builds(
    session: _Workshop, runs: _Runs
) -> None:
    tally = campaign(session, "17", "18", "18:bs4").run()
    points = {f"{b} {m}" for b in session.builds for m in ("read-only", "read-write")}
    assert (tally.measured, tally.present, tally.errors) == (12, 0, [])
    assert set(runs.asked[:6]) == set(runs.asked[6:]) == points
    assert failed(tally) is None


def test_what_is_recorded_is_not_measured_again(session: _Workshop, runs: _Runs) -> None:
    campaign(session, "18").run()
    again = campaign(session, "18", "17").run()
    assert (again.measured, again.present) == (4, 4)
    assert all(asked.startswith("17.1") for asked in runs.asked[4:])
    assert "4 runs measured, 4 were recorded before" in summary(again)


def test_data_that_do_not_fit_on_the_disk_are_reported_first(
    session: _Workshop,
    runs: _Runs,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    campaign(session, "17").run()
    assert "are available" not in capsys.readouterr().err
    monkeypatch.setenv("LANDSPEED_TEMPLATES_GB", "0")
    campaign(session, "18").run()
    assert "0.0 GB are available (LANDSPEED_TEMPLATES_GB)" in capsys.readouterr().err


def test_of_identical_builds_only_one_is_measured_and_the_other_noted(
    session: _Workshop, runs: _Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    session.twins = ("17.1", "18.1")
    tally = campaign(session, "17", "18").run()
    assert tally.measured == 4
    (measured,) = {str(name) for name in session.records.table()["release"].to_pylist()}
    (twin,) = session.records.identical_builds.read(IdenticalBuild)
    assert {measured, twin.origin.release} == {"17.1", "18.1"}
    said = f"{twin.origin.release} bs8 is the same server as {measured}: shares its 4 samples"
    assert said in capsys.readouterr().err
    campaign(session, "17", "18").run()
    assert len(session.records.identical_builds.read(IdenticalBuild)) == 1


def test_an_interrupted_campaign_keeps_its_runs_and_goes_on(
    session: _Workshop, runs: _Runs
) -> None:
    runs.stop_after = 5
    with pytest.raises(KeyboardInterrupt):
        campaign(session, "17", "18").run()
    assert session.records.table(["id"]).num_rows == 5
    assert list((session.paths.records / "loose").glob("*.json")) == []
    runs.stop_after = None
    tally = campaign(session, "17", "18").run()
    assert (tally.measured, tally.present) == (3, 5)


def test_a_server_that_dies_costs_its_own_point_and_no_other(
    session: _Workshop, runs: _Runs
) -> None:
    runs.failing = "17.1"
    tally = campaign(session, "17", "18").run()
    assert tally.measured == 4
    error = failed(tally)
    assert error is not None
    assert "the server died under pgbench" in error.detail
    # twice for each of its two points, then given up
    assert sum(asked.startswith("17.1") for asked in runs.asked) == 4


def test_a_build_or_source_that_fails_is_told_and_the_others_are_measured(
    session: _Workshop, runs: _Runs
) -> None:
    tally = campaign(session, "15", "14", "9.0", "18").run()
    assert tally.measured == 4
    assert [error.exit_code for error in tally.errors] == [5, 6, 5]


def test_what_was_built_elsewhere_is_measured_like_any_other(
    session: _Workshop, runs: _Runs
) -> None:
    tally = campaign(session, "17", "@vendor").run()
    assert (tally.measured, tally.errors) == (8, [])
    assert "15.1-bs8" not in session.builds
    names = session.records.table()["registered"].to_pylist()
    assert names.count("vendor") == names.count(None) == 4


def test_a_mistyped_ref_is_told_before_anything_is_built(session: _Workshop, runs: _Runs) -> None:
    with pytest.raises(RefError, match="77"):
        campaign(session, "18", "77").run()
    assert session.builds == []


def test_the_first_dot_is_published_before_the_second_build(
    session: _Workshop, runs: _Runs
) -> None:
    seen: list[tuple[int, int]] = []

    def publish() -> None:
        seen.append((len(session.builds), len(runs.asked)))
        session.paths.site.mkdir(exist_ok=True)

    tally = campaign(session, "18", "17", publish=publish).run()
    assert seen[0] == (1, 1)
    assert seen[-1] == (2, 8)
    assert tally.measured == 8


def test_a_busy_machine_delays_the_first_dot_and_stops_the_measuring(
    session: _Workshop, runs: _Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(**_: object) -> None:
        raise BusyError("another landspeed is measuring on this machine")

    monkeypatch.setattr(campaign_, "measuring", busy)
    with pytest.raises(BusyError):
        campaign(session, "18", "17", publish=lambda: None).run()
    assert session.builds == ["18.1-bs8", "17.1-bs8"]


def test_a_template_that_cannot_be_loaded_is_told_and_its_points_are_given_up(
    session: _Workshop, runs: _Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def prepare(*, build: Build, **_: Any) -> None:
        if build.identifier.startswith("17.1"):
            raise ClusterError("could not load")

    monkeypatch.setattr(campaign_, "prepare", prepare)
    runs.failing = "17.1"
    tally = campaign(session, "17", "18").run()
    assert tally.measured == 4
    assert "could not load" in str(failed(tally))


def test_a_server_is_compared_with_itself_a_little_for_every_so_many_runs(
    session: _Workshop, runs: _Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []

    def compare_with_itself(_: Any, __: Any, point: Any, *, seconds: int, blocks: int) -> None:
        asked.append((point.build.identifier, blocks))
        raise MeasureError("its copy died")

    monkeypatch.setattr(campaign_, "compare_with_itself", compare_with_itself)
    campaign(session, "18").run()
    assert asked == []
    monkeypatch.setattr(campaign_, "RUNS_PER_BLOCK", 2)
    tally = campaign(session, "18", "17").run()
    ((name, blocks),) = asked
    assert name in session.builds
    assert blocks == tally.measured // 2 == 2
    assert [error.message for error in tally.errors] == ["its copy died"]
    campaign(session, "18", "17").run()
    assert len(asked) == 1


def test_counts_are_no_runs_for_which_a_server_is_timed_against_itself(
    session: _Workshop, runs: _Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count_all(points: Any, *_: Any, done: Callable[[Record], None], **__: Any) -> None:
        for point in points:
            done(timed_record(build=point.build, cell=point.cell, machine=session.machine, run={}))

    asked: list[object] = []
    monkeypatch.setattr(campaign_, "uncounted", lambda points, *_: points)
    monkeypatch.setattr(campaign_, "count_all", count_all)
    monkeypatch.setattr(campaign_, "compare_with_itself", lambda *given, **_: asked.append(given))
    monkeypatch.setattr(campaign_, "RUNS_PER_BLOCK", 1)
    request = Request(
        targets=parse_targets(["18"], Variant()), preset=PRESET, scales={}, counted=True
    )
    tally = Campaign(session=session, requests=[request], publish=None).run()  # type: ignore[arg-type]
    assert (tally.measured, tally.errors, asked) == (4, [], [])
