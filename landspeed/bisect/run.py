"""Carry out a bisection: ends, search, and the comparison of the culprit with its parent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from base.build import Build, Variant
from base.files import canonical_json, digest_text
from benchmarks.counted.valgrind import count_epoch
from benchmarks.machine.lock import measuring
from benchmarks.workloads.points import Comparable
from landspeed.bisect.commit_range import Candidate, CommitRange
from landspeed.bisect.journal import Event, Journal, Verification, elsewhere, exclusive
from landspeed.bisect.model import Costs, Culprit, Hypothesis
from landspeed.bisect.search import Conclusion, Reading, Search, SearchCallbacks
from landspeed.compare.plan import ComparePlan, CompareSide
from landspeed.compare.run import compare
from landspeed.compare.verdict import CountedValue, StoppingRule, judge_counts
from landspeed.console.format import counted, percent
from landspeed.console.progress import duration, say
from landspeed.sampling.rounds import OVERHEAD_SECONDS
from landspeed.sampling.sampler import Sampler

PRESET = "bisect"
"""The preset that the records of its runs have."""

_BUILD_SECONDS = 20.0  # of a neighbour, before one was built


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

    @contextmanager
    def journal(self, *, fresh: bool) -> Iterator[Journal]:
        """Open the journal, in the results beside the records, for this process alone."""
        directory = self.sampler.session.paths.results / "bisect"
        stem = f"{self.commits[0].name}-{self.commits[self.commits.last].name}"
        with exclusive(directory, stem, self.inputs):
            yield Journal.open(directory, stem, self.inputs, fresh=fresh)

    def recorded(self, build: Build) -> list[float]:
        """Return the values of the runs of *build* in this cell that the results have."""
        table, comparable = self.sampler.session.records.table(), self.sampler.comparable
        if isinstance(comparable, Comparable):
            # The posterior weighs each run by its likelihood, whatever made the runs end.
            return self.sampler.values(build, comparable.all_of(table))
        return self.sampler.values(build, comparable.of(table))


@dataclass(frozen=True, kw_only=True)
class BisectResult:
    """The outcome of a request; ``verification`` compares the culprit with its parent."""

    request: BisectRequest
    journal: Journal
    conclusion: Conclusion
    verification: Verification | None = None


def bisect(request: BisectRequest, *, fresh: bool = False) -> BisectResult:
    """Find the culprit, or that there is none; continue where the same request was stopped."""
    with request.journal(fresh=fresh) as journal, ExitStack() as held:
        _announce(request, journal)
        session = request.sampler.session
        held.callback(request.sampler.give_back)
        held.enter_context(session.builder.store.in_use([request.sampler.pgbench.build]))
        search = Search(
            commits=request.commits,
            hypothesis=request.hypothesis,
            sign=request.sign,
            journal=journal,
            callbacks=callbacks_of(request, held),
            budget=request.budget,
            estimate=Costs(run=request.sampler.seconds + OVERHEAD_SECONDS, build=_BUILD_SECONDS),
        )
        try:
            with measuring(counting=request.hypothesis.counted):
                conclusion = search.run()
        finally:
            session.records.seal()
        verification = None
        if isinstance(conclusion.decision, Culprit):
            verification = _verify(request, search, conclusion.decision)
    return BisectResult(
        request=request, journal=journal, conclusion=conclusion, verification=verification
    )


def _announce(request: BisectRequest, journal: Journal) -> None:
    say(
        f"bisecting {request.commits.text}: {request.sampler.metric.name}, "
        f"for a change of {percent(request.size)} or more"
    )
    for name in elsewhere(journal):
        say(f"not used: the same bisection on {name}")
    if journal.events:
        runs = counted(len(journal.of("run")), "run")
        say(f"continuing after {runs} in {duration(journal.spent)} ({journal.path.name})")


def callbacks_of(request: BisectRequest, held: ExitStack) -> SearchCallbacks:
    """Return how *request* builds and measures; builds stay in the store until *held* closes."""
    sampler, session = request.sampler, request.sampler.session

    def build(candidate: Candidate) -> Build:
        source = session.builder.sources.resolve(candidate.ref)
        made = session.build(source, request.variant, title=f"building {candidate.name}")
        held.enter_context(session.builder.store.in_use([made]))
        return made

    def sample(build: Build, seed: int) -> Reading:
        record = sampler.record(build, context={"preset": PRESET}, seed=seed)
        column, sample = sampler.metric.column, record.sample
        value = sample.value(column) or 0.0
        if not request.hypothesis.counted:
            return Reading(value=value)
        spread = sample.value(f"{column}_spread") or 0.0
        return Reading(value=value, record=record.id, spread=spread)

    return SearchCallbacks(build=build, sample=sample, recorded=request.recorded)


def _verify(request: BisectRequest, search: Search, found: Culprit) -> Verification | None:
    """Compare the culprit with its parent; None if no time is left for it."""
    refs = request.commits[found.first - 1].ref, request.commits[found.last].ref
    if request.hypothesis.counted:
        events = [search.measured(search.commits.positions[ref]) for ref in refs]
        counts = [
            CountedValue(event.value, event.value * (event.spread or 0.0))
            for event in events
            if event.value is not None
        ]
        return Verification.of(judge_counts(*counts), runs=2)
    for event in search.journal.of("verified"):
        if (event.parent, event.culprit) == refs:
            return event.finding
    parent, culprit = search.built(found.first - 1), search.built(found.last)
    left, how = request.budget - search.journal.spent, request.sampler
    if parent is None or culprit is None:
        return None
    # SAME means less than half the size that was asked for.
    rule = StoppingRule(
        precision=request.hypothesis.size / 2, confidence=request.hypothesis.confidence
    )
    plan = ComparePlan(
        sides=tuple(CompareSide.of(one, how.cell) for one in (parent, culprit)),
        pgbench=how.pgbench,
        metric=how.metric,
        rule=rule.of(how.metric),
        seconds=how.seconds,
        budget=left,
        preset=PRESET,
    )
    if left < plan.block_estimate:
        return None
    say(f"comparing {culprit.label} with its parent")
    state = compare(how.session, plan)
    (finding,) = state.comparison.findings
    verified = Verification.of(finding, runs=2 * finding.blocks, comparison=state.identifier)
    search.journal.add(
        Event(
            event="verified",
            parent=refs[0],
            culprit=refs[1],
            finding=verified,
            seconds=state.spent,
        )
    )
    return verified
