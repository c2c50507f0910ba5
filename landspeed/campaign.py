"""A Campaign: build all that is asked for, then measure it interleaved until every point has its
samples. What is recorded already is never measured again, so the same command goes on."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from base.build import Build, Variant
from base.errors import (
    BuildError,
    BusyError,
    LandspeedError,
    MeasureError,
    SourceError,
    StorageError,
    UsageError,
)
from benchmarks.exclusive import measuring
from benchmarks.measure import measure, prepare, templates
from benchmarks.pgbench import Pgbench
from benchmarks.planning import counted_cells, planned_cells
from benchmarks.point import Comparable, Point, PointKey, count_samples
from benchmarks.scenarios import Cell, Preset, Tier
from benchmarks.twins import SERVER_COLUMNS, origins_by_digest
from builders.source import Source
from landspeed.counting import count_all, uncounted
from landspeed.progress import Meter, duration, meter, say
from landspeed.schedule import Turn, turns
from landspeed.self_comparison import RUNS_A_BLOCK, compare_with_itself, point_due
from landspeed.target import Target
from landspeed.workshop import Workshop

_PUBLISH_EVERY_SECONDS = 300.0
_OVERHEAD_SECONDS = 2.0  # a first guess of what a Run costs besides pgbench's own time
_TRIES = 2


@dataclass(frozen=True, kw_only=True)
class Request:
    """A Request is what a person asks a Campaign for; a preset with its scale factors.

    With ``counted`` its instructions are counted, else it is timed.
    """

    targets: Sequence[Target]
    preset: Preset
    scales: Mapping[Tier, int]
    counted: bool = False


@dataclass(kw_only=True)
class Tally:
    """A Tally is what a Campaign did: builds, Runs, and the errors it went on after."""

    built: int = 0
    measured: int = 0
    present: int = 0
    errors: list[LandspeedError] = field(default_factory=list)

    def facts(self) -> dict[str, Any]:
        """The Tally as JSON can hold it."""
        return {
            "built": self.built,
            "measured": self.measured,
            "present": self.present,
            "errors": [error.message for error in self.errors],
        }


@dataclass(kw_only=True)
class Campaign:
    """A Campaign carries out one Request; ``publish`` is called when there is something new."""

    workshop: Workshop
    request: Request
    publish: Callable[[], None] | None
    tally: Tally = field(default_factory=Tally)

    def run(self) -> Tally:
        """Do it all; what fails is reported and the rest goes on."""
        cells = self._cells()
        sources = self._sources()
        client = self.workshop.build(
            self.workshop.builder.newest_stable(), Variant(), narrate=self._narrate_build
        )
        pgbench = Pgbench(build=client)
        try:
            with ExitStack() as held:
                held.enter_context(self.workshop.builder.store.in_use([client]))
                builds = self._build_all(sources, pgbench, cells, held)
                held.enter_context(measuring(counting=self.request.counted))
                if self.request.counted:
                    self._count_all(builds, pgbench, cells)
                else:
                    self._measure_all(builds, pgbench, cells)
        finally:
            self.workshop.records.seal()
        self._note_twins(builds)
        self._keep_ledger(builds, pgbench, cells)
        # also when nothing is new: the last one may have been ended before it published
        if self.publish and builds:
            self.publish()
        return self.tally

    def _sources(self) -> list[tuple[Target, Source | Build]]:
        # all of them before the first compiler starts: a mistyped REF is known in seconds
        found: list[tuple[Target, Source | Build]] = []
        for target in self.request.targets:
            try:
                found.append((target, self.workshop.named(target)))
            except SourceError as error:
                self._report(error)
        return found

    def _cells(self) -> list[Cell]:
        plan = counted_cells if self.request.counted else planned_cells
        cells = plan(
            self.request.preset,
            self.workshop.machine,
            self.workshop.paths.server_root,
            self.request.scales,
        )
        for reason, count in Counter(p.reason for p in cells if p.reason).items():
            say(f"not applicable here: {count} cells, {reason}")
        if all(p.reason for p in cells):
            raise UsageError(
                "no cell of this preset can run on this machine",
                detail=cells[0].reason or "",
                hint='"landspeed plan --preset NAME" lists each cell with its reason.',
            )
        return [p.cell for p in cells if p.reason is None]

    def _narrate_build(self, text: str) -> None:
        self.tally.built += text.startswith("built ")
        say(text)

    def _build_all(
        self,
        sources: list[tuple[Target, Source | Build]],
        pgbench: Pgbench,
        cells: list[Cell],
        held: ExitStack,
    ) -> list[Build]:
        builds: list[Build] = []
        for number, (target, named) in enumerate(sources, start=1):
            try:
                build = self._built(named, target.variant, f"({number} of {len(sources)})")
            except (BuildError, StorageError) as error:
                self._report(error)
                continue
            # the store may make room while the next one is built: this one is to be measured
            held.enter_context(self.workshop.builder.store.in_use([build]))
            builds.append(build)
            self._first_dot(build, pgbench, cells)
        return list({(one.identifier, one.origin.name): one for one in builds}.values())

    def _built(self, named: Source | Build, variant: Variant, which: str) -> Build:
        if isinstance(named, Build):
            return named
        title = f"building {named.origin.name} {variant} {which}"
        return self.workshop.build(named, variant, title=title, narrate=self._narrate_build)

    def _first_dot(self, build: Build, pgbench: Pgbench, cells: list[Cell]) -> None:
        # A person who asked for a site sees one dot while the other builds are still made:
        # it is an ordinary sample of the point, only early.
        if self.publish is None or self.request.counted or self.workshop.paths.site.exists():
            return
        try:
            with measuring():
                self._measure_all([build], pgbench, cells[:1], samples=1)
        except BusyError:
            return
        if self.tally.measured:
            self.publish()

    def _measure_all(
        self,
        builds: list[Build],
        pgbench: Pgbench,
        cells: list[Cell],
        samples: int | None = None,
    ) -> None:
        preset = self.request.preset
        points = [Point(build=build, cell=cell) for build in builds for cell in cells]
        have = self._have(pgbench)
        wanted = samples or preset.samples
        due = list(turns(points, have, samples=wanted, seed=random.SystemRandom().getrandbits(32)))
        before = len({p.key for p in points}) * wanted - len(due)
        self.tally.present = max(0, before - self.tally.measured)
        if not due:
            return
        say(
            f"measuring {len({p.key for p in points})} points: {len(due)} runs of "
            f"{preset.seconds} s are due, {self.tally.present} are recorded"
        )
        self._load(points, pgbench)
        with meter("measuring") as shown:
            self._take_turns(due, pgbench, shown)

    def _count_all(self, builds: list[Build], pgbench: Pgbench, cells: list[Cell]) -> None:
        points = [Point(build=build, cell=cell) for build in builds for cell in cells]
        due = uncounted(points, self.workshop, pgbench)
        self.tally.present = len({point.key for point in points}) - len(due)
        if not due:
            return
        say(f"counting {len(due)} points, {self.tally.present} are recorded")
        self._load(due, pgbench)
        count_all(
            due,
            self.workshop,
            pgbench,
            preset=self.request.preset.name,
            done=self._record,
            failed=self._report,
        )

    def _record(self, record: Mapping[str, Any]) -> None:
        self.workshop.records.add(record)
        self.tally.measured += 1

    def _note_twins(self, builds: list[Build]) -> None:
        """Write down which of *builds* have only samples of others that are the same server."""
        records = self.workshop.records
        table = records.table(["id", *SERVER_COLUMNS])
        measured = origins_by_digest(table, ())
        samples = Counter(table["digest"].to_pylist())
        for build in builds:
            same = measured.get(build.digest, {})
            if same and build.origin.name not in same:
                records.twins.add(build)
                say(
                    f"{build.label} is the same server as {', '.join(same)}: "
                    f"shares its {samples[build.digest]} samples"
                )

    def _keep_ledger(self, builds: list[Build], pgbench: Pgbench, cells: list[Cell]) -> None:
        """Compare a server with itself a little, once for every so many Runs measured."""
        blocks = self.tally.measured // RUNS_A_BLOCK
        point = point_due(self.workshop, builds, cells) if blocks else None
        if point is None:
            return
        try:
            seconds = self.request.preset.seconds
            compare_with_itself(self.workshop, pgbench, point, seconds=seconds, blocks=blocks)
        except LandspeedError as error:
            self._report(error)

    def _load(self, points: list[Point], pgbench: Pgbench) -> None:
        store = templates(self.workshop.paths, pgbench, say)
        wanted = {(p.build.identifier, p.cell.scenario.scale): p.build for p in points}
        with meter("loading data") as shown:
            for number, ((_, scale), build) in enumerate(wanted.items()):
                shown.update(number / len(wanted), f"{build.label} scale {scale}")
                try:
                    prepare(build=build, scale=scale, store=store)
                except LandspeedError as error:
                    self._report(error)

    def _have(self, pgbench: Pgbench) -> Counter[PointKey]:
        comparable = Comparable(
            machine=self.workshop.machine,
            pgbench_version=str(pgbench.build.version),
            seconds=self.request.preset.seconds,
        )
        return count_samples(comparable.of(self.workshop.records.table()))

    def _take_turns(self, due: list[Turn], pgbench: Pgbench, shown: Meter) -> None:
        failures: Counter[PointKey] = Counter()
        began = published = time.monotonic()
        for done, turn in enumerate(due):
            # a point that failed twice is given up for this time
            if failures[turn.point.key] >= _TRIES:
                continue
            each = (
                (time.monotonic() - began) / done
                if done
                else (self.request.preset.seconds + _OVERHEAD_SECONDS)
            )
            shown.update(done / len(due), turn.point.label, left=each * (len(due) - done))
            try:
                self._measure(turn, pgbench)
            except LandspeedError as error:
                failures[turn.point.key] += 1
                self._report(error)
            if self.publish and time.monotonic() - published >= _PUBLISH_EVERY_SECONDS:
                self.publish()
                published = time.monotonic()
        say(f"measured {self.tally.measured} runs in {duration(time.monotonic() - began)}")

    def _measure(self, turn: Turn, pgbench: Pgbench) -> None:
        preset = self.request.preset
        record = measure(
            build=turn.point.build,
            pgbench=pgbench,
            cell=turn.point.cell,
            seconds=preset.seconds,
            seed=turn.seed,
            machine=self.workshop.machine,
            paths=self.workshop.paths,
            context={"preset": preset.name, "round": turn.round},
        )
        self._record(record)

    def _report(self, error: LandspeedError) -> None:
        self.tally.errors.append(error)
        say(str(error))


def summary(tally: Tally) -> str:
    """One line: what was built, measured, and what was there already."""
    return (
        f"{tally.built} built, {tally.measured} runs measured, {tally.present} were recorded before"
    )


def failed(tally: Tally) -> MeasureError | None:
    """The error a Campaign that went on after errors ends with."""
    if not tally.errors:
        return None
    firsts = list(dict.fromkeys(e.message for e in tally.errors))
    return MeasureError(
        f"{len(tally.errors)} builds or runs failed, the others are recorded",
        detail="\n".join(firsts[:10]),
        hint="Mend the cause and give the same command again: it does only what is missing.",
    )
