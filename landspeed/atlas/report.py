"""The report of a search over many workloads: each commit, what it changed, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from landspeed.bisect.commit_range import Candidate
from landspeed.bisect.journal import Number
from landspeed.console.format import change, counted, percent
from landspeed.console.markdown import code, markdown_table
from landspeed.console.progress import duration

_TOP_WORKLOADS = 6


@dataclass(frozen=True, kw_only=True)
class FunctionChange:
    """The change of a function's own instructions in one execution of a workload."""

    function: str
    change: float


@dataclass(frozen=True, kw_only=True)
class WorkloadChange:
    """Instructions of one execution of a workload before and after a commit.

    ``functions`` are those that changed most; empty if no profile was kept. ``kind`` is empty where
    it was not looked for. ``records`` are the ids of the two counts.
    """

    workload: str
    family: str
    before: Number
    after: Number
    functions: tuple[FunctionChange, ...]
    kind: str = ""
    records: tuple[str, str] = ("", "")


@dataclass(frozen=True, kw_only=True)
class CommitChange:
    """A commit that changed workloads, the largest change first, next to its ``parent``.

    ``among`` is the number of commits that cannot be told apart, because those between cannot be
    counted; ``commit`` is the last of them.
    """

    commit: Candidate
    parent: Candidate
    among: int
    workloads: tuple[WorkloadChange, ...]


@dataclass(frozen=True, kw_only=True)
class OpenRange:
    """Commits after ``after`` up to ``last`` in which ``workloads`` changed, not searched yet."""

    after: Candidate
    last: Candidate
    commits: int
    workloads: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class NotRepeated:
    """A change that was below the size when ``commit`` and its parent were counted again.

    ``ratio`` is commit / parent as the search counted them; ``again`` is that of the second counts.
    """

    commit: Candidate
    workload: str
    ratio: float
    again: float


@dataclass(frozen=True, kw_only=True)
class AtlasReport:
    """All changes found between ``good`` and ``bad``, and what they took.

    ``candidates`` of the ``commits`` change what is installed; points of the grid are at most
    ``spacing`` candidates apart. ``build_seconds`` and ``count_seconds`` are of all invocations.
    About ``builds_left`` and ``counts_left`` are needed to settle what is open.
    ``counted_again`` is how many changes of workloads have been counted a second time.
    """

    good: Candidate
    bad: Candidate
    commits: int
    candidates: int
    spacing: int
    size: float
    variant: str
    workloads: tuple[str, ...]
    complete: bool
    changes: tuple[CommitChange, ...]
    open: tuple[OpenRange, ...]
    skipped: tuple[tuple[str, str], ...]
    refused: tuple[tuple[str, str, str], ...]
    builds: int
    counts: int
    build_seconds: float
    count_seconds: float
    machine: str
    command: str
    builds_left: int = 0
    counts_left: int = 0
    not_repeated: tuple[NotRepeated, ...] = ()
    counted_again: int = 0


Link = Callable[[CommitChange, str, str], str]
"""Returns the Markdown of a text about a commit that leads to its ``commit``, ``profile`` or trend.

The last argument is one of the two words, or the name of the workload whose trend it is.
"""


def _no_link(_: CommitChange, text: str, __: str) -> str:
    return text


def atlas_markdown(report: AtlasReport, link: Link = _no_link) -> str:
    """Return *report* as Markdown, whose table leads to what *link* knows."""
    parts = (_found(report, link), _doubtful(report), _open(report), _refused(report))
    return "\n".join(chain(_head(report), *parts, _method(report)))


def _head(report: AtlasReport) -> Iterator[str]:
    good, bad = report.good, report.bad
    yield f"# Changes of cost from {good.name} to {bad.name}"
    yield ""
    done = "" if report.complete else " so far"
    yield (
        f"**{counted(len(report.changes), 'commit')} found{done}** that changed one of "
        f"{counted(len(report.workloads), 'workload')} by {percent(report.size)} or more, among "
        f"{counted(report.commits, 'commit')} ({good.date} to {bad.date})."
    )
    yield ""


