"""Carry out a bisection: ends, search, and the comparison of the culprit with its parent."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.machine.lock import measuring
from landspeed.bisect.journal import Event, Journal, Verification, elsewhere
from landspeed.bisect.model import Culprit
from landspeed.bisect.search import PRESET, BisectRequest, Conclusion, Search
from landspeed.compare.plan import ComparePlan, CompareSide
from landspeed.compare.run import compare
from landspeed.compare.timed import recorded_state
from landspeed.compare.verdict import CountedValue, StoppingRule, judge_counts
from landspeed.console.format import counted, percent
from landspeed.console.progress import duration, say


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
        search = Search(request=request, journal=journal, held=held)
        try:
            with measuring(counting=request.hypothesis.counted):
                conclusion = search.run()
        finally:
            session.records.seal()
        decision = conclusion.decision
        verified = _verify(request, search, decision) if isinstance(decision, Culprit) else None
    return BisectResult(
        request=request, journal=journal, conclusion=conclusion, verification=verified
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


def _verify(request: BisectRequest, search: Search, found: Culprit) -> Verification | None:
    """Compare the culprit with its parent; None if no time is left for it.

    Blocks that are recorded are judged by the rule of today, and continued while there is time.
    """
    refs = request.commits[found.first - 1].ref, request.commits[found.last].ref
    if request.hypothesis.counted:
        with measuring(counting=True):
            events = [search.measured(request.commits.positions[ref]) for ref in refs]
        counts = [
            CountedValue(event.value, event.value * (event.spread or 0.0))
            for event in events
            if event.value is not None
        ]
        return Verification.of(judge_counts(*counts), runs=2)
    verified = search.journal.of("verified")
    earlier = [event for event in verified if (event.parent, event.culprit) == refs]
    known = earlier[-1].finding if earlier else None
    spent = sum(event.seconds or 0.0 for event in earlier)
    parent, culprit = search.built(found.first - 1), search.built(found.last)
    if parent is None or culprit is None:
        return known
    how = request.sampler
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
        budget=request.budget - search.journal.spent + spent,  # it counts all blocks
        preset=PRESET,
    )
    recorded = recorded_state(how.session, plan)
    if not recorded.recorded and plan.budget - recorded.spent < plan.block_estimate:
        return known
    say(f"comparing {culprit.label} with its parent")
    state = compare(how.session, plan)
    (finding,) = state.comparison.findings
    now = Verification.of(finding, runs=2 * finding.blocks, comparison=state.identifier)
    if now != known:
        search.journal.add(
            Event(
                event="verified",
                parent=refs[0],
                culprit=refs[1],
                finding=now,
                seconds=max(0.0, state.spent - spent),
            )
        )
    return now
