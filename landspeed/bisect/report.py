"""The end of a bisection as facts, and as Markdown to be pasted into an issue or a mail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp
from statistics import median
from typing import Any, assert_never

from builders.source.history import History
from landspeed.bisect.commit_range import Candidate, CommitRange, Over
from landspeed.bisect.model import Culprit, NoCulprit, Probe, Reversed
from landspeed.bisect.replay import skipped, spent
from landspeed.bisect.run import BisectResult
from landspeed.compare.verdict import Verdict

Facts = Mapping[str, Any]


def report_facts(
    bisected: BisectResult, history: History, command: str, explanation: str | None = None
) -> dict[str, Any]:
    """All that is known at the end, as JSON can hold it; *command* is what a person typed.

    *explanation* is Markdown that says where in the code the cost went, if that is known.
    """
    case, journal, conclusion = bisected.case, bisected.journal, bisected.conclusion
    line, left = case.line, conclusion.remainder
    machine = case.session.machine
    return {
        "answer": answer_of(bisected),
        "confidence": _confidence(bisected),
        "exact": case.quest.is_exact,
        "over": line.over.value,
        "metric": case.metric.name,
        "unit": case.metric.unit,
        "higher_is_better": case.metric.higher_is_better,
        "improvement": case.improvement,
        "size": case.quest.size,
        "good": vars(line[0]),
        "bad": vars(line[line.last]),
        "candidates": line.last,
        "variant": case.variant.name,
        "cell": {**case.cell.facts(1), "threads": None},
        "seconds": case.seconds,
        "machine": {"name": machine.name, "cpu": machine.cpu, "cores": machine.cores},
        "epoch": machine.epoch.identifier,
        "pgbench": str(case.pgbench.build.version),
        "culprit": _culprit(bisected, history),
        "left": _span(line, left.first, left.last),
        "change": exp(case.sign * left.change) - 1,
        "verification": bisected.verification,
        "explanation": explanation,
        "others": [_span(line, span.start, span.stop - 1) for span in conclusion.others],
        "measurements": _measurements(bisected),
        "skipped": _skipped(bisected),
        "runs": len(journal.of("run")),
        "builds": len(journal.of("built")),
        "recorded": sum(len(event["values"]) for event in journal.of("recorded")),
        "spent_seconds": round(spent(journal.events), 1),
        "state": journal.path.name,
        "command": command,
    }


def answer_of(bisected: BisectResult) -> str:
    """In a word or two: culprit, range, no culprit, reversed, undecided or refuted."""
    decision = bisected.conclusion.decision
    match decision:
        case Culprit():
            if _is_refuted(bisected):
                return "refuted"
            return "culprit" if decision.first == decision.last else "range"
        case NoCulprit():
            return "no culprit"
        case Reversed():
            return "reversed"
        case None | Probe():
            return "undecided"
        case _:
            assert_never(decision)


def _is_refuted(bisected: BisectResult) -> bool:
    verdict = (bisected.verification or {}).get("verdict", Verdict.UNDECIDED)
    expected = Verdict.FASTER if bisected.case.improvement else Verdict.SLOWER
    return verdict not in (expected, Verdict.UNDECIDED)


def _confidence(bisected: BisectResult) -> float | None:
    decision = bisected.conclusion.decision
    if decision is None or isinstance(decision, Probe):
        return None
    return decision.confidence


def _culprit(bisected: BisectResult, history: History) -> dict[str, Any] | None:
    decision, line = bisected.conclusion.decision, bisected.case.line
    if not isinstance(decision, Culprit):
        return None
    parent, last = line[decision.first - 1], line[decision.last]
    found = {
        "parent": vars(parent),
        **vars(last),
        "steps": _span(line, decision.first, decision.last),
    }
    if line.over is Over.COMMITS:
        commit = history.commit(last.ref)
        found |= {"author": commit.author, "email": commit.email, "authored": commit.authored}
        found["diffstat"] = history.difference(parent.ref, last.ref)
    return found


def _span(line: CommitRange, first: int, last: int) -> dict[str, Any]:
    """Steps *first* … *last*: what they are and, if they are not too many, all of them."""
    some: Sequence[Candidate] = line.candidates[first : last + 1]
    return {
        "after": line[first - 1].name,
        "first": line[first].name,
        "last": line[last].name,
        "count": len(some),
        "candidates": [vars(one) for one in some] if len(some) <= 50 else None,
    }


def _measurements(bisected: BisectResult) -> list[dict[str, Any]]:
    line, sign = bisected.case.line, bisected.case.sign
    evidence = bisected.conclusion.evidence
    own = {p: [exp(sign * v) for v in values] for p, values in evidence.samples.items() if values}
    good = median(own[0]) if 0 in own else None
    return [
        {
            "position": position,
            "name": line[position].name,
            "date": line[position].date,
            "subject": line[position].subject,
            "runs": len(values),
            "median": median(values),
            "change": median(values) / good - 1 if good else None,
            "least": min(values),
            "most": max(values),
        }
        for position, values in sorted(own.items())
    ]


def _skipped(bisected: BisectResult) -> list[dict[str, Any]]:
    line = bisected.case.line
    positions = line.positions
    found = skipped(bisected.journal.events)
    return [
        {"position": positions[ref], "name": line[positions[ref]].name, "reason": reason}
        for ref, reason in sorted(found.items(), key=lambda item: positions[item[0]])
    ]
