"""Show the runs behind a point: their numbers, their servers, and where they came from."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import pyarrow as pa
from asv_runner.statistics import compute_stats
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from base.build import Origin
from base.errors import RecordError, RefError
from benchmarks.observation.warnings import RunFindings
from benchmarks.records.identical_builds import IdenticalBuild, Origins
from benchmarks.records.record import BuildFacts, EpochFacts, Record
from benchmarks.workloads.metrics import METRICS, Metric, metrics_of
from landspeed.console.format import gib
from landspeed.console.table import rich_table
from landspeed.results.point_query import PointQuery
from landspeed.results.points import origins_by_digest
from landspeed.results.reproduce import point_commands
from landspeed.results.run import Run, origin_of
from landspeed.results.warnings import count_warnings
from landspeed.results.where_time_went import client_text, evidence_rows

_TEXT_WIDTH = 100
_RUN_COLUMNS = (
    ("latency ms", "latency_ms", "{:.4f}"),
    ("stddev", "latency_stddev_ms", "{:.4f}"),
    ("p50", "latency_p50_ms", "{:.4f}"),
    ("p95", "latency_p95_ms", "{:.4f}"),
    ("p99", "latency_p99_ms", "{:.4f}"),
    ("tx/s", "tps", "{:.1f}"),
    ("failed", "failed", "{}"),
    ("server CPU s", "server_cpu_seconds", "{:.2f}"),
)
_COUNTED_COLUMNS = (
    ("instructions/tx", "instructions", "{:.1f}"),
    ("spread", "instructions_spread", "{:.4%}"),
    ("WAL bytes/tx", "wal_bytes_tx", "{:.1f}"),
    ("blocks/tx", "blocks_tx", "{:.2f}"),
)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Median of runs, in their metric's unit, with its 99 % interval.

    Both are asv's (``compute_stats``), the interval on logarithms, so that it cannot begin below
    zero. Too few runs have no interval: ``low`` and ``high`` are None.
    """

    median: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate | None:
        """Return the estimate from *values*, one per run; None if there are none."""
        if not values:
            return None
        median, _ = compute_stats(list(values), 1)
        scale, back = (math.log, math.exp) if min(values) > 0 else (float, float)
        _, stats = compute_stats(list(map(scale, values)), 1)
        ends = (stats["ci_99_a"], stats["ci_99_b"])
        low, high = (back(end) if math.isfinite(end) else None for end in ends)
        return cls(median=median, low=low, high=high)

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.median:.5g}"
        return f"{self.median:.5g} [{self.low:.5g}, {self.high:.5g}]"


