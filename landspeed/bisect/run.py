"""Carrying out a bisection: ends, search, and the comparison of the culprit with its parent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from landspeed.bisect.journal import Journal, elsewhere, taken
from landspeed.bisect.model import Costs, Culprit, Hypothesis
from landspeed.bisect.replay import spent
from landspeed.bisect.search import Conclusion, Means, Reading, Search
from landspeed.compare.plan import ComparePlan, CompareSide
from landspeed.compare.run import compare
from landspeed.compare.verdict import CountedValue, judge_counts
from landspeed.console.progress import duration, say
from landspeed.sampling.rounds import OVERHEAD_SECONDS
from landspeed.sampling.sampler import Sampler
from landspeed.session.session import Session

PRESET = "bisect"
"""What its Runs are called in their records."""

_BUILD_SECONDS = 20.0  # of a neighbour, before one was built


@dataclass(frozen=True, kw_only=True)
class BisectRequest:
    """A Case is all that is asked of a bisection: where to look, for what, and how to measure.

    ``improvement`` looks for what made BAD better; ``budget`` are seconds.
    """

    session: Session
    line: CommitRange
    variant: Variant
    cell: Cell
    metric: Metric
    pgbench: Pgbench
    seconds: int
    quest: Hypothesis
    budget: float
    improvement: bool = False

    @property
    def sign(self) -> int:
        """By what a logarithm is multiplied so that up is what is looked for."""
        return -1 if self.metric.higher_is_better != self.improvement else 1

    @property
    def inputs(self) -> dict[str, Any]:
        """What identifies it: not how sure to be, for that the same Runs serve."""
        machine = self.session.machine
        epoch = count_epoch() if self.quest.is_exact else machine.epoch
        return {
            "good": self.line[0].ref,
            "bad": self.line[self.line.last].ref,
            "over": self.line.over.value,
            "variant": self.variant.name,
            "toolchain": digest_text(
                canonical_json(self.session.builder.sandbox.toolchain(self.variant))
            ),
            "cell": {**self.cell.facts(1), "threads": None},
            "seconds": self.seconds,
            "metric": self.metric.name,
            "pgbench": str(self.pgbench.build.version),
            "machine": machine.name,
            "epoch": epoch.identifier,
        }

    @contextmanager
    def journal(self, *, fresh: bool) -> Iterator[Journal]:
        """Its Journal, in the results beside the records, for us alone."""
        directory = self.session.paths.results / "bisect"
        stem = f"{self.line[0].name}-{self.line[self.line.last].name}"
        with taken(directory, stem, self.inputs):
            yield Journal.open(directory, stem, self.inputs, fresh=fresh)

    def recorded(self, build: Build) -> list[float]:
        """The metric of the Runs of *build* in this Cell that the results have."""
        table = self._comparable(self.session.records.table())
        rows = rows_of(table, Point(build=build, cell=self.cell).key)
        return [value for value in rows[self.metric.column].to_pylist() if value]

    def _comparable(self, table: pa.Table) -> pa.Table:
        machine, version = self.session.machine, self.pgbench.version
        if self.quest.is_exact:
            return comparable_counts(machine, version).of(table)
        timed = Comparable(machine=machine, pgbench_version=version, seconds=self.seconds)
        return timed.all_of(table)


@dataclass(frozen=True, kw_only=True)
class BisectResult:
    """A Bisected is what became of a Case; ``verification`` is what comparing the culprit said."""

    case: BisectRequest
    journal: Journal
    conclusion: Conclusion
    verification: dict[str, Any] | None = None


def bisect(case: BisectRequest, *, fresh: bool = False) -> BisectResult:
    """Find the culprit, or that there is none; goes on where the same Case was stopped."""
    if case.budget <= 0:
        raise UsageError(
            "a budget of zero measures nothing",
            hint="Give it time, such as --budget 2h; what is measured is kept if it runs out.",
        )
    with case.journal(fresh=fresh) as journal, ExitStack() as held:
        _introduce(case, journal)
        held.enter_context(case.session.builder.store.in_use([case.pgbench.build]))
        search = Search(
            line=case.line,
            quest=case.quest,
            sign=case.sign,
            journal=journal,
            means=means_of(case, held),
            budget=case.budget,
            guess=Costs(run=case.seconds + OVERHEAD_SECONDS, build=_BUILD_SECONDS),
        )
        try:
            with measuring(counting=case.quest.is_exact):
                conclusion = search.run()
        finally:
            case.session.records.seal()
        verification = None
        if isinstance(conclusion.decision, Culprit):
            verification = _verified(case, search, conclusion.decision)
    return BisectResult(
        case=case, journal=journal, conclusion=conclusion, verification=verification
    )


def _introduce(case: BisectRequest, journal: Journal) -> None:
    good, bad = case.line[0], case.line[case.line.last]
    say(
        f"bisecting {case.line.last} {case.line.over} from {good.name} to {bad.name}: "
        f"{case.metric.name}, for a step of {case.quest.size * 100:.3g} % or more"
    )
    for name in elsewhere(journal):
        say(f"not used: the same bisection on {name}")
    if journal.events:
        say(
            f"going on where it stopped: {len(journal.of('run'))} runs in "
            f"{duration(spent(journal.events))} ({journal.path.name})"
        )


def means_of(case: BisectRequest, held: ExitStack) -> Means:
    """How *case* builds and measures; its Builds stay in the store until *held* ends."""
    session = case.session
    sampler = Sampler(
        session=session,
        pgbench=case.pgbench,
        cell=case.cell,
        metric=case.metric,
        seconds=case.seconds,
    )

    def build(candidate: Candidate) -> Build:
        source = session.builder.sources.resolve(candidate.ref)
        made = session.build(source, case.variant, title=f"building {candidate.name}")
        held.enter_context(session.builder.store.in_use([made]))
        return made

    def sample(build: Build, seed: int) -> Reading:
        record = sampler.record(build, context={"preset": PRESET}, seed=seed)
        column, sample = case.metric.column, record.sample
        notes = {"record": record.id, "spread": sample.value(f"{column}_spread") or 0.0}
        return Reading(
            value=sample.value(column) or 0.0, notes=notes if case.quest.is_exact else {}
        )

    return Means(build=build, sample=sample, recorded=case.recorded)


def _verified(case: BisectRequest, search: Search, found: Culprit) -> dict[str, Any] | None:
    """What comparing the culprit with its parent says; None if no time is left for it."""
    pair = {"parent": case.line[found.first - 1].ref, "culprit": case.line[found.last].ref}
    if case.quest.is_exact:
        return _verified_exactly(search, pair)
    for event in search.journal.of("verified"):
        if pair.items() <= event.items():
            return dict(event["finding"])
    parent, culprit = search.built(found.first - 1), search.built(found.last)
    left = case.budget - spent(search.journal.events)
    if parent is None or culprit is None:
        return None
    plan = ComparePlan.of(
        [CompareSide.of(one, case.cell) for one in (parent, culprit)],
        pgbench=case.pgbench,
        metric=case.metric,
        seconds=case.seconds,
        budget=left,
        preset=PRESET,
        # SAME means less than half the size that was asked for.
        precision=case.quest.size / 2,
        confidence=case.quest.confidence,
    )
    if left < plan.block_estimate:
        return None
    say(f"comparing {culprit.label} with its parent")
    state = compare(case.session, plan)
    (finding,) = state.comparison.findings
    facts = {**finding.facts(), "runs": 2 * finding.blocks, "comparison": state.identifier}
    search.journal.add("verified", **pair, finding=facts, seconds=state.spent)
    return facts


def _verified_exactly(search: Search, pair: Mapping[str, str]) -> dict[str, Any]:
    """The two counts that the search made of culprit and parent, with what they may be off."""
    values = []
    for ref in pair.values():
        event = search.measured(search.line.positions[ref])
        spread = event["value"] * event["spread"]
        values.append(CountedValue(event["value"], spread))
    return {**judge_counts(*values).facts(), "runs": 2}
