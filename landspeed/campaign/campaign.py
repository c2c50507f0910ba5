"""Build everything that was requested, then measure it interleaved until all samples are there.

What is recorded is not measured again, so repeating the command resumes an interrupted campaign.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from base.build import Build, Variant
from base.errors import (
    BuildError,
    BusyError,
    LandspeedError,
    SourceError,
    StorageError,
    UsageError,
    some_failed,
)
from benchmarks.applicability import counted_cells, planned_cells
from benchmarks.clients.pgbench import Pgbench
from benchmarks.machine.lock import measuring
from benchmarks.measure import measure, prepare, templates
from benchmarks.observation.warnings import RunFindings
from benchmarks.records.identical_builds import SERVER_COLUMNS, IdenticalBuild
from benchmarks.records.record import Record
from benchmarks.workloads.points import Point, PointKey, count_samples, digests_of
from benchmarks.workloads.scenario import Cell, Preset, Tier
from builders.source import Source
from landspeed.campaign.disk import DiskEstimate, data_of
from landspeed.compare.aa_schedule import RUNS_PER_BLOCK, compare_with_itself, point_due
from landspeed.console.format import counted
from landspeed.console.progress import Meter, duration, meter, say
from landspeed.results.points import origins_by_digest
from landspeed.results.warnings import RunWarning, count_warnings_by_point
from landspeed.sampling.counted import count_all, points_of, uncounted
from landspeed.sampling.rounds import OVERHEAD_SECONDS, Turn, turns
from landspeed.sampling.sampler import comparable_runs, give_back_storages
from landspeed.session.session import Session
from landspeed.session.target import Target

_PUBLISH_EVERY_SECONDS = 300.0
_TRIES = 2


@dataclass(frozen=True, kw_only=True)
class Request:
    """Targets to measure with a preset, at the scale factors of ``scales``.

    With ``counted``, instructions are counted; otherwise runs are timed.
    """

    targets: Sequence[Target]
    preset: Preset
    scales: Mapping[Tier, int]
    counted: bool = False


@dataclass(kw_only=True)
class Tally:
    """Numbers of builds and runs of a campaign, and the errors after which it went on.

    ``present`` counts the runs that were recorded before. ``records`` holds the parts of each
    new record that warnings are computed from, by the label of its point.
    """

    built: int = 0
    measured: int = 0
    present: int = 0
    errors: list[LandspeedError] = field(default_factory=list)
    findings: dict[str, list[RunFindings]] = field(default_factory=dict)

    def report(self, error: LandspeedError) -> None:
        """Print *error*, after which the campaign goes on, and keep it."""
        self.errors.append(error)
        say(str(error))

    def warnings(self) -> list[RunWarning]:
        """Return the warnings about the runs of this campaign."""
        return count_warnings_by_point(self.findings)

    def facts(self) -> dict[str, Any]:
        """Return the tally as JSON can hold it."""
        return {
            "built": self.built,
            "measured": self.measured,
            "present": self.present,
            "errors": [error.message for error in self.errors],
            "warnings": [warning.facts() for warning in self.warnings()],
        }


@dataclass(kw_only=True)
class Campaign:
    """Requests that are carried out together, their runs interleaved.

    All requests have the same preset name, samples and seconds. ``publish`` is called when there
    are new results. ``made`` has the build of each target that could be built.
    """

    session: Session
    requests: Sequence[Request]
    publish: Callable[[], None] | None
    tally: Tally = field(default_factory=Tally)
    made: dict[Target, Build] = field(default_factory=dict)

    def __post_init__(self) -> None:
        hows = {
            (r.preset.name, r.preset.samples, r.preset.seconds, r.counted) for r in self.requests
        }
        if len(hows) != 1:
            raise ValueError("the requests of a campaign differ in how they measure")

    @property
    def builds(self) -> list[list[Build]]:
        """The builds of each request; targets that name the same build give it once."""
        each = [[self.made[t] for t in r.targets if t in self.made] for r in self.requests]
        return [list({one.identifier: one for one in builds}.values()) for builds in each]

    @property
    def _preset(self) -> Preset:
        return self.requests[0].preset

    @property
    def _counted(self) -> bool:
        return self.requests[0].counted

    @cached_property
    def _pgbench(self) -> Pgbench:
        newest = self.session.builder.newest_stable()
        return Pgbench(build=self.session.build(newest, Variant(), on_built=self._count_build))

    def run(self) -> Tally:
        """Build and measure; report what fails and go on."""
        profiles = {name for request in self.requests for name in request.preset.profiles}
        with ExitStack() as after:
            after.callback(give_back_storages, self.session, profiles)
            cells = self._cells()
            sources = self._sources()
            with ExitStack() as held:
                held.callback(self.session.records.seal)
                held.enter_context(self.session.builder.store.in_use([self._pgbench.build]))
                self._pgbench.require_scripts(m for r in self.requests for m in r.preset.modes)
                self.made = self._build_all(sources, cells, held)
                asked = zip(self.builds, cells, strict=True)
                points = [one for pair in asked for one in points_of(*pair)]
                held.enter_context(measuring(counting=self._counted))
                if self._counted:
                    self._count_all(points)
                else:
                    self._measure_all(points)
            note_identical_builds(self.session, self.made.values())
            if not self._counted:
                self._compare_with_itself([cell for asked in cells for cell in asked])
            # Publish even without new runs: an earlier campaign may have ended before it published.
            if self.publish and self.made:
                self.publish()
        return self.tally

    def _sources(self) -> dict[Target, Source | Build]:
        # Resolve all targets before the first build, so that a mistyped REF fails in seconds.
        found: dict[Target, Source | Build] = {}
        for target in dict.fromkeys(t for request in self.requests for t in request.targets):
            try:
                found[target] = self.session.named(target)
            except SourceError as error:
                self.tally.report(error)
        return found

    def _cells(self) -> list[list[Cell]]:
        """Return the cells of each request that can run on this machine."""
        plan = counted_cells if self._counted else planned_cells
        machine, root = self.session.machine, self.session.paths.server_root
        planned = [plan(one.preset, machine, root, one.scales) for one in self.requests]
        cells = [one for asked in planned for one in asked]
        for reason, count in Counter(p.reason for p in cells if p.reason).items():
            say(f"not applicable here: {count} cells, {reason}")
        if all(p.reason for p in cells):
            raise UsageError(
                "no cell of this preset can run on this machine",
                detail=cells[0].reason or "",
                hint='"landspeed plan --preset NAME" lists each cell with its reason.',
            )
        return [[p.cell for p in asked if p.reason is None] for asked in planned]

    def _count_build(self) -> None:
        self.tally.built += 1

    def _build_all(
        self, sources: dict[Target, Source | Build], cells: list[list[Cell]], held: ExitStack
    ) -> dict[Target, Build]:
        builds: dict[Target, Build] = {}
        for number, (target, named) in enumerate(sources.items(), start=1):
            try:
                build = self._built(named, target.variant, f"({number} of {len(sources)})")
            except (BuildError, SourceError, StorageError) as error:
                self.tally.report(error)
                continue
            # The store deletes builds when it needs room; this one is still to be measured.
            held.enter_context(self.session.builder.store.in_use([build]))
            builds[target] = build
            asked = zip(self.requests, cells, strict=True)
            first = next((some for r, some in asked if target in r.targets and some), None)
            if first:
                self._first_dot(Point(build=build, cell=first[0]))
        return builds

    def _built(self, named: Source | Build, variant: Variant, which: str) -> Build:
        if isinstance(named, Build):
            return named
        title = f"building {named.origin.name} {variant} {which}"
        return self.session.build(named, variant, title=title, on_built=self._count_build)

    def _first_dot(self, point: Point) -> None:
        # Measure one ordinary sample early, so that a new site shows a dot during the builds.
        if self.publish is None or self._counted or self.session.paths.site.exists():
            return
        if not point.cell.scenario.runs_on(point.build.version):
            return
        try:
            with measuring():
                self._measure_all([point], samples=1)
        except BusyError:
            return
        if self.tally.measured:
            self.publish()

    def _measure_all(self, points: list[Point], samples: int | None = None) -> None:
        preset = self._preset
        digests = digests_of(points)
        comparable = comparable_runs(self.session, self._pgbench, preset.seconds, digests)
        have = count_samples(comparable.of(self.session.records.table()))
        wanted = samples or preset.samples
        due = list(turns(points, have, samples=wanted, seed=random.SystemRandom().getrandbits(32)))
        keys = {point.key for point in points}
        self.tally.present = max(0, len(keys) * wanted - len(due) - self.tally.measured)
        if not due:
            return
        say(
            f"measuring {len(keys)} points: {len(due)} runs of {preset.seconds} s are due, "
            f"{self.tally.present} recorded already"
        )
        disk = DiskEstimate.of(self.session, ((p.build.identifier, p.cell) for p in points))
        again = disk.reload_seconds(turn.point.cell for turn in due)
        if again:
            say(f"disk: {disk.text(again)}")
        self._load(points)
        with meter("measuring") as shown:
            self._take_turns(due, shown)

    def _count_all(self, points: list[Point]) -> None:
        due = uncounted(points, self.session, self._pgbench)
        self.tally.present = len({point.key for point in points}) - len(due)
        if not due:
            return
        say(f"counting {len(due)} points, {self.tally.present} recorded already")
        self._load(due)
        done, failed = self._record, self.tally.report
        count_all(due, self.session, self._pgbench, self._preset.name, done=done, failed=failed)

    def _record(self, record: Record) -> None:
        self.session.records.add(record)
        self.tally.measured += 1

    def _compare_with_itself(self, cells: list[Cell]) -> None:
        """Add a block to the A/A comparison of one server for every RUNS_PER_BLOCK runs."""
        blocks = self.tally.measured // RUNS_PER_BLOCK
        point = point_due(self.session, list(self.made.values()), cells) if blocks else None
        if point is None:
            return
        try:
            seconds = self._preset.seconds
            compare_with_itself(self.session, self._pgbench, point, seconds=seconds, blocks=blocks)
        except LandspeedError as error:
            self.tally.report(error)

    def _load(self, points: list[Point]) -> None:
        wanted = {data_of(point.build.identifier, point.cell): point for point in points}
        with meter("loading data") as shown:
            for number, point in enumerate(wanted.values()):
                scale = point.cell.scenario.scale
                shown.update(number / len(wanted), f"{point.build.label} scale {scale}")
                try:
                    store = templates(self.session.paths, self._pgbench, cell=point.cell)
                    prepare(build=point.build, scale=scale, store=store)
                except LandspeedError as error:
                    self.tally.report(error)

    def _take_turns(self, due: list[Turn], shown: Meter) -> None:
        failures: Counter[PointKey] = Counter()
        began = published = time.monotonic()
        for done, turn in enumerate(due):
            # After two failures the point is left to the next campaign.
            if failures[turn.point.key] >= _TRIES:
                continue
            first = self._preset.seconds + OVERHEAD_SECONDS
            each = (time.monotonic() - began) / done if done else first
            shown.update(done / len(due), turn.point.label, left=each * (len(due) - done))
            try:
                self._measure(turn)
            except LandspeedError as error:
                failures[turn.point.key] += 1
                self.tally.report(error)
            if self.publish and time.monotonic() - published >= _PUBLISH_EVERY_SECONDS:
                self.publish()
                published = time.monotonic()
        runs = counted(self.tally.measured, "run")
        say(f"measured {runs} in {duration(time.monotonic() - began)}")

    def _measure(self, turn: Turn) -> None:
        preset = self._preset
        record = measure(
            build=turn.point.build,
            pgbench=self._pgbench,
            cell=turn.point.cell,
            seconds=preset.seconds,
            seed=turn.seed,
            machine=self.session.machine,
            paths=self.session.paths,
            context={"preset": preset.name, "round": turn.round},
        )
        self._record(record)
        self.tally.findings.setdefault(turn.point.label, []).append(RunFindings.of(record))


def note_identical_builds(session: Session, builds: Iterable[Build]) -> None:
    """Note which of *builds* share the samples of others because they install the same files."""
    records = session.records
    table = records.table(SERVER_COLUMNS)
    measured = origins_by_digest(table, ())
    samples = Counter(table["digest"].to_pylist())
    for build in builds:
        same = measured.get(build.digest, {})
        if same and build.origin.name not in same:
            records.identical_builds.add(IdenticalBuild(digest=build.digest, origin=build.origin))
            say(
                f"{build.label} is the same server as {', '.join(same)}: "
                f"shares its {counted(samples[build.digest], 'sample')}"
            )


def summary(tally: Tally) -> str:
    """Return *tally* as one line."""
    runs = counted(tally.measured, "run")
    return f"{tally.built} built, {runs} measured, {tally.present} were recorded before"


def failed(tally: Tally) -> LandspeedError | None:
    """Return the error that a campaign ends with if anything failed."""
    messages = [error.message for error in tally.errors]
    tried = tally.built + tally.measured + len(messages)
    return some_failed(messages, tried, "builds and runs")
