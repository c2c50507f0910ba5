"""A comparison over a suite in five sentences, for those who do not want the table."""

from __future__ import annotations

from benchmarks.counted.slope import SPREAD_LIMIT
from landspeed.campaign.suite_causes import CauseKind, ChangePart
from landspeed.campaign.suite_compare import SuiteChange, SuiteComparison
from landspeed.campaign.suite_report import label_of
from landspeed.console.format import change, counted, percent


def suite_brief(found: SuiteComparison, sides: str) -> str:
    """Return what was built, what differs, why, how sure that is, and where to look.

    *sides* are the two words for which a person typed the comparison.
    """
    largest = found.changes[0] if found.changes else None
    sentences = [_built(found), _differs(found)]
    if largest:
        sentences += [_why(found, largest), _sure(found, largest)]
    sentences.append(_look(largest, sides))
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _built(found: SuiteComparison) -> str:
    total = counted(found.same + len(found.changes), "workload")
    return (
        f"{found.before} and {found.after} were built from source, and the instructions of {total} "
        "counted on both."
    )


def _differs(found: SuiteComparison) -> str:
    if not found.changes:
        return f"None differs by {percent(found.size)} or more."
    slower = sum(one.ratio > 1 for one in found.changes)
    return (
        f"{found.after} executes more instructions in {slower}, fewer in "
        f"{len(found.changes) - slower} and as many in {found.same}; most changed "
        f"{_label(found.changes[0])}, by {change(found.changes[0].ratio)}."
    )


def _why(found: SuiteComparison, largest: SuiteChange) -> str:
    parts = [f"{change(part.ratio)} {_cause(part)}" for part in largest.parts]
    return f"Why {_label(largest)} changed in {found.after}: {'; '.join(parts)}."


def _cause(part: ChangePart) -> str:
    match part.kind:
        case CauseKind.DEFAULT:
            gives_back = f"({', '.join(part.settings)} gives it back)"
            return f"is the new default of {', '.join(part.cause)} {gives_back}"
        case CauseKind.PLAN:
            return f"is another plan ({', '.join(part.cause)})"
        case CauseKind.CODE:
            return f"is code, most of it in {', '.join(one.split()[0] for one in part.cause)}"
        case CauseKind.ENVIRONMENT:
            return f"is not PostgreSQL's: {', '.join(part.cause)}"


def _sure(found: SuiteComparison, largest: SuiteChange) -> str:
    repeats = f"each count was repeated and agreed within {percent(SPREAD_LIMIT)}"
    if largest.parts[0].settings:
        repeats += f", and {found.after} was counted again with {largest.parts[0].settings[0]}"
    return f"How sure: {repeats}; instructions are not time, which also waits."


def _look(largest: SuiteChange | None, sides: str) -> str:
    pages = "landspeed preview shows the pages"
    if largest is None:
        return f"Where to look: {pages}."
    cold = "/////cold" if largest.state == "cold" else ""
    scenario = f"{largest.workload}{cold}"
    return (
        f"Where to look: landspeed explain {sides} --scenario {scenario} lists functions, {pages}."
    )


def _label(one: SuiteChange) -> str:
    return f'"{label_of(one)}"'
