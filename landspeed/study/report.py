"""The report of a study: tables, plots, method, provenance, raw data, commands to repeat it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from base.files import canonical_json, exchange, remove_tree, storage_errors, write_atomic
from benchmarks.machine.machine import Machine
from benchmarks.observation.warnings import RunFindings
from benchmarks.records.record import Record
from benchmarks.workloads.metrics import metric_named
from landspeed.console.format import gib
from landspeed.console.markdown import code, plain
from landspeed.results.reproduce import setup_commands
from landspeed.results.run import origin_of
from landspeed.results.show import epoch_text
from landspeed.results.warnings import count_warnings
from landspeed.results.where_time_went import client_text, evidence_rows
from landspeed.site.pages.report_page import FACTS, MARKDOWN, PAGE, report_page
from landspeed.study.ablation import Ablation
from landspeed.study.effects import Attribution
from landspeed.study.plan import StudyPlan
from landspeed.study.plots import Series, axis_name, draw, draw_rankings
from landspeed.study.request import StudyRequest
from landspeed.study.samples import StudyRow, batches, grouped, missing_axes
from landspeed.study.schema import EvidenceExhibit, Kind, PlotExhibit, Shown, TableExhibit
from landspeed.study.tables import (
    caption,
    exhibit,
    heading_of,
    ranking_table,
    ranking_text,
    study_table,
)

_SAMPLES, _SECONDS = "samples.parquet", "seconds.parquet"
_METHOD = """Every run is one invocation of a client on a freshly started server. The data are in \
the state in which they were loaded: vacuumed, frozen and checkpointed; workloads that write get a \
fresh copy. All points were measured in rounds, each in a random order, so that drift affects all \
of them alike. The standard deviation is between runs; the seconds within a run are not samples. \
Intervals are 95 % intervals of the ratio of geometric means: paired by round where both sides \
have the same rounds, else Welch's. They say nothing about other machines, and one in twenty does \
not contain the true ratio."""

_Exhibit = TypeVar("_Exhibit", PlotExhibit, TableExhibit, EvidenceExhibit)


@dataclass(frozen=True, kw_only=True)
class StudyReport:
    """The content of a report: the plan, the samples, and their records by id, but damaged ones.

    ``names`` maps each REF to what was measured; ``errors`` says what was not measured and why.
    """

    plan: StudyPlan
    machine: Machine
    rows: Sequence[StudyRow]
    records: Mapping[str, Record]
    names: Mapping[str, str]
    errors: Sequence[str] = ()

    def command(self, request: StudyRequest) -> str:
        """Return the command that measures the study as *request* asks, on any machine."""
        return request.command(self.plan.name, self.names, self.machine.memory_limit)

    @property
    def series(self) -> Series:
        """The per-second series of the runs, by their records' ids."""
        return {id_: record.series for id_, record in self.records.items() if record.series}

    @property
    def labels(self) -> dict[str, str]:
        """Short names of the configurations whose names are too long."""
        found: dict[str, str] = {}
        for planned in self.plan.parts:
            for name, label in planned.ablation.labels.items():
                if planned.ablation.is_asked and label not in found.values():
                    found[name] = label
        return found

    def facts(self) -> dict[str, Any]:
        """Return the content of report.json, for the list of reports and for programs."""
        times = sorted(row.scalars["time"] for row in self.rows)
        return {
            "study": self.plan.name,
            "title": self.plan.study.title,
            "size": self.plan.request.size.value,
            "machine": self.machine.name,
            "first": times[0] if times else None,
            "last": times[-1] if times else None,
            "runs": len({row.scalars["id"] for row in self.rows}),
            "not_measured": [*map(str, self.plan.skipped), *self.errors],
        }


def write_report(report: StudyReport, directory: Path) -> Path:
    """Write *report* to *directory*, replacing an older one; return its page.

    It is written beside the old one, then the two are exchanged in one step.
    """
    with storage_errors(f'create "{directory}"', directory):
        directory.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
        fresh.chmod(0o755)
    try:
        text = "\n\n".join(_sections(report, fresh)) + "\n"
        write_atomic(fresh / MARKDOWN, text)
        below = f"{report.plan.name}/{report.plan.request.size.value}"
        write_atomic(fresh / PAGE, report_page(below, report.plan.study.title, text))
        write_atomic(fresh / FACTS, canonical_json(report.facts()))
        _write_data(report, fresh)
        exchange(fresh, directory)
    finally:
        remove_tree(fresh)
    return directory / PAGE


