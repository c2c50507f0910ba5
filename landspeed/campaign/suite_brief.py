"""A comparison over a suite in five sentences, for those who do not want the table."""

from __future__ import annotations

from benchmarks.counted.slope import SPREAD_LIMIT
from landspeed.campaign.suite_causes import CauseKind, ChangePart
from landspeed.campaign.suite_compare import SuiteComparison
from landspeed.campaign.suite_report import label_of
from landspeed.console.format import change, counted, percent


def suite_brief(found: SuiteComparison, sides: str) -> str:
    """Return what was built, what differs, why, how sure that is, and where to look.

    *sides* are the two words for which a person typed the comparison.
    """
    total = counted(found.same + len(found.changes), "workload")
    failed = f"; {counted(len(found.errors), 'count')} failed" if found.errors else ""
    sentences = [
        f"{found.before} and {found.after} were built from source, and the instructions of {total} "
        f"counted on both{failed}."
    ]
    pages = "landspeed preview shows the pages"
    if found.changes:
        sentences += _largest_change(found)
        largest = found.changes[0]
        scenario = f"{largest.workload}{'/////cold' if largest.state == 'cold' else ''}"
        pages = f"landspeed explain {sides} --scenario {scenario} lists functions, {pages}"
    else:
        sentences.append(f"None differs by {percent(found.size)} or more.")
    return "\n".join(f"- {sentence}" for sentence in (*sentences, f"Where to look: {pages}."))


def _largest_change(found: SuiteComparison) -> tuple[str, str, str]:
    """Return what differs, why the largest change is there, and how sure that is."""
    largest, slower = found.changes[0], sum(one.ratio > 1 for one in found.changes)
    parts = [f"{change(part.ratio)} {_cause(part)}" for part in largest.parts]
    repeats = f"each count was repeated and agreed within {percent(SPREAD_LIMIT)}"
    if largest.parts[0].settings:
        repeats += f", and {found.after} was counted again with {largest.parts[0].settings[0]}"
    return (
        f"{found.after} executes more instructions in {slower}, fewer in "
        f"{len(found.changes) - slower} and as many in {found.same}; most changed "
        f'"{label_of(largest)}", by {change(largest.ratio)}.',
        f'Why "{label_of(largest)}" changed in {found.after}: {"; ".join(parts)}.',
        f"How sure: {repeats}; instructions are not time, which also waits.",
    )


def _cause(part: ChangePart) -> str:
    match part.kind:
        case CauseKind.DEFAULT:
            gives_back = f"({', '.join(part.settings)} gives it back)"
            return f"is the new default of {', '.join(part.cause)} {gives_back}"
        case CauseKind.PLAN:
            return f"is another plan ({', '.join(part.cause)})"
        case CauseKind.CODE:
            functions = ", ".join(one.split()[0] for one in part.cause)
            return f"is code, most of it in {functions}" if functions else "is code"
        case CauseKind.LAYOUT:
            return f"is where data lie, in {', '.join(one.split()[0] for one in part.cause)}"
        case CauseKind.ENVIRONMENT:
            return f"is not PostgreSQL's: {', '.join(part.cause)}"
