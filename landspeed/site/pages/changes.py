"""Changepoints and the status of each: nominated, confirmed, bisected, refuted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from base.build import Origin
from benchmarks.workloads.metrics import benchmark_name, metric_named
from builders.source.history import Commit
from landspeed.bisect.note import BisectionNote
from landspeed.bisect.report import ReportedCulprit
from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus, Confirmation, newest
from landspeed.console.markdown import plain
from landspeed.results.params import asv_cell, asv_choices
from landspeed.stats.summary import rounded

Facts = Mapping[str, Any]
Commits = Mapping[str, Commit]
"""Commits by full hash."""

_FOUND = ("culprit", "range")


MEANINGS: Mapping[ChangepointStatus, str] = {
    ChangepointStatus.BISECTED: "confirmed, and the commit or release was found",
    ChangepointStatus.CONFIRMED: "fresh, interleaved runs of both sides show it again",
    ChangepointStatus.NOMINATED: "a trend shows it; there are no fresh runs yet",
    ChangepointStatus.UNDECIDED: "fresh runs did not decide within their budget",
    ChangepointStatus.REFUTED: "fresh, interleaved runs do not show it",
    ChangepointStatus.DOUBTFUL: "among this many series, noise alone would show as much",
}


def changes(
    steps: Iterable[Changepoint],
    confirmations: Iterable[Confirmation],
    bisections: Iterable[BisectionNote],
    commits: Commits,
) -> list[dict[str, Any]]:
    """Return a row for each of *steps*, and for each tested one that no trend shows any more.

    *confirmations* and *bisections* are the notes of the records. The most certain rows come
    first, then the largest.
    """
    tested, reports = newest(confirmations), sorted(bisections, key=lambda note: note.time)
    rows, shown = [], set()
    for step in steps:
        shown.add(step.key)
        rows.append(
            _row(step, tested.get(step.key), reports, commits)
            | {
                "current": True,
                "line": step.line,
                "levels": [rounded(one) for one in step.levels],
                "unit": step.unit,
                "p_value": None if step.p_value is None else float(f"{step.p_value:.3g}"),
                "time": step.time,
            }
        )
    for key, one in tested.items():
        if key not in shown:
            own = _row(one.changepoint, one, reports, commits)
            rows.append(own | {"current": False, "time": one.time})
    return sorted(rows, key=_order)


def _order(row: Facts) -> tuple[Any, ...]:
    larger = max(row["ratio"], 1 / row["ratio"])
    return (
        list(ChangepointStatus).index(ChangepointStatus(row["state"])),
        not row["worse"],
        -larger,
        row["key"],
    )


def _bisection_of(
    reports: Sequence[BisectionNote], changepoint: Changepoint
) -> BisectionNote | None:
    """Return the last of *reports* that bisected *changepoint*, or that found the same commit."""
    after = changepoint.after.ref
    cell = (changepoint.variant.name, changepoint.metric, changepoint.machine)
    for note in reversed(reports):
        report = note.report
        is_same_cell = (report.variant, report.metric, report.machine.name) == cell
        if note.nomination == changepoint.key or (is_same_cell and note.culprit == after):
            return note
    return None


def _row(
    changepoint: Changepoint,
    confirmation: Confirmation | None,
    reports: Sequence[BisectionNote],
    commits: Commits,
) -> dict[str, Any]:
    metric = metric_named(changepoint.metric)
    group, params = asv_cell(changepoint.mode, changepoint.params)
    status = confirmation.status if confirmation else changepoint.status
    note = _bisection_of(reports, changepoint)
    if status is ChangepointStatus.CONFIRMED and note and note.report.answer in _FOUND:
        status = ChangepointStatus.BISECTED
    return {
        "key": changepoint.key,
        "state": status.value,
        "machine": changepoint.machine,
        "mode": changepoint.mode,
        "metric": metric.name,
        "worse": changepoint.worse,
        "params": vars(changepoint.params),
        "variant": changepoint.variant.name,
        "asv": {
            "benchmark": benchmark_name(group, metric),
            "choices": {**asv_choices(group, params), **changepoint.variant.axes()},
        },
        "before": _side(changepoint.before, commits),
        "after": _side(changepoint.after, commits),
        "ratio": rounded(changepoint.ratio),
        "interval": [rounded(one) for one in changepoint.interval] or None,
        "confirmation": _told(confirmation),
        "bisection": _bisected(note) if note else None,
    }


def _side(origin: Origin, commits: Commits) -> dict[str, Any]:
    known = commits.get(origin.commit or "") if origin.release is None else None
    return {
        "name": origin.name,
        "commit": origin.commit if origin.release is None else None,
        "date": origin.date[:10],
        "subject": plain(known.subject) if known else None,
        "author": plain(known.author) if known else None,
    }


def _told(confirmation: Confirmation | None) -> dict[str, Any] | None:
    if confirmation is None:
        return None
    finding = confirmation.finding or {}
    return {
        "fate": confirmation.status.value,
        "time": confirmation.time,
        "reason": plain(confirmation.reason),
        "comparison": confirmation.comparison,
        "ratio": finding.get("ratio"),
        "interval": finding.get("interval"),
        "blocks": finding.get("blocks"),
    }


def _bisected(note: BisectionNote) -> dict[str, Any]:
    report = note.report
    return {
        "time": note.time,
        "answer": report.answer,
        "confidence": report.confidence,
        "runs": report.runs,
        "builds": report.builds,
        "command": report.command,
        "culprit": _culprit(report.culprit) if report.culprit else None,
    }


def _culprit(culprit: ReportedCulprit) -> dict[str, Any]:
    return {
        "name": culprit.name,
        "ref": culprit.ref,
        "date": culprit.date[:10],
        "subject": plain(culprit.subject),
        "author": plain(culprit.author or ""),
        "parent": culprit.parent.name,
        "candidates": culprit.steps.count,
    }
