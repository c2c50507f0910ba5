"""Carry out a search over many workloads: build, count, write it down, until all is settled."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log
from typing import Any
from uuid import uuid4

from base.build import Build, Variant
from base.errors import (
    BuildError,
    ClusterError,
    LandspeedError,
    MeasureError,
    SourceError,
    UsageError,
)
from base.files import canonical_json, digest_text
from base.version import Version
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.count import Counter
from benchmarks.counted.valgrind import count_epoch, require_countable
from benchmarks.machine.lock import measuring
from benchmarks.records.record import Record
from benchmarks.workloads.catalog import CATALOG, Workload
from benchmarks.workloads.scenario import Cell
from builders.incremental_tree import APART
from landspeed.atlas.search import (
    AtlasProbe,
    AtlasQuestion,
    KnownLevels,
    grid,
    next_probe,
    work_left,
)
from landspeed.bisect.commit_range import CommitRange, commit_range
from landspeed.bisect.journal import ATLAS, Event, Journal
from landspeed.bisect.model import Costs
from landspeed.campaign.campaign import note_identical_builds
from landspeed.campaign.workloads import (
    CountKey,
    KnownCount,
    count_key,
    count_side_by_side,
    counted_cell,
    recorded_counts,
)
from landspeed.console.format import counted, percent
from landspeed.console.progress import Meter, meter, say
from landspeed.session.session import Session
from landspeed.session.target import Target

_clock = time.monotonic
_ESTIMATE = Costs(run=10.0, build=120.0)  # before anything was built or counted


@dataclass(frozen=True, kw_only=True)
class AtlasRequest:
    """Which commits and workloads, and the ``size`` of the changes looked for, as a share.

    ``commits`` are those that change what is installed, out of ``span`` commits. Points of the
    grid are at most ``spacing`` of them apart. ``budget`` is the time in seconds for one
    invocation. Of several machines that search at once each has a ``share``: the positions of its
    first and its last commit.
    """

    session: Session
    commits: CommitRange
    span: int
    variant: Variant
    workloads: tuple[Workload, ...]
    size: float
    spacing: int
    budget: float
    share: tuple[int, int] | None = None

    @classmethod
    def between(
        cls,
        session: Session,
        ends: tuple[Target, Target],
        workloads: Sequence[Workload],
        *,
        size: float,
        spacing: int,
        budget: float,
        share: tuple[str, str] | None = None,
    ) -> AtlasRequest:
        """Return the request for the commits between *ends*; of a *share*, two commits, if any.

        UsageError if they are no commits of the range.
        """
        sources, refs = session.builder.sources, [end.ref for end in ends]
        commits = commit_range(sources, *refs, apart=APART)
        return cls(
            session=session,
            commits=commits,
            span=commit_range(sources, *refs).last,
            variant=ends[0].variant,
            workloads=tuple(workloads),
            size=size,
            spacing=spacing,
            budget=budget,
            share=share and _positions(commits, share),
        )

    def journal(self, *, fresh: bool = False) -> AbstractContextManager[Journal]:
        """Open the journal for this process alone.

        It is about commits of one variant on one machine, so that any other search, of a longer
        range or a finer grid, continues it. That of a share is a new file, beside those of the
        other shares.
        """
        part = "" if self.share is None else uuid4().hex[:8]
        session = self.session
        inputs: dict[str, Any] = {
            "variant": self.variant.name,
            "toolchain": digest_text(
                canonical_json(session.builder.sandbox.toolchain(self.variant))
            ),
            "machine": session.machine.name,
            "epoch": count_epoch().identifier,
        }
        return Journal.open(session.paths.results / ATLAS, ATLAS, inputs, fresh=fresh, part=part)


@dataclass(kw_only=True)
class Atlas:
    """A search under way: what its ``journal`` and the records say, and how it goes on."""

    request: AtlasRequest
    journal: Journal
    _counts: dict[CountKey, KnownCount] = field(default_factory=dict)

    @cached_property
    def pgbench(self) -> Pgbench:
        """The pgbench that drives every server."""
        return Pgbench(build=self.request.session.pgbench_build())

    @cached_property
    def version(self) -> Version:
        """The version of the first commit, whose workloads are counted throughout."""
        request = self.request
        return request.session.builder.sources.resolve(request.commits[0].ref).version

    @cached_property
    def cells(self) -> dict[str, Cell]:
        """The cell of each workload that the first commit can run, by the workload's name."""
        request = self.request
        able = [
            one for one in request.workloads if one.runs_on(self.version) and not one.timed_only
        ]
        return {one.name: counted_cell(request.session, one) for one in able}

    @property
    def question(self) -> AtlasQuestion:
        """The question as the search understands it, with the costs known by now."""
        request, costs = self.request, self.journal.costs(_ESTIMATE)
        return AtlasQuestion(
            last=request.commits.last,
            series=tuple(self.cells),
            size=request.size,
            spacing=request.spacing,
            build=costs.build,
            count=costs.run / request.session.machine.cores,
            share=request.share,
        )

    @property
    def servers(self) -> dict[int, list[str]]:
        """The digests of the servers that were built, by position; builds elsewhere may differ."""
        at = self.request.commits.positions
        built = {(str(e.candidate), str(e.server)) for e in self.journal.of("built")}
        found: dict[int, list[str]] = {}
        for ref, server in sorted(built):
            if ref in at:
                found.setdefault(at[ref], []).append(server)
        return found

    @property
    def _built_here(self) -> set[tuple[str, str]]:
        built = (event for event in self.journal.events if event.event == "built")
        return {(str(event.candidate), str(event.server)) for event in built}

    def known(self) -> KnownLevels:
        """Return everything that is known; identical servers have the same counts.

        It does not depend on the order in which several machines found it.
        """
        at, servers = self.request.commits.positions, self.servers
        known = KnownLevels(
            broken={at[ref] for ref in self.journal.skipped if ref in at},
            built={at[ref] for ref, _ in self._built_here if ref in at},
        )
        refused = {
            (event.workload, digest)
            for event in self.journal.of("refused")
            for digest in servers.get(at.get(str(event.candidate), -1), ())
        }
        for position, digests in servers.items():
            for name in self.cells:
                if found := self._count_of(name, digests):
                    known.levels[name][position] = log(found.instructions)
                elif refused & {(name, digest) for digest in digests}:
                    known.missing.add((name, position))
        return known

    def count(self, workload: str, position: int) -> KnownCount | None:
        """Return the count of *workload* at *position*, if there is one."""
        return self._count_of(workload, self.servers.get(position, ()))

    def _count_of(self, workload: str, digests: Iterable[str]) -> KnownCount | None:
        found = (self._counts.get(self._key(digest, workload)) for digest in digests)
        return next(filter(None, found), None)

    def _key(self, digest: str, workload: str) -> CountKey:
        return count_key(self.request.session, digest, self.cells[workload], self.version)

    def load(self) -> None:
        """Read the counts that are recorded."""
        session = self.request.session
        self._counts = recorded_counts(session, str(session.builder.newest_stable().version))

    @property
    def complete(self) -> bool:
        """Whether all questions are settled, those of other shares as well."""
        return next_probe(replace(self.question, share=None), self.known()) is None

    def run(self) -> bool:
        """Go on until all of the share is settled; False if the budget was spent before."""
        require_countable()
        deadline = _clock() + self.request.budget
        self._announce()
        try:
            with meter("searching") as shown:
                while probe := next_probe(self.question, known := self.known()):
                    if _clock() >= deadline:
                        return False
                    self._probe(probe, deadline, self._progress(shown, known))
        finally:
            self.request.session.records.seal()
        return True

    def _progress(self, shown: Meter, known: KnownLevels) -> Callable[[str], None]:
        """Return what shows the time left, by the questions that are open now, at every count."""
        question, began = self.question, shown.began
        builds, counts = work_left(question, known)
        whole = builds * question.build + counts * question.count
        left, since = f"{counted(builds, 'build')}, {counted(counts, 'count')} or more", _clock()

        def show(doing: str) -> None:
            rest, spent = max(0.0, whole - (_clock() - since)), time.monotonic() - began
            shown.update(spent / max(spent + rest, 1e-9), f"{doing}; {left}", left=rest)

        return show

    def _announce(self) -> None:
        request = self.request
        first, last = request.commits[0], request.commits[request.commits.last]
        say(
            f"searching {counted(request.commits.last, 'commit')} that change the server, of "
            f"{request.span:,} from {first.name} to {last.name}: "
            f"{counted(len(self.cells), 'workload')}, for changes of "
            f"{percent(request.size)} or more; a grid of {len(grid(self.question, self.known()))}"
        )

    def _probe(self, probe: AtlasProbe, deadline: float, show: Callable[[str], None]) -> None:
        show(self.request.commits[probe.position].name)
        build = self._built(probe.position)
        if build is None:
            return
        known = self.known()
        due = [
            one
            for one in self.request.workloads
            if one.name in probe.series and known.can_count(one.name, probe.position)
        ]
        if not due:
            note_identical_builds(self.request.session, [build])
            return
        say(f"counting {counted(len(due), 'workload')} on {build.label}")
        try:
            self._count(build, due, deadline, show)
        except (MeasureError, ClusterError) as error:
            self._skip(probe.position, error, 0.0)

    def _built(self, position: int) -> Build | None:
        request, began = self.request, _clock()
        session, candidate = request.session, request.commits[position]
        try:
            source = session.builder.sources.resolve(candidate.ref)
            build = session.build(source, request.variant, title=f"building {candidate.name}")
        except (BuildError, SourceError) as error:
            self._skip(position, error, _since(began))
            return None
        if (candidate.ref, build.digest) not in self._built_here:
            event = Event(
                event="built",
                candidate=candidate.ref,
                seconds=_since(began),
                server=build.digest,
                build=build.identifier,
            )
            self.journal.add(event)
            for one in request.workloads:
                if one.name in self.cells and not self._is_same(one, build):
                    self._refuse(candidate.ref, one.name, f"another workload on {build.version}")
        return build

    def _is_same(self, workload: Workload, build: Build) -> bool:
        if not workload.runs_on(build.version):
            return False
        keys = (
            count_key(self.request.session, "", self.cells[workload.name], version)
            for version in (self.version, build.version)
        )
        return len(set(keys)) == 1

    def _count(
        self, build: Build, due: list[Workload], deadline: float, show: Callable[[str], None]
    ) -> None:
        session, candidate = self.request.session, build.origin.commit
        counter = Counter(
            build=build,
            pgbench=self.pgbench,
            machine=session.machine,
            paths=session.paths,
            context={"preset": CATALOG, "round": 1},
            stop=threading.Event(),
        )

        def done(cell: Cell, outcome: Record | LandspeedError) -> None:
            workload = str(cell.scenario.mode.value)
            show(f"{build.label} {workload}")
            if _clock() >= deadline:
                counter.stop.set()
            if isinstance(outcome, LandspeedError):
                say(str(outcome))
                self._refuse(candidate, workload, outcome.message)
                return
            session.records.add(outcome)
            value = outcome.sample.value("instructions") or 0.0
            self._counts[self._key(build.digest, workload)] = KnownCount(
                instructions=value, record=outcome.id
            )
            seconds = (outcome.run.phases or {}).get("count", 0.0)
            event = Event(
                event="run",
                candidate=candidate,
                workload=workload,
                seconds=seconds,
                value=value,
                record=outcome.id,
            )
            self.journal.add(event)

        builds = [build, self.pgbench.build]
        with session.builder.store.in_use(builds), measuring(wait=True, counting=True):
            count_side_by_side(counter, [self.cells[one.name] for one in due], done)

    def _refuse(self, ref: str | None, workload: str, reason: str) -> None:
        event = Event(event="refused", candidate=ref, workload=workload, reason=reason)
        self.journal.add(event)

    def _skip(self, position: int, error: LandspeedError, seconds: float) -> None:
        candidate, last = self.request.commits[position], self.request.commits.last
        event = Event(
            event="skipped", candidate=candidate.ref, seconds=seconds, reason=error.message
        )
        if position in (0, last):
            raise type(error)(
                f"{'GOOD' if position == 0 else 'BAD'} ({candidate.name}) cannot be counted",
                detail="\n".join(filter(None, (error.message, error.detail))),
                hint="Choose another end: GOOD and BAD must build and run.",
            ) from error
        self.journal.add(event)
        say(f"skipped: {candidate.name}: {error.message}")


def _positions(commits: CommitRange, share: tuple[str, str]) -> tuple[int, int]:
    first, last = (commits.positions.get(ref, -1) for ref in share)
    if not 0 <= first <= last:
        raise UsageError(
            f"there is no share {'..'.join(share)} between GOOD and BAD",
            hint="Take one that --dry-run --machines prints, with the same GOOD and BAD.",
        )
    return first, last


def _since(began: float) -> float:
    return round(_clock() - began, 3)
