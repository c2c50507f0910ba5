"""Carry out a bisection: ends, search, and the comparison of the culprit with its parent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from base.build import Build, Variant
from base.errors import UsageError
from base.files import canonical_json, digest_text
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.valgrind import comparable_counts, count_epoch
from benchmarks.machine.lock import measuring
from benchmarks.workloads.metrics import Metric
from benchmarks.workloads.points import Comparable, Point, rows_of
from benchmarks.workloads.scenario import Cell
from landspeed.bisect.commit_range import Candidate, CommitRange
from landspeed.bisect.journal import Event, Journal, Verification, elsewhere, exclusive
from landspeed.bisect.model import Costs, Culprit, Hypothesis
from landspeed.bisect.search import Conclusion, Reading, Search, SearchCallbacks
from landspeed.compare.plan import ComparePlan, CompareSide
from landspeed.compare.run import compare
from landspeed.compare.verdict import CountedValue, Finding, judge_counts
from landspeed.console.format import counted, percent
from landspeed.console.progress import duration, say
from landspeed.sampling.rounds import OVERHEAD_SECONDS
from landspeed.sampling.sampler import Sampler
from landspeed.session.session import Session
from landspeed.stats.confidence_sequence import Interval

PRESET = "bisect"
"""The preset that the records of its runs have."""

_BUILD_SECONDS = 20.0  # of a neighbour, before one was built


@dataclass(frozen=True, kw_only=True)
class BisectRequest:
    """Where to look, for what, and how to measure.

    ``seconds`` is the length of one run, ``budget`` the time in seconds for everything. With
    ``improvement`` the bisection looks for what made BAD better.
    """

    session: Session
    commits: CommitRange
    variant: Variant
    cell: Cell
    metric: Metric
    pgbench: Pgbench
    seconds: int
    hypothesis: Hypothesis
    budget: float
    improvement: bool = False

    @property
    def sign(self) -> int:
        """The factor of a logarithm that makes the change looked for a rise."""
        return -1 if self.metric.higher_is_better != self.improvement else 1

    @property
    def inputs(self) -> dict[str, Any]:
        """What identifies the bisection. The confidence does not: the same runs serve any."""
        machine = self.session.machine
        epoch = count_epoch() if self.hypothesis.counted else machine.epoch
        toolchain = self.session.builder.sandbox.toolchain(self.variant)
        return {
            "good": self.commits[0].ref,
            "bad": self.commits[self.commits.last].ref,
            "over": self.commits.kind.value,
            "variant": self.variant.name,
            "toolchain": digest_text(canonical_json(toolchain)),
            "cell": {**self.cell.facts(1), "threads": None},
            "seconds": self.seconds,
            "metric": self.metric.name,
            "pgbench": str(self.pgbench.build.version),
            "machine": machine.name,
            "epoch": epoch.identifier,
        }

    @contextmanager
    def journal(self, *, fresh: bool) -> Iterator[Journal]:
        """Open the journal, in the results beside the records, for this process alone."""
        directory = self.session.paths.results / "bisect"
        stem = f"{self.commits[0].name}-{self.commits[self.commits.last].name}"
        with exclusive(directory, stem, self.inputs):
            yield Journal.open(directory, stem, self.inputs, fresh=fresh)

    def recorded(self, build: Build) -> list[float]:
        """Return the values of the runs of *build* in this cell that the results have."""
        table = self._comparable(self.session.records.table())
        rows = rows_of(table, Point(build=build, cell=self.cell).key)
        return [value for value in rows[self.metric.column].to_pylist() if value]

    def _comparable(self, table: pa.Table) -> pa.Table:
        machine, version = self.session.machine, self.pgbench.version
        if self.hypothesis.counted:
            return comparable_counts(machine, version).of(table)
        timed = Comparable(machine=machine, pgbench_version=version, seconds=self.seconds)
        return timed.all_of(table)


@dataclass(frozen=True, kw_only=True)
class BisectResult:
    """The outcome of a request; ``verification`` compares the culprit with its parent."""

    request: BisectRequest
    journal: Journal
    conclusion: Conclusion
    verification: Verification | None = None


def bisect(request: BisectRequest, *, fresh: bool = False) -> BisectResult:
    """Find the culprit, or that there is none; continue where the same request was stopped."""
    if request.budget <= 0:
        raise UsageError(
            "a budget of zero measures nothing",
            hint="Give it time, such as --budget 2h; what is measured is kept if it runs out.",
        )
    with request.journal(fresh=fresh) as journal, ExitStack() as held:
        _announce(request, journal)
        held.enter_context(request.session.builder.store.in_use([request.pgbench.build]))
        search = Search(
            commits=request.commits,
            hypothesis=request.hypothesis,
            sign=request.sign,
            journal=journal,
            callbacks=callbacks_of(request, held),
            budget=request.budget,
            estimate=Costs(run=request.seconds + OVERHEAD_SECONDS, build=_BUILD_SECONDS),
        )
        try:
            with measuring(counting=request.hypothesis.counted):
                conclusion = search.run()
        finally:
            request.session.records.seal()
        verification = None
        if isinstance(conclusion.decision, Culprit):
            verification = _verify(request, search, conclusion.decision)
    return BisectResult(
        request=request, journal=journal, conclusion=conclusion, verification=verification
    )


def _announce(request: BisectRequest, journal: Journal) -> None:
    commits = request.commits
    good, bad = commits[0], commits[commits.last]
    say(
        f"bisecting {counted(commits.last, commits.kind.noun)} from {good.name} to {bad.name}: "
        f"{request.metric.name}, for a change of {percent(request.hypothesis.size)} or more"
    )
    for name in elsewhere(journal):
        say(f"not used: the same bisection on {name}")
    if journal.events:
        runs = counted(len(journal.of("run")), "run")
        say(f"continuing after {runs} in {duration(journal.spent)} ({journal.path.name})")


def callbacks_of(request: BisectRequest, held: ExitStack) -> SearchCallbacks:
    """Return how *request* builds and measures; builds stay in the store until *held* closes."""
    session = request.session
    sampler = Sampler(
        session=session,
        pgbench=request.pgbench,
        cell=request.cell,
        metric=request.metric,
        seconds=request.seconds,
    )

    def build(candidate: Candidate) -> Build:
        source = session.builder.sources.resolve(candidate.ref)
        made = session.build(source, request.variant, title=f"building {candidate.name}")
        held.enter_context(session.builder.store.in_use([made]))
        return made

    def sample(build: Build, seed: int) -> Reading:
        record = sampler.record(build, context={"preset": PRESET}, seed=seed)
        column, sample = request.metric.column, record.sample
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
        return _verification(judge_counts(*counts), runs=2)
    for event in search.journal.of("verified"):
        if (event.parent, event.culprit) == refs:
            return event.finding
    parent, culprit = search.built(found.first - 1), search.built(found.last)
    left = request.budget - search.journal.spent
    if parent is None or culprit is None:
        return None
    plan = ComparePlan.of(
        [CompareSide.of(one, request.cell) for one in (parent, culprit)],
        pgbench=request.pgbench,
        metric=request.metric,
        seconds=request.seconds,
        budget=left,
        preset=PRESET,
        # SAME means less than half the size that was asked for.
        precision=request.hypothesis.size / 2,
        confidence=request.hypothesis.confidence,
    )
    if left < plan.block_estimate:
        return None
    say(f"comparing {culprit.label} with its parent")
    state = compare(request.session, plan)
    (finding,) = state.comparison.findings
    verified = _verification(finding, runs=2 * finding.blocks, comparison=state.identifier)
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


def _verification(finding: Finding, *, runs: int, comparison: str | None = None) -> Verification:
    return Verification(
        verdict=finding.verdict,
        ratio=finding.ratio or 1.0,
        interval=_ends(finding.interval),
        interval_95=_ends(finding.shown_interval),
        blocks=finding.blocks,
        further_blocks=finding.blocks_left,
        runs=runs,
        comparison=comparison,
    )


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (interval.low, interval.high)