def _found(report: AtlasReport, link: Link) -> Iterator[str]:
    if report.changes:
        titles = ("commit", "date", "subject", "workloads", "kind", "functions (largest workload)")
        yield markdown_table(titles, [_row(one, link) for one in report.changes])
        yield ""


def _row(one: CommitChange, link: Link) -> Sequence[str]:
    shown = [
        f"{link(one, code(w.workload), w.workload)} {change(w.after / w.before)}"
        for w in one.workloads[:_TOP_WORKLOADS]
    ]
    if len(one.workloads) > _TOP_WORKLOADS:
        shown.append(f"{len(one.workloads) - _TOP_WORKLOADS} more")
    functions = one.workloads[0].functions if one.workloads else ()
    name = link(one, code(one.commit.name), "commit")
    costs = ", ".join(f"{code(f.function)} {f.change:+,.0f}" for f in functions)
    return (
        name if one.among == 1 else f"one of {one.among} up to {name}",
        one.commit.date,
        code(one.commit.subject),
        ", ".join(shown),
        "; ".join(dict.fromkeys(w.kind for w in one.workloads if w.kind)),
        link(one, costs, "profile"),
    )


def _section(title: str, *paragraphs: str) -> Iterator[str]:
    for one in (f"## {title}", *paragraphs):
        yield one
        yield ""


def _doubtful(report: AtlasReport) -> Iterator[str]:
    if report.not_repeated:
        rows = [
            (code(one.commit.name), code(one.workload), change(one.ratio), change(one.again))
            for one in report.not_repeated
        ]
        yield from _section(
            "Not repeated",
            "Each commit and its parent were counted again, for the same workloads in the same "
            "order. These changes were below the size then. What a workload costs may depend on "
            "what its server counted before.",
            markdown_table(("commit", "workload", "first", "again"), rows, align="llrr"),
        )


def _open(report: AtlasReport) -> Iterator[str]:
    if not report.complete:
        yield from _section(
            "Not searched to the end",
            f"About {counted(report.builds_left, 'build')} and "
            f"{counted(report.counts_left, 'count')} are left: the same search continues.",
        )
    if report.open:
        rows = [
            (code(one.after.name), code(one.last.name), str(one.commits), ", ".join(one.workloads))
            for one in report.open
        ]
        yield markdown_table(("after", "up to", "commits", "workloads"), rows, align="llrl")
        yield ""


def _refused(report: AtlasReport) -> Iterator[str]:
    if report.refused:
        reasons: dict[tuple[str, str], list[str]] = {}
        for commit, workload, reason in report.refused:
            reasons.setdefault((workload, reason), []).append(code(commit))
        rows = [
            (code(workload), ", ".join(commits[:_TOP_WORKLOADS]), str(len(commits)), code(reason))
            for (workload, reason), commits in sorted(reasons.items())
        ]
        yield from _section(
            "Not counted",
            "A workload that cannot be counted at an end is counted at the nearest commit where it "
            "can be, and searched from there.",
            markdown_table(("workload", "first commits", "commits", "why"), rows, align="llrl"),
        )


def _method(report: AtlasReport) -> Iterator[str]:
    yield "## Method"
    yield ""
    yield (
        f"{report.candidates:,} of the commits change what is installed. The grid has a point "
        f"every {report.spacing} of them at most: only changes that cancel between two counted "
        "commits can be missed. "
        f"{counted(report.builds, 'build')} ({duration(report.build_seconds)}) and "
        f"{counted(report.counts, 'count')} ({duration(report.count_seconds)}, several at once) "
        f"on {report.machine}, variant {report.variant}. "
        f"{counted(report.counted_again, 'change')} of workloads counted a second time. "
        f"{counted(len(report.skipped), 'commit')} could not be built; "
        f"{counted(len(report.refused), 'count')} could not be made."
    )
    yield ""
    yield f"    {report.command}"
