"""From the outcome of a bisection to its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, floor, log, log2, log10, sqrt
from statistics import median

from builders.source.history import History
from landspeed.bisect.commit_range import Candidate, CommitRange, RangeKind
from landspeed.bisect.decide import runs_for
from landspeed.bisect.model import Costs, Culprit, NoCulprit, Probe, Reversed
from landspeed.bisect.report import (
    Answer,
    BisectReport,
    CandidateSpan,
    Measurement,
    ReportedCell,
    ReportedCulprit,
    ReportedMachine,
    SkippedCandidate,
    SmallerSize,
)
from landspeed.bisect.run import BisectResult
from landspeed.bisect.search import first_run
from landspeed.compare.verdict import Verdict
from landspeed.console.markdown import markdown_table
from landspeed.profiling.diff import Cost, kept_costs

_MOST_NAMED = 50
_TOP_FUNCTIONS = 10
# Less than a thousandth of an instruction is rounding.
_LEAST_COST = 0.001
# Smaller changes are noise, even of a count.
_LEAST_SIZE = 1e-5


def report_of(result: BisectResult, history: History, command: str) -> BisectReport:
    """Return the report of *result*; *command* is what a person typed."""
    request, journal, conclusion = result.request, result.journal, result.conclusion
    commits, left, how = request.commits, conclusion.progress, request.sampler
    positions = commits.positions
    machine = how.session.machine
    decision = conclusion.decision
    measurements = _measurements(result)
    return BisectReport(
        answer=answer_of(result),
        confidence=None if decision is None or isinstance(decision, Probe) else decision.confidence,
        exact=request.hypothesis.counted,
        over=commits.kind,
        metric=how.metric.name,
        unit=how.metric.unit,
        higher_is_better=how.metric.higher_is_better,
        improvement=request.improvement,
        size=request.hypothesis.size,
        good=commits[0],
        bad=commits[commits.last],
        candidates=commits.last,
        variant=request.variant.name,
        cell=ReportedCell(**{**how.cell.facts(1), "threads": None}),
        seconds=how.seconds,
        machine=ReportedMachine(name=machine.name, cpu=machine.cpu, cores=machine.cores),
        epoch=machine.epoch.identifier,
        pgbench=how.pgbench.version,
        culprit=_culprit(result, history),
        left=_span(commits, left.first, left.last),
        change=exp(request.sign * left.change) - 1,
        verification=result.verification,
        explanation=_explanation(result),
        others=tuple(_span(commits, one.start, one.stop - 1) for one in conclusion.others),
        measurements=measurements,
        skipped=tuple(
            SkippedCandidate(position=position, name=commits[position].name, reason=reason)
            for position, reason in sorted(
                (positions[ref], reason)
                for ref, reason in journal.skipped.items()
                # a forged journal may name any
                if ref in positions
            )
        ),
        runs=len(journal.of("run")),
        builds=len(journal.of("built")),
        recorded=sum(len(event.values or ()) for event in journal.of("recorded")),
        spent_seconds=round(journal.spent, 1),
        smaller=_smaller_size(result) if isinstance(decision, NoCulprit) else None,
        state=journal.path.name,
        command=command,
    )


def answer_of(result: BisectResult) -> Answer:
    """Return the answer in a word or two."""
    decision = result.conclusion.decision
    if isinstance(decision, Culprit):
        expected = Verdict.FASTER if result.request.improvement else Verdict.SLOWER
        verified = result.verification
        if verified and verified.verdict not in (expected, Verdict.UNDECIDED):
            return "refuted"
        return "culprit" if decision.first == decision.last else "range"
    if isinstance(decision, NoCulprit):
        return "no culprit"
    return "reversed" if isinstance(decision, Reversed) else "undecided"


def _culprit(result: BisectResult, history: History) -> ReportedCulprit | None:
    decision, commits = result.conclusion.decision, result.request.commits
    if not isinstance(decision, Culprit):
        return None
    parent, last = commits[decision.first - 1], commits[decision.last]
    steps = _span(commits, decision.first, decision.last)
    culprit = ReportedCulprit(**vars(last), parent=parent, steps=steps)
    if commits.kind is not RangeKind.COMMITS:
        return culprit
    commit = history.commit(last.ref)
    return replace(
        culprit,
        author=commit.author,
        email=commit.email,
        authored=commit.authored,
        diffstat=history.difference(parent.ref, last.ref),
    )


def _span(commits: CommitRange, first: int, last: int) -> CandidateSpan:
    some: tuple[Candidate, ...] = commits.candidates[first : last + 1]
    return CandidateSpan(
        after=commits[first - 1].name,
        first=commits[first].name,
        last=commits[last].name,
        count=len(some),
        candidates=some if len(some) <= _MOST_NAMED else None,
    )


def _measurements(result: BisectResult) -> tuple[Measurement, ...]:
    commits, sign = result.request.commits, result.request.sign
    samples = result.conclusion.observations.samples
    own = {p: [exp(sign * v) for v in values] for p, values in samples.items() if values}
    good = median(own[0]) if 0 in own else None
    return tuple(
        Measurement(
            position=position,
            name=commits[position].name,
            date=commits[position].date,
            subject=commits[position].subject,
            runs=len(values),
            median=median(values),
            change=median(values) / good - 1 if good else None,
            least=min(values),
            most=max(values),
        )
        for position, values in sorted(own.items())
    )


def _smaller_size(result: BisectResult) -> SmallerSize | None:
    """Return the size that would find the change between the ends, and what it would take.

    None if BAD is not worse, or if the ends differ by the size that was asked for.
    """
    request, observations = result.request, result.conclusion.observations
    hypothesis, last = request.hypothesis, request.commits.last
    servers = [one.values for one in observations.by_server() if len(one.values)]
    levels = [observations.samples.get(end, ()) for end in (0, last)]
    if not all(levels):
        return None
    rise = median(levels[1]) - median(levels[0])
    if not _LEAST_SIZE <= exp(rise) - 1 < hypothesis.size:
        return None
    digits = 10.0 ** floor(log10(exp(rise) - 1))
    size = floor((exp(rise) - 1) / digits) * digits
    each = result.journal.costs(Costs(run=request.sampler.seconds, build=0.0))
    probes = log2(last) + 1
    if hypothesis.counted:
        return SmallerSize(size=size, seconds=probes * (each.run + each.build))
    freedom = sum(len(values) - 1 for values in servers)
    squares = sum((v - sum(one) / len(one)) ** 2 for one in servers for v in one)
    if not freedom or not squares:
        return None
    distance = log(1 + size) / sqrt(squares / freedom)
    runs = runs_for(log2(last), distance, hypothesis.confidence)
    return SmallerSize(size=size, seconds=runs * each.run + probes * each.build)


def _explanation(result: BisectResult) -> str | None:
    """Return the functions whose cost changed most, as Markdown; None without profiles."""
    decision, request = result.conclusion.decision, result.request
    if not isinstance(decision, Culprit) or not request.hypothesis.counted:
        return None
    events = (
        first_run(result.journal, request.commits, result.conclusion.observations, position)
        for position in (decision.first - 1, decision.last)
    )
    records = [event.record for event in events if event and event.record]
    paths = request.sampler.session.paths
    found = kept_costs(paths, *records) if len(records) == 2 else ()
    return cost_table(found) if found else None


def cost_table(found: Sequence[Cost]) -> str:
    """Return the largest of *found*, instructions per transaction, as Markdown."""
    shown = [cost for cost in found if abs(cost.own) >= _LEAST_COST]
    rows = [
        (
            f"`{cost.function}`",
            f"{cost.own_before:.1f}",
            f"{cost.own_after:.1f}",
            f"{cost.own:+.1f}",
        )
        for cost in shown[:_TOP_FUNCTIONS]
    ]
    rest = shown[_TOP_FUNCTIONS:]
    rows.append((f"{len(rest)} others", "", "", f"{sum(cost.own for cost in rest):+.1f}"))
    table = markdown_table(("function", "before", "after", "change"), rows, align="lr")
    return f"Instructions per transaction that each function executes itself:\n\n{table}"
