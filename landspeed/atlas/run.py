"""Carry out a search over many workloads: build, count, write it down, until all is settled."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from math import log

from base.build import Build
from base.errors import ClusterError, LandspeedError, MeasureError
from base.version import Version
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.valgrind import require_countable
from benchmarks.machine.lock import measuring
from benchmarks.records.record import Record
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.scenario import Cell
from landspeed.atlas.edits import EditPrior
from landspeed.atlas.request import AtlasRequest
from landspeed.atlas.search import (
    AtlasProbe,
    AtlasQuestion,
    KnownLevels,
    grid,
    next_probe,
    work_left,
)
from landspeed.bisect.journal import Event, Journal
from landspeed.bisect.model import Costs
from landspeed.bisect.search import build_candidate
from landspeed.campaign.campaign import note_identical_builds
from landspeed.campaign.workloads import (
    count_side_by_side,
    counted_cell,
    counter_of,
)
from landspeed.console.format import counted, percent
from landspeed.console.progress import Meter, meter, say
from landspeed.sampling.counted import (
    CountKey,
    KnownCount,
    recorded_counts,
    server_count_key,
)

_clock = time.monotonic
# Used until something was built and counted. A count includes the loading of data, several at once.
_ESTIMATE = Costs(run=6.0, build=120.0)


@dataclass(kw_only=True)
class Atlas:
    """A search under way: what its ``journal`` and the records say, and how it goes on.

    ``looked_at`` are the commits, each with a workload, whose change this search has explained, or
    tried to.
    """

    request: AtlasRequest
    journal: Journal
    looked_at: set[tuple[str, str]] = field(default_factory=set)

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
            count=costs.run,
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
    def _built_here(self) -> set[tuple[str, str, str]]:
        built = (event for event in self.journal.events if event.event == "built")
        return {(str(one.candidate), str(one.server), str(one.build)) for one in built}

    def known(self) -> KnownLevels:
        """Return everything that is known; identical servers have the same counts.

        It does not depend on the order in which several machines found it.
        """
        at, servers = self.request.commits.positions, self.servers
        # An earlier search may have skipped what is an end of this one: it is tried again.
        ends = {0, self.request.commits.last}
        store = self.request.session.builder.store.root
        known = KnownLevels(
            broken={at[ref] for ref in self.journal.skipped if ref in at} - ends,
            # the store may have deleted a build since
            built={at[ref] for ref, _, b in self._built_here if ref in at and (store / b).exists()},
        )
        refused = {
            (event.workload, digest)
            for event in self.current("refused")
            for digest in servers.get(at.get(str(event.candidate), -1), ())
        }
        for position, digests in servers.items():
            for name in self.cells:
                if found := self._count_of(name, digests):
                    known.levels[name][position] = log(found.instructions)
                elif refused & {(name, digest) for digest in digests}:
                    known.missing.add((name, position))
        return known

    def current(self, kind: str) -> list[Event]:
        """Return the events of *kind* about workloads as they are defined now."""
        now = {name: self.definition(name) for name in self.cells}
        events = self.journal.of(kind)
        # what older landspeeds wrote of other kinds has no definition
        accepted = set[str | None]() if kind == "refused" else {None}
        return [e for e in events if e.definition in accepted | {now.get(str(e.workload))}]

    def definition(self, workload: str) -> str:
        """Return the digest of what *workload* executes."""
        return self.cells[workload].scenario.digest(self.version)

    def count(self, workload: str, position: int) -> KnownCount | None:
        """Return the count of *workload* at *position*, if there is one."""
        return self._count_of(workload, self.servers.get(position, ()))

    def _count_of(self, workload: str, digests: Iterable[str]) -> KnownCount | None:
        found = (self._counts.get(self._key(digest, workload)) for digest in digests)
        return next(filter(None, found), None)

    def _key(self, digest: str, workload: str) -> CountKey:
        return server_count_key(self.request.session, digest, self.cells[workload], self.version)

    @cached_property
    def _counts(self) -> dict[CountKey, KnownCount]:
        """The counts that are recorded."""
        session = self.request.session
        return recorded_counts(session, str(session.builder.newest_stable().version))

    @cached_property
    def prior(self) -> EditPrior:
        """Which commits are likely, by what they edited."""
        session = self.request.session
        return EditPrior(
            commits=self.request.commits,
            history=session.builder.sources.history,
            paths=session.paths,
            record_of=lambda workload, at: (
                found.record if (found := self.count(workload, at)) else ""
            ),
        )

    @cached_property
    def _deadline(self) -> float:
        return _clock() + self.request.budget

    @property
    def is_out_of_time(self) -> bool:
        """Whether the budget is spent; it begins with the first question."""
        return _clock() >= self._deadline

    def run(self, explain: Callable[[Atlas], None]) -> None:
        """Go on until all of the share is settled, or the budget is spent.

        After each commit *explain* is called, to look at what is found by now.
        """
        require_countable()
        self._announce()
        try:
            with meter("searching") as shown:
                explain(self)
                while not self.is_out_of_time and (
                    probe := next_probe(self.question, known := self.known(), self.prior)
                ):
                    self._probe(probe, self._progress(shown, known))
                    explain(self)
        finally:
            self.request.session.records.seal()

    def _progress(self, shown: Meter, known: KnownLevels) -> Callable[[str], None]:
        """Return a function that shows how much is left; call it after every count."""
        builds, counts = work_left(self.question, known)
        before = self._made

        def show(doing: str) -> None:
            question, made = self.question, self._made - before
            builds_left, counts_left = max(0, builds - made["built"]), max(0, counts - made["run"])
            left = f"{counted(builds_left, 'build')}, {counted(counts_left, 'count')} or more"
            rest, spent = question.seconds(builds_left, counts_left), time.monotonic() - shown.began
            shown.update(spent / max(spent + rest, 1e-9), f"{doing}; {left}", left=rest)

        return show

    @property
    def _made(self) -> Counter[str]:
        """How many events of each kind this machine has written down."""
        return Counter(event.event for event in self.journal.events)

    def _announce(self) -> None:
        request = self.request
        first, last = request.commits[0], request.commits[request.commits.last]
        left_out = [one.name for one in request.workloads if one.name not in self.cells]
        if left_out:
            say(f"left out, because {first.name} cannot count them: {', '.join(left_out)}")
        say(
            f"searching {counted(request.commits.last, 'commit')} that change the server, of "
            f"{request.span:,} from {first.name} to {last.name}: "
            f"{counted(len(self.cells), 'workload')}, for changes of "
            f"{percent(request.size)} or more; a grid of {len(grid(self.question, self.known()))}"
        )

    def _probe(self, probe: AtlasProbe, show: Callable[[str], None]) -> None:
        show(self.request.commits[probe.position].name)
        build = self.built(probe.position)
        if build is None:
            return
        # A server that fails to start once may start the next time; a skipped commit stays skipped.
        for is_last in (False, True):
            if not (due := self._due(probe)):
                note_identical_builds(self.request.session, [build])
                return
            say(f"counting {counted(len(due), 'workload')} on {build.label}")
            try:
                return self._count(build, due, show)
            except (MeasureError, ClusterError) as error:
                if is_last:
                    self._skip(probe.position, error, 0.0)
                else:
                    say(str(error))

    def _due(self, probe: AtlasProbe) -> list[str]:
        """Return the workloads of *probe* that have no count yet."""
        known = self.known()
        return [
            one.name
            for one in self.request.workloads
            if one.name in probe.series and known.can_count(one.name, probe.position)
        ]

    def built(self, position: int) -> Build | None:
        """Return the build of the commit at *position*, made now if need be; None if it fails."""
        request, began = self.request, _clock()
        candidate = request.commits[position]
        build = build_candidate(request.session, candidate, request.variant)
        if not isinstance(build, Build):
            self._skip(position, build, _since(began))
            return None
        if (candidate.ref, build.digest, build.identifier) not in self._built_here:
            event = Event(
                event="built",
                candidate=candidate.ref,
                seconds=_since(began),
                server=build.digest,
                build=build.identifier,
            )
            self.journal.add(event)
        refused = {e.workload for e in self.current("refused") if e.candidate == candidate.ref}
        for one in request.workloads:
            if one.name in self.cells.keys() - refused and not self._is_same(one, build):
                self._refuse(candidate.ref, one.name, f"another workload on {build.version}")
        return build

    def _is_same(self, workload: Workload, build: Build) -> bool:
        return workload.runs_on(build.version) and self._key("", workload.name) == server_count_key(
            self.request.session, "", self.cells[workload.name], build.version
        )

    def _count(self, build: Build, due: list[str], show: Callable[[str], None]) -> None:
        """Count the workloads *due* on *build*, those that fail a second time after the others.

        Between an end without a count and the next counted commit nothing is found of a workload:
        one failure is not enough.
        """
        failed: dict[str, str] = {}
        began = _clock()

        def done(workload: str, outcome: Record | LandspeedError) -> None:
            nonlocal began
            if isinstance(outcome, LandspeedError):
                say(str(outcome))
                failed[workload] = outcome.message
            else:
                failed.pop(workload, None)
                self._write_down(build, workload, outcome, _since(began))
                began = _clock()
            show(f"{build.label} {workload}")

        self.count_each(build, due, done)
        if failed and not self.is_out_of_time:
            try:
                self.count_each(build, [*failed], done)
            except (MeasureError, ClusterError) as error:  # the other workloads are counted
                say(str(error))
        if not self.is_out_of_time:
            for workload, reason in failed.items():
                self._refuse(build.origin.commit, workload, reason)

    def _write_down(self, build: Build, workload: str, record: Record, seconds: float) -> None:
        self.request.session.records.add(record)
        value = record.sample.value("instructions") or 0.0
        self._counts[self._key(build.digest, workload)] = KnownCount(
            instructions=value, record=record.id
        )
        event = Event(
            event="run",
            candidate=build.origin.commit,
            workload=workload,
            seconds=seconds,
            value=value,
            record=record.id,
        )
        self.journal.add(event)

    def count_each(
        self,
        build: Build,
        names: Iterable[str],
        done: Callable[[str, Record | LandspeedError], None],
    ) -> None:
        """Count the workloads *names* on *build*, and give *done* the name and outcome of each.

        The last of them are left when time runs out. LandspeedError if no server can be kept
        running.
        """
        session = self.request.session
        counter = counter_of(session, build, self.pgbench)

        def each(cell: Cell, outcome: Record | LandspeedError) -> None:
            done(str(cell.scenario.mode.value), outcome)
            if self.is_out_of_time:
                counter.stop.set()

        builds = [build, self.pgbench.build]
        with session.builder.store.in_use(builds), measuring(wait=True, counting=True):
            count_side_by_side(counter, [self.cells[name] for name in names], each)

    def _refuse(self, ref: str | None, workload: str, reason: str) -> None:
        event = Event(
            event="refused",
            candidate=ref,
            workload=workload,
            reason=reason,
            definition=self.definition(workload),
        )
        self.journal.add(event)

    def _skip(self, position: int, error: LandspeedError, seconds: float) -> None:
        commits = self.request.commits
        commits.require_inside(position, error, "cannot be counted")
        name, ref = commits[position].name, commits[position].ref
        event = Event(event="skipped", candidate=ref, seconds=seconds, reason=error.message)
        self.journal.add(event)
        say(f"skipped: {name}: {error.message}")


def _since(began: float) -> float:
    return round(_clock() - began, 3)
