"""The pages of searches over many workloads: each a time line and a table, and their list."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, urlencode

from base.files import canonical_json, write_atomic
from base.paths import Paths
from base.typed import to_json
from benchmarks.counted.profiles import kept_profile
from benchmarks.workloads.metrics import (
    INSTRUCTIONS,
    benchmark_name,
    group_of,
    metric_named,
    param_names,
)
from landspeed.atlas.report import AtlasReport, CommitChange, atlas_markdown
from landspeed.console.format import change, percent
from landspeed.console.markdown import code, markdown_table
from landspeed.profiling.flamegraph import draw, frames
from landspeed.site.atlas_reports import ATLAS, atlas_reports
from landspeed.site.pages.report_page import FACTS, MARKDOWN, PAGE, report_page
from landspeed.site.pages.timeline import TimelinePoint, timeline


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
    write_atomic(reports / name / MARKDOWN, text + "\n")
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
    # last: what has it is listed, and its page is linked to
    write_atomic(reports / name / FACTS, canonical_json(to_json(report)))
    _write_list(reports)
    return reports / name / PAGE


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
    for directory, report in atlas_reports(reports):
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
