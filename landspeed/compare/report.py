"""What a Comparison is told as: a table of its sides, and a sentence for each verdict."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType

from landspeed.compare.timed import ComparePlan, CompareState
from landspeed.compare.verdict import EXACT_DIFFERENCE, READABLE, Finding, Verdict
from landspeed.console.format import percent
from landspeed.console.markdown import markdown_table
from landspeed.console.progress import duration
from landspeed.console.table import rich_table
from landspeed.stats.confidence_sequence import Interval
from landspeed.stats.summary import Summary

_EXACT = "how well it repeats does not tell the two apart, and a second measurement would not"


def comparison_facts(contest: ComparePlan, course: CompareState) -> dict[str, Any]:
    """All that is known, as JSON can hold it; sides in the order that was asked for."""
    comparison, each = course.comparison, course.each
    first, *others = contest.contenders
    summaries = comparison.summaries() or (None,) * comparison.sides
    further = comparison.further
    return {
        "comparison": course.identifier,
        "metric": contest.metric.name,
        "unit": contest.metric.unit,
        "higher_is_better": contest.goal.higher_is_better,
        "precision": contest.goal.precision,
        "confidence": contest.goal.confidence,
        "cell": {**contest.contenders[0].cell.facts(1), "threads": None},
        "seconds": contest.seconds,
        "sides": [
            {
                "name": contender.label,
                "build": contender.build.identifier,
                "digest": contender.build.digest,
                "profile": contender.cell.profile,
                "summary": summary.facts() if summary else None,
            }
            for contender, summary in zip(contest.contenders, summaries, strict=True)
        ],
        "findings": [
            {"side": other.label, "against": first.label, **finding.facts()}
            for other, finding in zip(others, comparison.findings, strict=True)
        ],
        "blocks": len(comparison.blocks),
        "runs": len(comparison.blocks) * comparison.sides,
        "spent_seconds": round(course.spent, 1),
        "warnings": [caution.facts() for caution in course.cautions],
        "further_seconds": None if further is None or each is None else round(further * each, 1),
    }


def comparison_text(contest: ComparePlan, course: CompareState) -> RenderableType:
    """The table of sides, and below it what was found, for people."""
    warnings = [f"\n{caution}" for caution in course.cautions]
    return Group(
        rich_table(*_table(contest, course), align="lr"),
        "",
        *_sentences(contest, course),
        *warnings,
    )


def comparison_markdown(contest: ComparePlan, course: CompareState) -> str:
    """The same as Markdown."""
    titles, rows = _table(contest, course)
    table = markdown_table(titles, rows, align="lr")
    sentences = [f"- {sentence}" for sentence in _sentences(contest, course)]
    sentences += ["- " + "\n".join(caution.lines()) for caution in course.cautions]
    return "\n".join([f"# {contest.metric.name} compared", "", table, "", *sentences])


def _table(
    contest: ComparePlan, course: CompareState
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    comparison = course.comparison
    unit = contest.metric.unit
    titles = ("side", "runs", f"avg {unit}", "± stddev", "min", "median", "max", "ratio")
    interval = "" if contest.goal.exact else f"{percent(contest.goal.confidence)} "
    summaries = comparison.summaries() or (None,) * comparison.sides
    findings: list[Finding | None] = [None, *comparison.findings]
    rows = [
        (contender.label, *_numbers(summary), *_result(finding))
        for contender, summary, finding in zip(contest.contenders, summaries, findings, strict=True)
    ]
    return (*titles, f"{interval}interval", "verdict"), rows


def _numbers(summary: Summary | None) -> tuple[str, ...]:
    if summary is None:
        return ("0", *["-"] * 5)
    spread = "-" if summary.stddev is None else f"{summary.stddev:.4g}"
    rest = (summary.minimum, summary.median, summary.maximum)
    return (str(summary.count), f"{summary.mean:.5g}", spread, *(f"{n:.5g}" for n in rest))


def _result(finding: Finding | None) -> tuple[str, str, str]:
    if finding is None:
        return "1", "", ""
    ratio = "-" if finding.ratio is None else f"{finding.ratio:.4f}"
    return ratio, str(finding.interval or "-"), finding.verdict.value


def _sentences(contest: ComparePlan, course: CompareState) -> list[str]:
    first, *others = contest.contenders
    lines = [
        _sentence(contest, first.label, other.label, finding)
        for other, finding in zip(others, course.comparison.findings, strict=True)
    ]
    lines.append(
        f"{len(course.comparison.blocks)} blocks, {duration(course.spent)} of measuring; "
        f"comparison {course.identifier}"
    )
    if any(finding.verdict is Verdict.UNDECIDED for finding in course.comparison.findings):
        lines.append(_EXACT if contest.goal.exact else _what_it_takes(course))
    return lines


def _sentence(contest: ComparePlan, first: str, other: str, finding: Finding) -> str:
    metric, goal = contest.metric, contest.goal
    if finding.ratio is None:
        return f"{other} against {first}: nothing is measured yet"
    says = f"{finding.ratio:.4f} times the {metric.name} of {first}"
    sure = _span(finding.interval, percent(goal.confidence))
    sure = f"{sure}; {_span(finding.readable, percent(READABLE))}"
    if goal.exact:
        sure = f"{finding.interval} by how well it repeats"
    match finding.verdict:
        case Verdict.FASTER | Verdict.SLOWER:
            verdict = f"{other} is {finding.verdict}"
        case Verdict.SAME:
            within = EXACT_DIFFERENCE if goal.exact else goal.precision
            verdict = f"{other} is the SAME within {percent(within)}"
        case Verdict.UNDECIDED:
            verdict = f"{other} is UNDECIDED"
    return f"{verdict}: {says} ({sure})"


def _span(interval: Interval | None, sure: str) -> str:
    return f"no {sure} interval yet" if interval is None else f"{interval} at {sure}"


def _what_it_takes(course: CompareState) -> str:
    comparison, each = course.comparison, course.each
    if comparison.further is None or each is None:
        return "how much it would take nobody can say from so few blocks: give it a larger --budget"
    further, runs = comparison.further, comparison.further * comparison.sides
    total = course.spent + further * each
    minutes = int(-(-total // 60))
    budget = f"{minutes}min" if minutes < 120 else f"{-(-minutes // 60)}h"
    return (
        f"to decide it would take about {further} further blocks ({runs} runs, "
        f"{duration(further * each)}): the same command with --budget {budget} goes on"
    )
