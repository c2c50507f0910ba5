"""The search: decide, build, measure, write it down, until there is an answer or no time left."""

from __future__ import annotations

import random
import time
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from base.build import Build, Variant
from base.errors import (
    BuildError,
    BuildInterruptedError,
    ClusterError,
    LandspeedError,
    MeasureError,
    SourceError,
)
from base.files import canonical_json, digest_text
from benchmarks.counted.valgrind import count_epoch
from benchmarks.workloads.points import Comparable
from landspeed.bisect.commit_range import Candidate, CommitRange, RangeKind
from landspeed.bisect.decide import BisectProgress, decide, other_changes, progress_of
from landspeed.bisect.journal import Event, Journal
from landspeed.bisect.model import Costs, Culprit, Decision, Hypothesis, Observations, Probe
from landspeed.console.format import counted
from landspeed.console.progress import Meter, meter, say
from landspeed.sampling.rounds import OVERHEAD_SECONDS
from landspeed.sampling.sampler import Sampler
from landspeed.session.session import Session

PRESET = "bisect"
"""The preset that the records of its runs have."""

_clock = time.monotonic
_BUILD_SECONDS = 20.0  # of a neighbour, before one was built
_MAX_SEED = 2**31 - 1


@dataclass(frozen=True, kw_only=True)
class BisectRequest:
    """Where to look, for what, and how to measure.

    ``size`` is the smallest change to look for, as a share; it is found or excluded with
    probability ``confidence``. ``budget`` is the time in seconds for everything. With
    ``improvement`` the bisection looks for what made BAD better.
    """

    sampler: Sampler
    commits: CommitRange
    variant: Variant
    size: float
    budget: float
    confidence: float = Hypothesis.confidence
    improvement: bool = False

    @cached_property
    def hypothesis(self) -> Hypothesis:
        """What to decide: whether one of the steps is a change of ``size`` or more."""
        return Hypothesis(
            last=self.commits.last,
            size=self.size,
            confidence=self.confidence,
            counted=self.sampler.metric.exact,
        )

    @property
    def sign(self) -> int:
        """The factor of a logarithm that makes the change looked for a rise."""
        return -1 if self.sampler.metric.higher_is_better != self.improvement else 1

    @property
    def inputs(self) -> dict[str, Any]:
        """What identifies the bisection. The confidence does not: the same runs serve any."""
        how, machine = self.sampler, self.sampler.session.machine
        epoch = count_epoch() if self.hypothesis.counted else machine.epoch
        toolchain = how.session.builder.sandbox.toolchain(self.variant)
        return {
            "good": self.commits[0].ref,
            "bad": self.commits[self.commits.last].ref,
            "over": self.commits.kind.value,
            "variant": self.variant.name,
            "toolchain": digest_text(canonical_json(toolchain)),
            "cell": {**how.cell.facts(1), "threads": None},
            "seconds": how.seconds,
            "metric": how.metric.name,
            "pgbench": how.pgbench.version,
            "machine": machine.name,
            "epoch": epoch.identifier,
        }

    def journal(self, *, fresh: bool) -> AbstractContextManager[Journal]:
        """Open the journal, in the results beside the records, for this process alone."""
        directory = self.sampler.session.paths.results / "bisect"
        stem = f"{self.commits[0].name}-{self.commits[self.commits.last].name}"
        return Journal.open(directory, stem, self.inputs, fresh=fresh)

    def recorded(self, build: Build) -> list[float]:
        """Return the values of the runs of *build* in this cell that the results have."""
        table, how = self.sampler.session.records.table(), self.sampler.comparable
        # The posterior weighs each run by its likelihood, whatever made the runs end.
        rows = how.all_of(table) if isinstance(how, Comparable) else how.of(table)
        return self.sampler.values(build, rows)


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What a search came to; ``decision`` is None if the budget was spent.

    ``others`` are steps at which the level changes beside the culprit.
    """

    decision: Decision | None
    observations: Observations
    progress: BisectProgress
    others: tuple[range, ...] = ()


@dataclass(kw_only=True)
class Search:
    """The search that *request* asks for; builds stay in the store until ``held`` closes."""

    request: BisectRequest
    journal: Journal
    held: ExitStack
    _builds: dict[str, Build] = field(default_factory=dict)

    def run(self) -> Conclusion:
        """Continue where the journal ends. An end that cannot be built or measured is an error."""
        seconds = self.request.sampler.seconds + OVERHEAD_SECONDS
        with meter("bisecting") as shown:
            while True:
                observations = self.observations
                costs = self.journal.costs(Costs(run=seconds, build=_BUILD_SECONDS))
                decision = decide(self.request.hypothesis, observations, costs)
                if not isinstance(decision, Probe):
                    return self._concluded(decision, observations)
                if self.journal.spent + costs.run > self.request.budget:
                    return self._concluded(None, observations)
                self._show(observations, costs, shown)
                self._probe(decision.position)

    @property
    def observations(self) -> Observations:
        """Everything that was measured so far."""
        request, exact = self.request, self.request.hypothesis.counted
        return self.journal.observations(request.commits, request.sign, counted=exact)

    def _concluded(self, decision: Decision | None, observations: Observations) -> Conclusion:
        hypothesis, others = self.request.hypothesis, []
        if isinstance(decision, Culprit):
            others = other_changes(hypothesis, observations, decision.last)
        return Conclusion(
            decision=decision,
            observations=observations,
            progress=progress_of(hypothesis, observations),
            others=tuple(others),
        )

    def _probe(self, position: int) -> None:
        """Build *position* and measure it, unless it is identical to a measured server."""
        is_new = position not in self.observations.servers
        build = self.built(position)
        if build is not None and not (is_new and self.observations.runs(position)):
            self._measure(position, build)

    def measured(self, position: int) -> Event:
        """Return the first run of the server at *position*, made now if there is none.

        MeasureError if it cannot be built or measured.
        """
        find = (self.journal, self.request.commits, self.observations, position)
        while (event := first_run(*find)) is None:
            build, candidate = self.built(position), self.request.commits[position]
            if build is None or candidate.ref in self.journal.skipped:
                raise MeasureError(
                    f"{candidate.name} cannot be measured",
                    detail=self.journal.skipped.get(candidate.ref, ""),
                    hint="Give the same command with --fresh to try it again.",
                )
            self._measure(position, build)
        return event

    def _measure(self, position: int, build: Build) -> None:
        candidate, sampler = self.request.commits[position], self.request.sampler
        number = len(self.journal.of("run")) + len(self.journal.of("failed"))
        dice = random.Random(f"{self.journal.path.stem}/{number}")  # noqa: S311  not a secret
        began = _clock()
        try:
            seed = dice.randint(1, _MAX_SEED)
            record = sampler.record(build, context={"preset": PRESET}, seed=seed)
        except (MeasureError, ClusterError) as error:
            self._note(candidate, began, event="failed", reason=error.message)
            if candidate.ref in self.journal.skipped:
                self._skip(position, error, "cannot be measured")
            return
        facts: dict[str, Any] = {"value": record.sample.value(sampler.metric.column) or 0.0}
        if sampler.metric.exact:
            spread = record.sample.value(f"{sampler.metric.column}_spread") or 0.0
            facts |= {"record": record.id, "spread": spread}
        self._note(candidate, began, event="run", **facts)

    def _note(self, candidate: Candidate, began: float, **facts: Any) -> None:
        """Write an event about *candidate* that took the time since *began*."""
        seconds = round(_clock() - began, 3)
        self.journal.add(Event(candidate=candidate.ref, seconds=seconds, **facts))

    def built(self, position: int) -> Build | None:
        """Return the build at *position*, made if necessary; None if it cannot be built."""
        candidate, session = self.request.commits[position], self.request.sampler.session
        ref = candidate.ref
        if ref in self._builds:
            return self._builds[ref]
        # A release may have no source within reach; that of a commit is only missing for now.
        is_commit = self.request.commits.kind is RangeKind.COMMITS
        lasting = (BuildError,) if is_commit else (BuildError, SourceError)
        began = _clock()
        build = build_candidate(session, candidate, self.request.variant, lasting)
        if not isinstance(build, Build):
            self._note(candidate, began, event="skipped", reason=build.message)
            self._skip(position, build, "cannot be built")
            return None
        self.held.enter_context(session.builder.store.in_use([build]))
        self._builds[ref] = build
        servers = self.observations.servers
        if position not in servers:
            facts = {"server": build.digest, "build": build.identifier}
            self._note(candidate, began, event="built", **facts)
            # Runs of an identical server are known already, and may be our own.
            known = build.digest in servers.values()
            values = () if known else tuple(self.request.recorded(build))
            if values:
                self.journal.add(Event(event="recorded", candidate=ref, values=values))
                say(f"{candidate.name}: {counted(len(values), 'run')} in the results already")
        return build

    def _skip(self, position: int, error: LandspeedError, what: str) -> None:
        commits = self.request.commits
        commits.require_inside(position, error, what)
        say(f"skipped: {commits[position].name} {what}: {error.message}")

    def _show(self, observations: Observations, costs: Costs, shown: Meter) -> None:
        left, commits = progress_of(self.request.hypothesis, observations), self.request.commits
        spent = self.journal.spent
        seconds = min(left.runs * (costs.run + costs.build / 3), self.request.budget - spent)
        first, last = commits[left.first], commits[left.last]
        where = f"{left.last - left.first + 1} left, {first.name} to {last.name}"
        runs, builds = len(self.journal.of("run")), len(self.journal.of("built"))
        done = f"{counted(runs, 'run')}, {counted(builds, 'build')}"
        shown.update(spent / max(spent + seconds, 1e-9), f"{where}; {done}", left=seconds)


def build_candidate(
    session: Session,
    candidate: Candidate,
    variant: Variant,
    lasting: tuple[type[LandspeedError], ...] = (BuildError,),
) -> Build | LandspeedError:
    """Return the build of *candidate*, made if necessary, or the *lasting* error it ended with.

    A failure that may be gone the next time is raised: what is skipped is never tried again.
    """
    try:
        source = session.builder.sources.resolve(candidate.ref)
        return session.build(source, variant, title=f"building {candidate.name}")
    except BuildInterruptedError:
        raise
    except lasting as error:
        return error


def first_run(
    journal: Journal, commits: CommitRange, observations: Observations, position: int
) -> Event | None:
    """Return the first run in *journal* of the server at *position*, if any."""
    identical = {commits[at].ref for at in observations.identical(position)}
    return next((event for event in journal.of("run") if event.candidate in identical), None)
