"""The pages of searches over many workloads: each a time line and a table, and their list."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import ValidationError

from base.files import canonical_json, write_atomic
from base.paths import Paths
from benchmarks.counted.profiles import kept_profile
from benchmarks.workloads.metrics import (
    INSTRUCTIONS,
    benchmark_name,
    group_of,
    metric_named,
    param_names,
)
from landspeed.atlas.report import ATLAS_ADAPTER, AtlasReport, CommitChange, atlas_markdown
from landspeed.console.format import change, percent
from landspeed.console.markdown import code, markdown_table
from landspeed.console.progress import say
from landspeed.profiling.flamegraph import draw, frames
from landspeed.site.pages.report_page import PAGE, report_page
from landspeed.site.pages.timeline import TimelinePoint, timeline

ATLAS = "atlas"
"""The directory of the reports, see REPORTS of landspeed.site.pages.frame."""

_FACTS, _MARKDOWN = "report.json", "report.md"


def write_atlas_pages(report: AtlasReport, paths: Paths) -> Path:
    """Write the pages of *report* among the results, and the list of all; return its page.

    Each commit whose profiles are kept has a flame graph of the workload that it changed most.
    """
    reports = paths.results / ATLAS
    name = f"{report.good.name}-{report.bad.name}".replace("/", "-")
    text = atlas_markdown(report)
    picture = timeline(
        [point for one in report.changes for point in _points(one)],
        report.good.date,
        report.bad.date,
    )
    title = f"From {report.good.name} to {report.bad.name}"
    write_atomic(reports / name / _MARKDOWN, text + "\n")
    write_atomic(reports / name / _FACTS, canonical_json(report.facts()))
    drawn = {one.commit.ref: _draw(one, reports / name, paths) for one in report.changes}

    def link(one: CommitChange, text: str, to: str) -> str:
        if to == "profile":
            return f"[{text}]({drawn[one.commit.ref]})" if text and drawn[one.commit.ref] else text
        if to == "commit":
            return f"[{text}](../../commit.html#{one.commit.ref})"
        return f"[{text}]({_trend(report.machine, to)})"

    linked = atlas_markdown(report, link)
    page = report_page(name, title, linked, below=ATLAS, picture=picture)
    write_atomic(reports / name / PAGE, page)
    _write_list(reports)
    return reports / name / PAGE


def found_by_commit(reports: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what the searches in *reports* found, by commit: a row for each workload it changed.

    A row has the workload, the ratio after/before, the kind, the names of the functions that
    changed most, and the range of the search with the address of its page, from the site's root.
    A workload that several searches found at the same commit has a row of the longest range.
    Commits that cannot be told apart have none, because it may be another of them.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for directory, report in sorted(_reports(reports), key=lambda one: one[1].commits):
        for one in (each for each in report.changes if each.among == 1):
            for workload in one.workloads:
                found.setdefault(one.commit.ref, {})[workload.workload] = {
                    "workload": workload.workload,
                    "ratio": workload.after / workload.before,
                    "kind": workload.kind,
                    "functions": [function.function for function in workload.functions],
                    "range": f"{report.good.name} to {report.bad.name}",
                    "page": f"{ATLAS}/{directory}/{PAGE}",
                }
    return {
        ref: sorted(rows.values(), key=lambda row: -abs(log(row["ratio"])))
        for ref, rows in found.items()
    }


def _reports(reports: Path) -> Iterator[tuple[str, AtlasReport]]:
    """Yield the directory and the report of each search; one that cannot be read is left out."""
    for path in sorted(reports.glob(f"*/{_FACTS}")):
        try:
            yield path.parent.name, ATLAS_ADAPTER.validate_json(path.read_bytes())
        except (OSError, ValidationError):
            say(f'the report of a search cannot be read and is left out: "{path}"')


def _draw(one: CommitChange, directory: Path, paths: Paths) -> str:
    """Draw the workload that *one* changed most; return the file's name, "" without profiles."""
    if not one.workloads:
        return ""
    most = one.workloads[0]
    name = f"{one.commit.name}-{most.workload}.svg"
    if not (directory / name).exists():
        before, after = (kept_profile(paths, record) for record in most.records)
        if before is None or after is None:
            return ""
        whole = frames(before, after)
        if not whole.width:
            return ""
        title = f"{most.workload}: {one.commit.name} against {one.parent.name}; red is more"
        draw(whole, directory / name, title)
    return name


def _trend(machine: str, workload: str) -> str:
    """Return the address of asv's graph of the instructions of *workload*."""
    group = group_of(workload)
    choices = {"machine": machine, "branch": "master"}
    if group != workload:
        choices[f"p-{param_names(group)[0]}"] = repr(workload)
    benchmark = benchmark_name(group, metric_named(INSTRUCTIONS))
    return f"../../trends.html#{benchmark}?{urlencode(choices, quote_via=quote)}"


def _points(one: CommitChange) -> list[TimelinePoint]:
    """Return a point for each family that *one* changed, with its largest change."""
    largest = {workload.family: workload for workload in reversed(one.workloads)}
    return [
        TimelinePoint(
            row=family,
            day=one.commit.date,
            ratio=workload.after / workload.before,
            title=f"{one.commit.name} {workload.workload} "
            f"{change(workload.after / workload.before)}: {one.commit.subject}",
            link=f"../../commit.html#{one.commit.ref}",
        )
        for family, workload in largest.items()
    ]


def _write_list(reports: Path) -> None:
    rows = []
    for directory, report in _reports(reports):
        rows.append(
            (
                f"[{report.good.name} to {report.bad.name}]({directory}/{PAGE})",
                f"{report.good.date} to {report.bad.date}",
                f"{report.commits:,}",
                str(len(report.workloads)),
                percent(report.size),
                str(len(report.changes)),
                "yes" if report.complete else "not yet",
            )
        )
    titles = ("range", "dates", "commits", "workloads", "size", "found", "searched to the end")
    listed = markdown_table(titles, rows, align="llrrrrl")
    command = code("landspeed bisect A B --all")
    text = f"# Atlas\n\nEvery commit that changed a workload, as {command} finds it.\n\n{listed}\n"
    write_atomic(reports / PAGE, report_page("", "Atlas", text, below=ATLAS))
