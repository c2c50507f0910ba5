"""Changepoints and the status of each: nominated, confirmed, bisected, refuted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from base.build import Origin, Variant
from benchmarks.workloads.metrics import benchmark_name, metric_named, param_names
from builders.source.history import Commit
from landspeed.bisect.note import BisectionNote
from landspeed.bisect.report import ReportedCulprit
from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus, Confirmation, newest
from landspeed.console.markdown import plain
from landspeed.results.params import Params, asv_cell
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
    tested = newest(confirmations)
    reports = sorted(bisections, key=lambda note: note.time)
    rows, shown = [], set()
    for step in steps:
        shown.add(step.key)
        confirmation = tested.get(step.key)
        about = list(_about(reports, step))
        rows.append(
            _row(step, confirmation, about, commits)
            | {
                "state": _status(confirmation, about, step).value,
                "current": True,
                "line": step.line,
                "levels": [rounded(one) for one in step.levels],
                "unit": step.unit,
                "p_value": None if step.p_value is None else float(f"{step.p_value:.3g}"),
                "time": step.time,
            }
        )
    for key, confirmation in tested.items():
        if key not in shown:
            about = list(_about(reports, confirmation.changepoint))
            rows.append(
                _row(confirmation.changepoint, confirmation, about, commits)
                | {
                    "state": _status(confirmation, about, confirmation.changepoint).value,
                    "current": False,
                    "time": confirmation.time,
                }
            )
    return sorted(rows, key=_order)


def _order(row: Facts) -> tuple[Any, ...]:
    larger = max(row["ratio"], 1 / row["ratio"])
    return (
        list(ChangepointStatus).index(ChangepointStatus(row["state"])),
        not row["worse"],
        -larger,
        row["key"],
    )


def _status(
    confirmation: Confirmation | None, about: list[BisectionNote], changepoint: Changepoint
) -> ChangepointStatus:
    status = confirmation.status if confirmation else changepoint.status
    is_found = bool(about) and about[-1].report.answer in _FOUND
    if status is ChangepointStatus.CONFIRMED and is_found:
        return ChangepointStatus.BISECTED
    return status


def _about(notes: Iterable[BisectionNote], nomination: Changepoint) -> Iterator[BisectionNote]:
    """Yield the *notes* that bisected *nomination*, or that found the same commit."""
    after = nomination.after.release or nomination.after.commit
    for note in notes:
        report = note.report
        is_same_cell = (report.variant, report.metric, report.machine.name) == (
            *(nomination.variant.name, nomination.metric, nomination.machine),
        )
        if note.nomination == nomination.key or (is_same_cell and note.culprit == after):
            yield note


def _row(
    nomination: Changepoint,
    confirmation: Confirmation | None,
    about: list[BisectionNote],
    commits: Commits,
) -> dict[str, Any]:
    metric = metric_named(nomination.metric)
    interval = nomination.interval
    return {
        "key": nomination.key,
        "machine": nomination.machine,
        "mode": nomination.mode,
        "metric": metric.name,
        "worse": (nomination.ratio > 1) != metric.higher_is_better,
        "params": vars(nomination.params),
        "variant": nomination.variant.name,
        "asv": asv_query(nomination.mode, metric.name, nomination.params, nomination.variant),
        "before": _side(nomination.before, commits),
        "after": _side(nomination.after, commits),
        "ratio": rounded(nomination.ratio),
        "interval": [rounded(one) for one in interval] if interval else None,
        "confirmation": _told(confirmation),
        "bisection": _bisected(about[-1]) if about else None,
    }


def asv_query(mode: str, metric: str, params: Params, variant: Variant) -> dict[str, Any]:
    """Return the parts of the address of asv's graph of a cell: benchmark and parameters."""
    group, params = asv_cell(mode, params)
    names = [f"p-{name}" for name in param_names(group)]
    return {
        "benchmark": benchmark_name(group, metric_named(metric)),
        "choices": {**dict(zip(names, params.spelled(), strict=True)), **variant.axes()},
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
