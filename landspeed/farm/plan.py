"""The tracking plan: what upstream has that no record covers yet, as far as the budget goes.

The newest revisions come first, while their authors still remember them. Then come the gaps behind
them, always the middle of the largest: wherever the budget ends, a changepoint is located as
closely as the number of measurements allows.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial
from itertools import groupby, product, zip_longest
from math import prod
from typing import Self

from base.build import Variant
from base.errors import LandspeedError, RefError
from base.version import VersionRange
from benchmarks.workloads.scenario import CacheState
from builders.source import Sources
from landspeed.changepoints.changepoint import ChangepointStatus, Confirmation
from landspeed.changepoints.detect import ChangepointScan
from landspeed.farm.coverage import Coverage, Server, cost_estimate
from landspeed.farm.matrix import MOST_JOBS
from landspeed.session.session import Session
from landspeed.session.target import Target
from landspeed.session.tracking_config import TrackingConfig


class MeasureKind(StrEnum):
    """What one run of the workflow measures."""

    COUNTS = "counts"
    TIMES = "times"


@dataclass(frozen=True, kw_only=True)
class NewRevision:
    """A commit or release that upstream has.

    ``ref``: The full hash of a commit, or the name of a release.
    ``line``: The branch of a commit, or the major version of a release.
    ``date``: When it was committed, ISO 8601; empty for a release.
    ``subject``: The first line of the commit message.
    """

    ref: str
    line: str
    date: str
    subject: str


@dataclass(frozen=True, kw_only=True)
class Assignment:
    """The targets that one machine has to measure.

    ``targets``: The chosen targets, in the order in which to measure them.
    ``due``: The number of targets that are not measured yet, the chosen ones included.
    ``seconds``: An estimate of how long the chosen targets take on this machine.
    """

    machine: str
    targets: tuple[Target, ...]
    due: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class TrackingPlan:
    """What to build, count, time and confirm now.

    ``revisions``: Everything that is tracked, by ref.
    ``timed``: One assignment for each machine that times.
    ``client``: The release whose pgbench loads the servers.
    ``broken``: The number of tracked targets that are skipped because they do not build.
    ``unconfirmed``: The machines with changepoints that no fresh samples have confirmed or refuted.
    """

    revisions: Mapping[str, NewRevision]
    counted: Assignment
    timed: tuple[Assignment, ...]
    client: Target
    broken: int
    unconfirmed: tuple[str, ...]

    @property
    def assignments(self) -> tuple[Assignment, ...]:
        """The assignment that counts, then those that time."""
        return (self.counted, *self.timed)

    @property
    def targets(self) -> list[Target]:
        """All targets to measure, each once."""
        return list(dict.fromkeys(t for one in self.assignments for t in one.targets))

    def limited_to(self, kind: MeasureKind) -> Self:
        """Return the part of the plan that counts, or the part that times."""
        counter = self.counted.machine
        if kind is MeasureKind.COUNTS:
            confirms = tuple(one for one in self.unconfirmed if one == counter)
            return replace(self, timed=(), unconfirmed=confirms)
        nothing = Assignment(machine=counter, targets=(), due=0, seconds=0.0)
        confirms = tuple(one for one in self.unconfirmed if one != counter)
        return replace(self, counted=nothing, unconfirmed=confirms)

    @property
    def machines(self) -> list[str]:
        """The machines that may have changepoints to confirm once everything is measured."""
        busy = [one.machine for one in self.assignments if one.targets]
        return list(dict.fromkeys([*busy, *self.unconfirmed]))


def tracked_lines(sources: Sources, track: TrackingConfig) -> list[list[NewRevision]]:
    """Return the tracked revisions, oldest first: a list a branch, then one a major version.

    RefError if no branch upstream matches a tracked pattern.
    """
    tips = sources.branches()
    branches = [
        name for pattern in track.branches for name in sorted(tips) if fnmatchcase(name, pattern)
    ]
    if not branches:
        raise RefError(
            "no branch upstream is tracked",
            detail=f"Tracked: {', '.join(track.branches)}. "
            f"Upstream has {len(tips)} branches, such as {', '.join(sorted(tips)[:5])}.",
            hint="Correct [track] branches in landspeed.toml, or LANDSPEED_TRACK_BRANCHES.",
        )
    seen: set[str] = set()
    lines = []
    for name in dict.fromkeys(branches):
        commits = [c for c in sources.history.latest(tips[name], track.depth) if c.hash not in seen]
        seen |= {commit.hash for commit in commits}
        lines.append(
            [NewRevision(ref=c.hash, line=name, date=c.date, subject=c.subject) for c in commits]
        )
    return [*lines, *_releases(sources, track)]


def _releases(sources: Sources, track: TrackingConfig) -> Iterator[list[NewRevision]]:
    if not track.releases:
        return
    wanted = VersionRange.parse(since=track.releases)
    tagged = sorted(v for v in sources.tagged() if v.is_release and v in wanted)
    majors = {major: [*some] for major, some in groupby(tagged, lambda one: one.major_text)}
    for major, versions in reversed(majors.items()):
        yield [
            NewRevision(ref=str(v), line=major, date="", subject=f"PostgreSQL {v}")
            for v in versions
        ]


def by_priority(
    lines: Sequence[Sequence[NewRevision]], is_covered: Callable[[NewRevision], bool]
) -> list[NewRevision]:
    """Return the revisions of *lines* that are not covered, the most worth measuring first.

    First come those newer than the newest covered one of their line, the newest first; then the
    gaps, see `largest_gaps_first`.
    """
    covered = [[is_covered(one) for one in line] for line in lines]
    found: list[NewRevision] = []
    # The lines take turns: a busy branch must not delay the tip of a quiet one.
    for row in zip_longest(*(newer_than_covered(one) for one in covered)):
        new = [(number, at) for number, at in enumerate(row) if at is not None]
        found += sorted((lines[n][at] for n, at in new), key=lambda one: one.date, reverse=True)
        for number, at in new:
            covered[number][at] = True
    return found + [lines[number][at] for number, at in largest_gaps_first(covered)]


def tracking_plan(session: Session, track: TrackingConfig, scan: ChangepointScan) -> TrackingPlan:
    """Plan from what upstream has, what *session*'s records cover and the changepoints in *scan*.

    Errors of the sources pass through.
    """
    lines = tracked_lines(session.builder.sources, track)
    revisions = {one.ref: one for line in lines for one in line}
    preset, counter = track.measured, session.machine.name
    coverage = Coverage.of(session.records, preset)
    build, count, overhead = cost_estimate(session.records, session.machine.cores)
    axes: tuple[Sized, ...] = (preset.modes, preset.protocols, preset.profiles)
    choice = _Choice(session=session, lines=lines, track=track, coverage=coverage)
    counted = choice.assignment(
        counter,
        lambda server: coverage.is_counted(server, counter, preset),
        build + count * prod(map(len, (*axes, CacheState))),
    )
    cells = prod(map(len, (*axes, preset.tiers, preset.client_counts)))
    timing = (preset.seconds + overhead) * preset.samples * cells
    machines = dict.fromkeys(track.machines)
    return TrackingPlan(
        revisions=revisions,
        counted=counted,
        timed=tuple(
            choice.assignment(m, partial(coverage.is_timed, machine=m, preset=preset), timing)
            for m in machines
        ),
        client=Target(ref=session.builder.newest_stable().origin.ref, variant=Variant()),
        broken=len({one for one in coverage.broken if one[0] in revisions}),
        unconfirmed=_unconfirmed(session, scan, {counter, *machines}),
    )


def _unconfirmed(session: Session, scan: ChangepointScan, machines: set[str]) -> tuple[str, ...]:
    notes = session.records.confirmations.read(Confirmation)
    tested = {note.changepoint.key for note in notes}
    waiting = {
        one.machine
        for one in scan.changepoints
        if one.status is ChangepointStatus.NOMINATED and one.key not in tested
    }
    return tuple(sorted(machines & waiting))


@dataclass(frozen=True, kw_only=True)
class _Choice:
    """Chooses the targets of one machine after the other, within the limits of all of them.

    ``builds``: What was chosen for any machine. Each is a job that builds, and the client is one
        more.
    """

    session: Session
    lines: Sequence[Sequence[NewRevision]]
    track: TrackingConfig
    coverage: Coverage
    builds: set[Target] = field(default_factory=set)

    def assignment(
        self, machine: str, is_measured: Callable[[Server], bool], seconds: float
    ) -> Assignment:
        """Choose from what *machine* has not measured; a target takes it *seconds*."""
        chosen: list[Target] = []
        due, spent = 0, 0.0
        for target in self._due(is_measured):
            due += 1
            # At least one, or a budget that is too small would stop everything for good.
            affordable = spent + seconds <= self.track.seconds or not chosen
            fits = target in self.builds or len(self.builds) < MOST_JOBS - 1
            if affordable and fits and self._is_buildable(target):
                chosen.append(target)
                self.builds.add(target)
                spent += seconds
        return Assignment(machine=machine, targets=tuple(chosen), due=due, seconds=spent)

    def _due(self, is_measured: Callable[[Server], bool]) -> Iterator[Target]:
        variants = [Variant.parse(name) for name in self.track.variants]

        def is_done(one: NewRevision, variant: Variant) -> bool:
            server = (one.ref, variant.name)
            return server in self.coverage.broken or is_measured(server)

        revisions = by_priority(self.lines, lambda one: all(is_done(one, v) for v in variants))
        for one, variant in product(revisions, variants):
            if not is_done(one, variant):
                yield Target(ref=one.ref, variant=variant)

    def _is_buildable(self, target: Target) -> bool:
        """Return whether the revision can have the variant: old releases lack some."""
        try:
            self.session.named(target)
        except LandspeedError:
            return False
        return True


def newer_than_covered(covered: Sequence[bool]) -> list[int]:
    """Return the positions after the last one *covered* of a line (oldest first), newest first.

    If none is covered, the newest position alone.
    """
    last = max((at for at, one in enumerate(covered) if one), default=len(covered) - 2)
    return list(range(len(covered) - 1, max(last, -1), -1))


def halved(covered: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield the size of the largest gap and the position of its middle, until all is covered.

    A gap is a run of positions that are not covered; of two of one size the newer comes first.
    Each middle counts as covered from then on. Sizes never grow.
    """
    heap = []
    for is_covered, group in groupby(range(len(covered)), key=lambda at: covered[at]):
        if not is_covered:
            run = list(group)
            heap.append((-len(run), -run[0]))
    heapq.heapify(heap)
    while heap:
        size, begin = (-number for number in heapq.heappop(heap))
        middle = begin + size // 2
        yield size, middle
        for start, length in ((begin, middle - begin), (middle + 1, begin + size - middle - 1)):
            if length:
                heapq.heappush(heap, (-length, -start))


def largest_gaps_first(lines: Iterable[Sequence[bool]]) -> list[tuple[int, int]]:
    """Return the number of the line and the position of all that is uncovered, by size of gap."""
    found = [[(-size, n, at) for size, at in halved(covered)] for n, covered in enumerate(lines)]
    return [(number, at) for _, number, at in heapq.merge(*found)]
