"""The comparison of two builds over a suite, as text, Markdown and mail."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType

from landspeed.campaign.suite_causes import CauseKind, ChangePart
from landspeed.campaign.suite_compare import SuiteChange, SuiteComparison
from landspeed.console.format import change, counted, number, percent
from landspeed.console.markdown import code, markdown_table
from landspeed.console.table import rich_table
from landspeed.profiling.edited import EditedFunctions

_MAIL_WIDTH = 72
_SHOWN_NAMES = 12
_LONGEST_PATCH = 1000
_TITLES = ("change", "workload", "before", "after", "kind", "cause")


def suite_text(found: SuiteComparison) -> RenderableType:
    """Return the comparison as a table of changes between a summary and what it leaves out."""
    rows = [_row(one) for one in found.changes]
    table = [rich_table(_TITLES, rows, align="rlrrll")] if rows else []
    patch = [found.patch] if found.patch else []
    return Group(_summary(found), *patch, *table, *suite_notes(found))


def suite_markdown(found: SuiteComparison) -> str:
    """Return the comparison as Markdown."""
    lines = [f"# {found.before} → {found.after}", "", _summary(found), ""]
    lines += [code(found.patch, longest=_LONGEST_PATCH), ""] if found.patch else []
    if found.changes:
        rows = [_row(one, code) for one in found.changes]
        lines.append(markdown_table(_TITLES, rows, align="rlrrl"))
    return "\n".join([*lines, "", *suite_notes(found, code)]) + "\n"


def suite_mail(found: SuiteComparison, command: str = "") -> str:
    """Return the comparison as plain text of 72 columns, with the *command* that repeats it."""
    lines = [*textwrap.wrap(_summary(found), _MAIL_WIDTH), ""]
    lines += [*textwrap.wrap(found.patch, _MAIL_WIDTH), ""] if found.patch else []
    for one in found.changes:
        sign, workload, before, after, kind, cause = _row(one)
        lines.append(f"{sign:>9}  {workload} ({before} -> {after})")
        lines += textwrap.wrap(
            f"{kind}: {cause}" if cause else kind,
            _MAIL_WIDTH,
            initial_indent=" " * 11,
            subsequent_indent=" " * 11,
        )
    for note in suite_notes(found):
        lines += ["", *textwrap.wrap(note, _MAIL_WIDTH)]
    lines += ["", "To repeat it:", f"  {command}"] if command else []
    return "\n".join(lines) + "\n"


def _summary(found: SuiteComparison) -> str:
    total = found.same + len(found.changes)
    return (
        f"{found.same} of {counted(total, 'workload')} the same in {found.after} as in "
        f"{found.before} (instructions less than {percent(found.size)} apart)"
    )


def label_of(one: SuiteChange) -> str:
    """Return the name of the workload, with the state of the buffers where it is cold."""
    return one.workload if one.state != "cold" else f"{one.workload}, cold"


def causes_of(one: SuiteChange, mark: Callable[[str], str] = str) -> str:
    """Return the causes, each with what it changes where there are several parts.

    What servers said of them is passed through *mark*.
    """
    if len(one.parts) == 1:
        return _cause(one.parts[0], mark)
    return "; ".join(f"{change(part.ratio)} {_cause(part, mark)}" for part in one.parts)


def _cause(part: ChangePart, mark: Callable[[str], str]) -> str:
    text = ", ".join(map(mark, part.cause))
    if part.kind is CauseKind.DEFAULT:
        return f"{text} (not with {', '.join(map(mark, part.settings))})"
    if part.kind is CauseKind.PLAN:
        settings = ", ".join(map(mark, part.settings))
        return f"{text} ({f'not with {settings}' if settings else 'no setting gives the old one'})"
    return text


def _row(one: SuiteChange, mark: Callable[[str], str] = str) -> tuple[str, ...]:
    kinds = ", ".join(part.kind.value for part in one.parts)
    numbers = (number(one.before), number(one.after))
    return change(one.ratio), label_of(one), *numbers, kinds, causes_of(one, mark)


def suite_notes(found: SuiteComparison, mark: Callable[[str], str] = str) -> list[str]:
    """Return which commits may be the cause, and what the comparison leaves out, as sentences.

    What others wrote is passed through *mark*.
    """
    notes = []
    parts = [part for one in found.changes for part in one.parts]
    commits = list(dict.fromkeys(one for part in parts for one in part.commits))
    if commits and not found.patch:
        told = _some([mark(one) for one in commits], "; ")
        notes.append(f"Commits that changed these functions: {told}.")
    if found.missing:
        notes.append(f"{counted(found.missing, 'workload')} that one of the two does not have.")
    if found.errors:
        notes.append(f"Not counted: {'; '.join(found.errors)}.")
    return notes + (_edited(found.edited) if found.patch else [])


def _edited(found: EditedFunctions) -> list[str]:
    """Return what the suite cannot tell of a patch: functions that it does not execute."""
    total = len(found.executed) + len(found.unguarded) + len(found.inlined)
    if not total:
        return ["No function differs, but for comments and its place."]
    notes = [
        f"The patch changes {counted(total, 'function')}; "
        f"these workloads execute {len(found.executed)} of them."
    ]
    if found.unguarded:
        notes.append(f"No workload executes {_some(found.unguarded)}.")
    if found.inlined:
        notes.append(f"Not known, because inlined or in a library: {_some(found.inlined)}.")
    return notes


def _some(names: Sequence[str], between: str = ", ") -> str:
    more = len(names) - _SHOWN_NAMES
    return between.join(names[:_SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")