@dataclass(frozen=True, kw_only=True)
class PointRuns:
    """One point with its runs, oldest first.

    ``published`` says whether the site shows these runs. Those of comparisons and bisections
    are a point of their own and never published.
    """

    runs: tuple[Run, ...]
    published: bool

    @property
    def name(self) -> str:
        """The point, in the spelling that ``landspeed show`` takes."""
        return self.runs[0].point

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that the runs have."""
        return metrics_of(self.runs[0].buffers)

    @property
    def status(self) -> str:
        """Why the site does not show these runs; empty if it does."""
        if self.runs[0].is_adaptive:
            return " (comparisons)"
        return "" if self.published else " (superseded)"

    def estimate(self, metric: Metric) -> Estimate | None:
        """Return the estimate of *metric* from the runs that have it."""
        numbers = (run.numbers[metric.column] for run in self.runs)
        return Estimate.of([one for one in numbers if one is not None])

    def facts(self) -> dict[str, Any]:
        """Return the point as JSON can hold it, without its records."""
        run = self.runs[0]
        estimates = {metric.name: self.estimate(metric) for metric in self.metrics}
        return {
            "point": self.name,
            "machine": run.machine,
            "epoch": run.epoch,
            "digest": run.digest,
            "published": self.published,
            "repeat": point_commands(self.runs),
            "runs": [run.id for run in self.runs],
            "estimates": {name: vars(one) if one else None for name, one in estimates.items()},
        }


def find_points(
    table: pa.Table, query: PointQuery, twins: Sequence[IdenticalBuild] = ()
) -> list[PointRuns]:
    """Return the points that *query* selects in *table* (RecordStore.table()); RefError if none.

    Runs of different servers or epochs are different points, and the newest is published. Origins
    that are the same server, as *twins* are, share its runs.
    """
    origins = {} if query.run else origins_by_digest(table, twins)
    points: dict[Hashable, dict[Hashable, list[Run]]] = {}
    for batch in table.to_batches(max_chunksize=16384):
        for row, origin in _rows_by_origin(batch.to_pylist(), origins):
            # Most rows are of other origins: do not make a Run of each.
            if query.names(origin) and query.matches(run := Run.of(row, origin)):
                servers = points.setdefault((run.machine, run.point), {})
                servers.setdefault(run.server, []).append(run)
    if not points:
        raise _nothing(table)
    return [one for servers in points.values() for one in _shown(list(servers.values()))]


def _rows_by_origin(
    rows: Iterable[Mapping[str, Any]], origins: Origins
) -> Iterator[tuple[Mapping[str, Any], Origin]]:
    for row in rows:
        own = origin_of(row)
        yield row, own
        others = origins.get(row["digest"], {})
        yield from ((row, one) for name, one in others.items() if name != own.name)


def _shown(servers: Sequence[Sequence[Run]]) -> Iterator[PointRuns]:
    newest = max((runs[-1].id for runs in servers if not runs[-1].is_adaptive), default="")
    for runs in servers:
        yield PointRuns(runs=tuple(runs), published=runs[-1].id == newest)


def _nothing(table: pa.Table) -> RefError:
    refs = sorted({str(ref) for ref in table["release"].unique().to_pylist() if ref})
    return RefError(
        "no runs of this point",
        detail=f"Measured releases: {', '.join(refs)}." if refs else "Nothing is measured yet.",
        hint='"landspeed list" shows what is measured.',
    )


def overview(points: Iterable[PointRuns]) -> Table:
    """Return a table of *points*, a line each, with their medians and 99 % intervals."""
    points = list(points)
    shown = [metric for metric in METRICS if any(metric in point.metrics for point in points)]
    titles = ("point", "machine", "epoch", "runs", *(f"{m.name} {m.unit}" for m in shown))
    rows = (
        (
            point.name,
            point.runs[0].machine,
            point.runs[0].epoch + point.status,
            str(len(point.runs)),
            *(str(point.estimate(m) or "-") if m in point.metrics else "-" for m in shown),
        )
        for point in points
    )
    return rich_table(titles, rows, align="lllr")


def details(point: PointRuns, records: Sequence[Record]) -> RenderableType:
    """Return the estimates and runs of *point*, and what its *records* tell.

    The latter are where the time went, warnings, and the provenance of the first record.
    RecordError if no run of the point has a record that can be read.
    """
    if not records:
        raise RecordError(
            f'no record of "{point.name}" can be read',
            hint='"landspeed farm results check" lists what is damaged.',
        )
    columns = _COUNTED_COLUMNS if point.runs[0].buffers else _RUN_COLUMNS
    titles = ("run", "time", "round", *(title for title, _, _ in columns))
    rows = (
        (
            f"run:{run.id[:16]}",
            run.time,
            _number(run.round, "{}"),
            *(_number(run.numbers[column], form) for _, column, form in columns),
        )
        for run in point.runs
    )
    runs = rich_table(titles, rows, align="llr")
    parts: list[RenderableType] = [overview([point]), "", runs, ""]
    evidence = evidence_rows(records)
    if evidence:
        parts += ["where the time went", _facts(evidence), ""]
    if plan := records[0].plan:
        parts += [f"plan, shape {plan.shape}", Text("\n".join(plan.lines)), ""]
    for warning in count_warnings({"": map(RunFindings.of, records)}):
        parts += [str(warning), ""]
    commands = Group("to repeat it on another machine:", *point_commands(point.runs))
    return Group(*parts, _facts(_provenance(records[0])), "", commands)


def _facts(rows: Iterable[tuple[str, str]]) -> Table:
    facts = Table.grid(padding=(0, 2))
    for title, text in rows:
        facts.add_row(title, fill(text, _TEXT_WIDTH))
    return facts


def _provenance(record: Record) -> list[tuple[str, str]]:
    build, machine = record.build, record.machine
    return [
        *_source(build),
        (
            "build",
            f"{build.identifier}, {build.build_system}, quirks: "
            f"{', '.join(build.quirks) or 'none'}",
        ),
        ("toolchain", ", ".join(build.toolchain.values())),
        ("installed files", f"sha256 {build.digest}"),
        ("client", client_text(record)),
        ("machine", f"{machine.cpu}, {machine.cores} cores, {gib(machine.memory_bytes or 0)}"),
        ("epoch", epoch_text(record.epoch)),
        ("command", " ".join(record.run.argv)),
        ("settings", ", ".join(f"{k} = {v}" for k, v in record.settings.items())),
    ]


def epoch_text(epoch: EpochFacts) -> str:
    """Return all that tells *epoch* from others: ``identifier 5368…, kernel 6.1.0, …``."""
    return ", ".join(f"{name} {value}" for name, value in epoch.to_json().items())


def _source(build: BuildFacts) -> list[tuple[str, str]]:
    origin, external = build.origin, build.external
    if external:
        where = f"built elsewhere, of {origin.date}: {external.said}"
        return [("source", f"@{origin.registered}, {where}"), ("pg_config", external.pg_config)]
    return [
        ("source", f"{origin.release or origin.commit} of {origin.date}"),
        ("tree", origin.tree),
    ]


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)