def _sections(report: StudyReport, directory: Path) -> Iterator[str]:
    study = report.plan.study
    yield f"# {study.title}"
    yield study.question
    yield f"*Published experiment with the same design*: {study.shape}" + "".join(
        f" <{address}>" for address in study.see
    )
    yield "## What was measured"
    yield _measured(report)
    for number, plot in enumerate(study.plot, start=1):
        yield from _plot(report, plot, directory, f"plot-{number}-{_slug(plot.title)}.svg")
    for table in study.table:
        yield from table_sections(report, table)
    for evidence in study.evidence:
        yield from _evidence(report, evidence)
    yield from _misleading(report)
    yield "## Method"
    yield _METHOD
    yield "## Provenance"
    yield from _provenance(report)
    yield "## Raw data"
    yield (
        f"[{_SAMPLES}]({_SAMPLES}) has a row for each run, with its axes and all scalars of its "
        f"raw record. [{_SECONDS}]({_SECONDS}) has the same runs second by second. `id` is the id "
        "of the raw record, which `landspeed show run:ID` prints."
    )
    setup = setup_commands(origin_of(row.scalars) for row in report.rows)
    commands = [*setup, report.command(report.plan.request)]
    yield "## To repeat it on another machine"
    yield "```sh\n" + "\n".join(commands) + "\n```"


def _measured(report: StudyReport) -> str:
    facts, preset = report.facts(), report.plan.preset
    machine = report.machine
    request = report.plan.request
    scales = grouped(report.rows, ["tier", "scale"])
    lines = [
        f"- {facts['runs']} runs of {preset.seconds} s, {preset.samples} requested for each point; "
        f"size *{request.size}*: {request.about(report.plan.study.amount(request.size), code)}",
        f"- data: {', '.join(f'{tier}, scale {scale}' for tier, scale in scales)}",
        f"- on {code(machine.name)}: {code(machine.cpu)}, {machine.cores} cores, "
        f"{gib(machine.memory_bytes)}",
        f"- from {facts['first']} to {facts['last']}",
    ]
    number = 1 + max(batches(report.rows).values(), default=0)
    if number > 1:
        lines.append(
            f"- in {number} batches, each with its own rounds: ratios of points in different "
            "batches include the drift between them; a larger --seconds measures all points "
            "again, in one batch"
        )
    unfit = dict.fromkeys(
        f"{p.part.name}: {one.reason}" for p in report.plan.parts for one in p.cells if one.reason
    )
    for reason in (*facts["not_measured"], *unfit):
        lines.append(f"- not measured: {plain(reason, longest=500)}")
    return "\n".join(lines)


def _plot(report: StudyReport, plot: PlotExhibit, directory: Path, name: str) -> Iterator[str]:
    if plot.kind is Kind.RANKING:
        yield from _ranking(report, plot, directory / name)
        return
    plot, rows = _labelled(report, plot)
    if draw(plot, rows, report.series, directory / name):
        yield f"## {plot.title}"
        yield f"![{plot.title}]({name})"


def _ranking(report: StudyReport, plot: PlotExhibit, path: Path) -> Iterator[str]:
    ablation, rows = _ablation(report, plot), _of(report, plot)
    if ablation is None or not rows:
        return
    plot = with_missing_axes(plot, rows)
    column = metric_named(plot.metric).column
    rankings = {
        key: Attribution.of(group, column, ablation)
        for key, group in grouped(rows, plot.each).items()
    }
    yield f"## {plot.title}"
    if draw_rankings(plot, rankings, path):
        yield f"![{plot.title}]({path.name})"
    for key, found in rankings.items():
        if len(rankings) > 1:
            yield f"### {heading_of(plot.each, key)}"
        if found.effects:
            yield ranking_table(found)
        yield from ranking_text(found, ablation)
        closer = found.settings_to_confirm
        if closer:
            yield (
                "To measure the settings with an effect again, each added to default and to the "
                "others:"
            )
            settings = tuple(one for one in ablation.settings if one[0] in closer)
            again = replace(report.plan.request, settings=settings)
            yield f"```sh\n{report.command(again)}\n```"


def _ablation(report: StudyReport, plot: PlotExhibit) -> Ablation | None:
    """Return the ablation of the parts that *plot* shows; None if they have none."""
    parts = (one for one in report.plan.parts if plot.part in (None, one.part.name))
    asked = [one.ablation for one in parts if one.ablation.is_asked]
    if not asked:
        return None
    return replace(asked[0], words=tuple(word for one in asked for word in one.words))


def table_sections(report: StudyReport, table: TableExhibit) -> Iterator[str]:
    """Yield heading, caption and tables of *table* as Markdown; nothing without runs."""
    table, rows = _labelled(report, table)
    found = exhibit(table, rows)
    if not found:
        return
    yield f"## {table.title}"
    yield caption(table, rows)
    for heading, text in found:
        if heading:
            yield f"### {heading}"
        yield text


def _evidence(report: StudyReport, exhibit_: EvidenceExhibit) -> Iterator[str]:
    """Yield a table of what the monitor observed, one column for each group of runs."""
    exhibit_, rows = _labelled(report, exhibit_)
    seen = {
        " / ".join(map(str, key)): dict(evidence_rows(_records(report, group)))
        for key, group in grouped(rows, exhibit_.columns).items()
    }
    titles = list(dict.fromkeys(title for column in seen.values() for title in column))
    if not titles:
        return
    yield f"## {exhibit_.title}"
    yield "Medians of the runs of each column. What was sampled once a second is given in shares."
    lines = [[title, *(column.get(title, "-") for column in seen.values())] for title in titles]
    heading = " / ".join(map(axis_name, exhibit_.columns))
    yield study_table([heading, *seen], lines, 1 + len(seen))


