"""The Agenda: what is new upstream and not measured yet, as far as the budget goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from itertools import product, zip_longest
from typing import Any

from base.build import Variant
from base.errors import LandspeedError, RefError
from base.files import digest_text
from base.version import Version, VersionRange
from benchmarks.workloads.metrics import METRICS
from benchmarks.workloads.scenario import CacheState, Preset
from builders.source import Sources
from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus
from landspeed.changepoints.detect import ChangepointScan
from landspeed.farm.coverage import CostEstimate, Coverage, Server
from landspeed.farm.priority import fresh, together
from landspeed.farm.runners import runner_labels
from landspeed.session.session import Session
from landspeed.session.target import Target
from landspeed.session.tracking_config import TrackingConfig

_COUNTS_A_JOB = 4
_EXACT = {metric.exact: metric for metric in METRICS}


@dataclass(frozen=True, kw_only=True)
class NewRevision:
    """An Arrival is a commit or release that may be measured: ``ref`` names it for ever."""

    ref: str
    line: str
    date: str
    subject: str


@dataclass(frozen=True, kw_only=True)
class Share:
    """A Share is what one machine is to measure of a set of targets, in their order.

    ``due`` is how many there would be, ``seconds`` what those chosen are thought to take.
    """

    machine: str
    targets: tuple[Target, ...]
    due: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class TrackingPlan:
    """An Agenda is what is to be built, counted, timed and put to the test now.

    ``broken`` commits do not build and are passed over; ``suspect`` machines have steps that
    nobody has put to the test.
    """

    arrivals: Mapping[str, NewRevision]
    counted: Share
    timed: tuple[Share, ...]
    client: Target
    broken: int
    suspect: tuple[str, ...]

    @property
    def targets(self) -> list[Target]:
        """All that is to be measured, each once."""
        return list(dict.fromkeys(t for share in self.shares for t in share.targets))

    @property
    def shares(self) -> tuple[Share, ...]:
        """What is counted, and what each machine times."""
        return (self.counted, *self.timed)

    @property
    def machines(self) -> list[str]:
        """The machines whose steps may be new, or wait to be put to the test."""
        busy = [share.machine for share in self.shares if share.targets]
        return list(dict.fromkeys([*busy, *self.suspect]))


def survey_of_arrivals(sources: Sources, track: TrackingConfig) -> list[list[NewRevision]]:
    """The Arrivals of each line, oldest first: watched branches, then releases by major.

    RefError if no branch upstream is watched.
    """
    tips = sources.branches()
    watched = [
        name for pattern in track.branches for name in sorted(tips) if fnmatchcase(name, pattern)
    ]
    if not watched:
        raise RefError(
            "no branch upstream is watched",
            detail=f"Watched: {', '.join(track.branches)}. "
            f"Upstream has {len(tips)} branches, such as {', '.join(sorted(tips)[:5])}.",
            hint="Correct [track] branches in landspeed.toml, or LANDSPEED_TRACK_BRANCHES.",
        )
    seen: set[str] = set()
    lines = []
    for name in dict.fromkeys(watched):
        commits = sources.history.latest(tips[name], track.depth)
        own = [one for one in commits if one.hash not in seen]
        seen |= {one.hash for one in own}
        lines.append(
            [NewRevision(ref=c.hash, line=name, date=c.date, subject=c.subject) for c in own]
        )
    return [*lines, *_releases(sources, track)]


def _releases(sources: Sources, track: TrackingConfig) -> Iterator[list[NewRevision]]:
    if not track.releases:
        return
    wanted = VersionRange.parse(since=track.releases)
    lines: dict[str, list[Version]] = {}
    for version in sorted(v for v in sources.tagged() if v.is_release and v in wanted):
        lines.setdefault(version.major_text, []).append(version)
    for major, versions in reversed(lines.items()):
        yield [
            NewRevision(ref=str(v), line=major, date="", subject=f"PostgreSQL {v}")
            for v in versions
        ]


def in_order(
    lines: Sequence[Sequence[NewRevision]], done: Callable[[NewRevision], bool]
) -> list[NewRevision]:
    """What is not *done* of *lines*, in the order in which it is worth measuring.

    What is newer than the newest that is done, the newest of all first; then the gaps.
    """
    known = [[done(one) for one in line] for line in lines]
    first: list[NewRevision] = []
    # in turns, lest a busy branch keep the tip of a quiet one waiting
    for row in zip_longest(*(fresh(one) for one in known)):
        new = [lines[at][place] for at, place in enumerate(row) if place is not None]
        first += sorted(new, key=lambda one: one.date, reverse=True)
        for at, place in enumerate(row):
            if place is not None:
                known[at][place] = True
    return first + [lines[line][place] for line, place in together(known)]


def agenda(session: Session, track: TrackingConfig, found: ChangepointScan) -> TrackingPlan:
    """What is to be done now, by what upstream has and the records of *session* know."""
    lines = survey_of_arrivals(session.builder.sources, track)
    preset, counter = track.measured, session.machine.name
    known = Coverage.of(session.records, preset)
    prices = CostEstimate.of(session.records, session.machine.cores)
    choice = _Choice(lines=lines, track=track, known=known, buildable=_buildable(session))
    timing = (preset.seconds + prices.overhead) * preset.samples * _cells(preset)
    newest = session.builder.newest_stable().origin
    arrivals = {one.ref: one for line in lines for one in line}
    return TrackingPlan(
        arrivals=arrivals,
        counted=choice.share(
            counter,
            lambda server: known.is_counted(server, counter, preset),
            prices.build + prices.count * _counts(preset),
        ),
        timed=tuple(
            choice.share(m, partial(known.is_timed, machine=m, preset=preset), timing)
            for m in track.machines
        ),
        client=Target(ref=newest.release or str(newest.commit), variant=Variant()),
        broken=len({one for one in known.broken if one[0] in arrivals}),
        suspect=_suspects(session, found, {counter, *track.machines}),
    )


@dataclass(frozen=True, kw_only=True)
class _Choice:
    """What there is to choose from, and what is known of it."""

    lines: Sequence[Sequence[NewRevision]]
    track: TrackingConfig
    known: Coverage
    buildable: Callable[[Target], bool]

    def share(self, machine: str, done: Callable[[Server], bool], each: float) -> Share:
        """What *machine* is to do of what is not *done*, at *each* seconds a target."""
        chosen: list[Target] = []
        due, spent = 0, 0.0
        for target in self._due(done):
            due += 1
            # one at least: a budget that is too small must not stop everything for ever
            if (spent + each <= self.track.seconds or not chosen) and self.buildable(target):
                chosen.append(target)
                spent += each
        return Share(machine=machine, targets=tuple(chosen), due=due, seconds=spent)

    def _due(self, done: Callable[[Server], bool]) -> Iterator[Target]:
        variants = [Variant.parse(name) for name in self.track.variants]

        def settled(one: NewRevision, variant: Variant) -> bool:
            server = (one.ref, variant.name)
            return server in self.known.broken or done(server)

        every = in_order(self.lines, lambda one: all(settled(one, v) for v in variants))
        for one, variant in product(every, variants):
            if not settled(one, variant):
                yield Target(ref=one.ref, variant=variant)


def _buildable(session: Session) -> Callable[[Target], bool]:
    """Whether a target is one that can be built at all: a release may not have its variant."""

    def check(target: Target) -> bool:
        try:
            session.named(target)
        except LandspeedError:
            return False
        return True

    return check


def _counts(preset: Preset) -> int:
    return len(preset.modes) * len(preset.protocols) * len(preset.profiles) * len(CacheState)


def _cells(preset: Preset) -> int:
    axes = (preset.modes, preset.protocols, preset.profiles, preset.tiers, preset.rungs)
    return sum(1 for _ in product(*axes))


def _suspects(session: Session, found: ChangepointScan, machines: set[str]) -> tuple[str, ...]:
    """Those of *machines* that have steps which no Confirmation speaks of yet."""
    notes = session.records.confirmations.all()
    told = {Changepoint.parse(note["nomination"]).key for note in notes}
    steps = [one for one in found.changepoints if one.status is ChangepointStatus.NOMINATED]
    waiting = [s.machine for s in steps if s.key not in told]
    return tuple(sorted(machines & set(waiting)))


def outputs(session: Session, track: TrackingConfig, plan: TrackingPlan) -> dict[str, Any]:
    """The Agenda as the jobs of track.yml take it: a matrix for each of them, and how many."""
    rows = (_build_row(session, target) for target in _to_build(plan))
    # a commit and the one that restores it are one build, and an artifact is left once
    builds = list({row["identifier"]: row for row in rows}.values())
    counts = [
        {"name": str(number), "targets": _words(batch)}
        for number, batch in enumerate(_batches(plan.counted.targets), start=1)
    ]
    timings = [{"machine": s.machine, "targets": _words(s.targets)} for s in plan.timed]
    timings = [row for row in timings if row["targets"]]
    confirms = [{"machine": machine, "labels": _labels(plan, machine)} for machine in plan.machines]
    return {
        "builds": builds,
        "builds_count": len(builds),
        "counts": counts,
        "counts_count": len(counts),
        "timings": [row | {"labels": _labels(plan, row["machine"])} for row in timings],
        "timings_count": len(timings),
        "confirms": confirms,
        "confirms_count": len(confirms),
        "refs": [target.ref for target in plan.targets],
        "labels": runner_labels(_EXACT[True]),
        "counter": plan.counted.machine,
        "sources_key": _sources_key(session),
        "preset": track.preset,
        "modes": " ".join(track.modes),
    }


def _sources_key(session: Session) -> str:
    """What the sources are cached under: anew each week, what came since is fetched."""
    year, week, _ = datetime.now(UTC).isocalendar()
    return f"sources-{digest_text(session.builder.sources.config.upstream)[:8]}-{year}-{week}"


def _to_build(plan: TrackingPlan) -> list[Target]:
    # the client comes first: everybody who measures needs it
    return list(dict.fromkeys([plan.client, *plan.targets])) if plan.targets else []


def _build_row(session: Session, target: Target) -> dict[str, str]:
    source = session.builder.sources.resolve(target.ref)
    recipe = session.builder.recipe(source, target.variant)
    identifier = session.builder.identifier(source, recipe)
    return {"target": str(target), "identifier": identifier}


def _batches(targets: Sequence[Target]) -> Iterator[Sequence[Target]]:
    for first in range(0, len(targets), _COUNTS_A_JOB):
        yield targets[first : first + _COUNTS_A_JOB]


def _words(targets: Sequence[Target]) -> str:
    return " ".join(map(str, targets))


def _labels(plan: TrackingPlan, machine: str) -> list[str]:
    if machine == plan.counted.machine:
        return runner_labels(_EXACT[True])
    return [*runner_labels(_EXACT[False]), machine]
