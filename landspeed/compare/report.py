"""The report of a comparison: a table of its sides and a sentence for each verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType

from landspeed.compare.plan import ComparePlan, CompareState
from landspeed.compare.verdict import COUNTED_DIFFERENCE, SHOWN_CONFIDENCE, Finding, Verdict
from landspeed.console.format import counted, percent
from landspeed.console.markdown import markdown_table
from landspeed.console.progress import duration
from landspeed.console.table import rich_table
from landspeed.stats.confidence_sequence import Interval
from landspeed.stats.summary import Summary


def comparison_facts(plan: ComparePlan, state: CompareState) -> dict[str, Any]:
    """Return the comparison as JSON can hold it, sides in the order that was asked for."""
    comparison, left = state.comparison, state.seconds_left
    first, *others = plan.sides
    return {
        "comparison": state.identifier,
        "metric": plan.metric.name,
        "unit": plan.metric.unit,
        "higher_is_better": plan.rule.higher_is_better,
        "precision": plan.rule.precision,
        "confidence": plan.rule.confidence,
        "cell": {**first.cell.facts(1), "threads": None},
        "seconds": plan.seconds,
        "sides": [
            {
                "name": side.label,
                "build": side.build.identifier,
                "digest": side.build.digest,
                "profile": side.cell.profile,
                "summary": summary.facts() if summary else None,
            }
            for side, summary in zip(plan.sides, comparison.summaries(), strict=True)
        ],
        "findings": [
            {"side": other.label, "against": first.label, **finding.facts()}
            for other, finding in zip(others, comparison.findings, strict=True)
        ],
        "blocks": len(comparison.blocks),
        "runs": len(comparison.blocks) * comparison.sides,
        "spent_seconds": round(state.spent, 1),
        "warnings": [warning.facts() for warning in state.warnings],
        "further_seconds": None if left is None else round(left, 1),
    }


def comparison_text(plan: ComparePlan, state: CompareState) -> RenderableType:
    """Return the table of the sides with the verdicts below it, for a terminal."""
    warnings = [f"\n{warning}" for warning in state.warnings]
    table = rich_table(*_table(plan, state), align="lr")
    return Group(table, "", *_sentences(plan, state), *warnings)


def comparison_markdown(plan: ComparePlan, state: CompareState) -> str:
    """Return the same as Markdown."""
    table = markdown_table(*_table(plan, state), align="lr")
    items = [*_sentences(plan, state), *map(str, state.warnings)]
    listed = "\n".join(f"- {item}" for item in items)
    return f"# Comparison of {plan.metric.name}\n\n{table}\n\n{listed}"


def _table(plan: ComparePlan, state: CompareState) -> tuple[Sequence[str], list[Sequence[str]]]:
    comparison, unit = state.comparison, plan.metric.unit
    titles = ("side", "runs", f"avg {unit}", "± stddev", "min", "median", "max", "ratio")
    interval = "" if plan.rule.counted else f"{percent(plan.rule.confidence)} "
    findings: list[Finding | None] = [None, *comparison.findings]
    rows: list[Sequence[str]] = [
        (side.label, *_numbers(summary), *_result(finding))
        for side, summary, finding in zip(plan.sides, comparison.summaries(), findings, strict=True)
    ]
    return (*titles, f"{interval}interval", "verdict"), rows


def _numbers(summary: Summary | None) -> tuple[str, ...]:
    if summary is None:
        return ("0", *["-"] * 5)
    spread = "-" if summary.stddev is None else f"{summary.stddev:.4g}"
    rest = (summary.minimum, summary.median, summary.maximum)
    return (str(summary.runs), f"{summary.mean:.5g}", spread, *(f"{n:.5g}" for n in rest))


def _result(finding: Finding | None) -> tuple[str, str, str]:
    if finding is None:
        return "1", "", ""
    ratio = "-" if finding.ratio is None else f"{finding.ratio:.4f}"
    return ratio, str(finding.interval or "-"), finding.verdict.value


def _sentences(plan: ComparePlan, state: CompareState) -> list[str]:
    first, *others = plan.sides
    findings = state.comparison.findings
    lines = [
        _sentence(plan, first.label, other.label, finding)
        for other, finding in zip(others, findings, strict=True)
    ]
    blocks = counted(len(state.comparison.blocks), "block")
    lines.append(f"{blocks}, measured in {duration(state.spent)}; comparison {state.identifier}")
    if not state.comparison.is_settled:
        lines.append(time_left(state))
    elif any(finding.verdict is Verdict.UNDECIDED for finding in findings):
        lines.append(
            "The counts do not repeat well enough to decide, and counting again would not help."
        )
    return lines


def _sentence(plan: ComparePlan, first: str, other: str, finding: Finding) -> str:
    metric, rule = plan.metric, plan.rule
    if finding.ratio is None:
        return f"{other} against {first}: nothing is measured yet"
    match finding.verdict:
        case Verdict.FASTER | Verdict.SLOWER:
            verdict = f"{other} is {finding.verdict}"
        case Verdict.SAME:
            within = COUNTED_DIFFERENCE if rule.counted else rule.precision
            verdict = f"{other} is the SAME within {percent(within)}"
        case Verdict.UNDECIDED:
            verdict = f"{other} is UNDECIDED"
    intervals = (
        f"{finding.interval or 'no interval'}, from how well the counts repeat"
        if rule.counted
        else f"{_interval(finding.interval, rule.confidence)}; "
        f"{_interval(finding.shown_interval, SHOWN_CONFIDENCE)}"
    )
    return f"{verdict}: {finding.ratio:.4f} times the {metric.name} of {first} ({intervals})"


def _interval(interval: Interval | None, confidence: float) -> str:
    with_confidence = f"{percent(confidence)} confidence"
    if interval is None:
        return f"no interval at {with_confidence} yet"
    return f"{interval} at {with_confidence}"


def time_left(state: CompareState) -> str:
    """Return what is still wanted, and the budget to give, as a sentence."""
    blocks, left = state.comparison.blocks_left, state.seconds_left
    if blocks is None or left is None:
        return "Too few blocks to estimate the time to a verdict: give it a larger --budget."
    is_open = any(one.verdict is Verdict.UNDECIDED for one in state.comparison.findings)
    what = "A verdict" if is_open else "An interval as narrow as asked"
    minutes = int(-(-(state.spent + left) // 60))
    budget = f"{minutes}min" if minutes < 120 else f"{-(-minutes // 60)}h"
    return (
        f"{what} takes about {counted(blocks, 'more block')} "
        f"({counted(blocks * state.comparison.sides, 'run')}, {duration(left)}): "
        f"the same command with --budget {budget} continues this comparison."
    )