def _records(report: StudyReport, rows: Iterable[StudyRow]) -> list[Record]:
    ids = dict.fromkeys(row.scalars["id"] for row in rows)
    return [report.records[one] for one in ids if one in report.records]  # not the damaged ones


def _misleading(report: StudyReport) -> Iterator[str]:
    """Yield the warnings about the runs."""
    groups = {
        part: map(RunFindings.of, _records(report, rows))
        for part in dict.fromkeys(row.part for row in report.rows)
        if (rows := [row for row in report.rows if row.part == part])
    }
    found = count_warnings(groups)
    if not found:
        return
    yield "## What may mislead"
    for one in found:
        text = f"{one.seen} ({one.where}). {one.rule.means} Try: {one.rule.remedy}"
        yield f"- {plain(text, longest=1000)}"


def with_missing_axes(exhibit_: _Exhibit, rows: Sequence[StudyRow]) -> _Exhibit:
    """Return *exhibit_* with the axes that keep runs of different points apart."""
    return exhibit_.with_axes(missing_axes(rows, exhibit_.axes))


def _of(report: StudyReport, exhibit_: Shown) -> list[StudyRow]:
    """Return the rows that *exhibit_* shows; a run that several parts have occurs once."""
    wanted = [row for row in report.rows if exhibit_.part in (None, row.part)]
    return list({(row.scalars["id"], *row.axes.values()): row for row in wanted}.values())


def _labelled(report: StudyReport, exhibit_: _Exhibit) -> tuple[_Exhibit, list[StudyRow]]:
    """Return *exhibit_* with the missing axes, and its rows with short names of configurations."""
    labels = report.labels
    rows = [
        replace(row, axes={**row.axes, "profile": labels[name]})
        if (name := str(row.axes["profile"])) in labels
        else row
        for row in _of(report, exhibit_)
    ]
    return with_missing_axes(exhibit_, rows), rows


def _provenance(report: StudyReport) -> Iterator[str]:
    titles = ("server", "source", "build", "compiler", "installed files")
    newest = {one.build.digest: one for _, one in sorted(report.records.items())}
    servers = sorted(newest.values(), key=lambda one: one.build.identifier)
    lines = []
    for record in servers:
        build = record.build
        origin = build.origin
        named = origin.registered or origin.release or origin.commit
        tree = f", tree {origin.tree[:12]}" if origin.tree else ""
        source = f"{named} of {origin.date}{tree}"
        digest = f"sha256 {build.digest[:16]}…"
        toolchain = build.toolchain.get("cc", "unknown")
        lines.append([build.version, source, build.identifier, toolchain, digest])
    yield study_table(titles, lines, len(titles))
    if servers:
        epoch = epoch_text(servers[-1].epoch)
        texts = dict.fromkeys(map(client_text, report.records.values()))
        clients = ", ".join(map(code, sorted(texts)))
        yield f"Client: {clients}. Epoch of the machine: {code(epoch, longest=400)}."
    yield from dict.fromkeys(_topologies(report))
    yield "Configurations, each with a run whose record has all settings of the server:"
    yield _profiles(report)


def _profiles(report: StudyReport) -> str:
    """Return a table of all configurations: short name, full name, and one of the runs."""
    runs = {
        (report.labels.get(str(row.axes["profile"]), ""), row.scalars["profile"]): row.scalars["id"]
        for row in report.rows
    }
    lines = [("short name", "configuration", "run")]
    lines += [(*names, f"run:{identifier[:16]}") for names, identifier in sorted(runs.items())]
    titles, *rest = lines if report.labels else [line[1:] for line in lines]
    return study_table(titles, rest, len(titles))


def _topologies(report: StudyReport) -> Iterator[str]:
    """Yield a description of each topology of several servers."""
    for record in report.records.values():
        topology = record.topology
        if topology:
            yield (
                f"{topology.name}: a coordinator, to which clients connect, and {topology.workers} "
                f"workers with {plain(topology.extension)}; {topology.tables} tables in "
                f"{topology.shards} shards. All run on this machine with the settings of the "
                "configuration and connect to each other by Unix sockets. Counters are sums over "
                "all servers, except those of backends, which are the coordinator's unless stated "
                "otherwise. A backend that waits for its worker shows Client:ClientRead, as if it "
                "waited for its client."
            )


def _write_data(report: StudyReport, directory: Path) -> None:
    """Write the runs with their axes, and second by second, as Parquet."""
    samples = [
        {"part": row.part, **{f"axis_{k}": v for k, v in row.axes.items()}, **row.scalars}
        for row in report.rows
    ]
    seconds = [
        {"id": identifier, "second": second, "tps": tps, "latency_ms": latency}
        for identifier, one in report.series.items()
        for second, tps, latency in zip(one.seconds, one.tps, one.latency_ms, strict=False)
    ]
    for name, table in ((_SAMPLES, samples), (_SECONDS, seconds)):
        with storage_errors(f'write "{directory / name}"', directory):
            pq.write_table(pa.Table.from_pylist(table), directory / name, compression="zstd")


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40]
