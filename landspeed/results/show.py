"""From a dot back to its runs: which they were, what they say, where they came from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from textwrap import fill
from typing import Any

import pyarrow as pa
from asv_runner.statistics import compute_stats
from rich.console import Console, Group, RenderableType
from rich.table import Table

from base.errors import RefError
from benchmarks.observation.warnings import RunFindings
from benchmarks.records.columns import VARIANT_COLUMNS, variant_of
from benchmarks.records.identical_builds import IdenticalBuild, Origins
from benchmarks.records.record import BuildFacts, EpochFacts, Record
from benchmarks.workloads.metrics import METRICS, Metric, metrics_of, scale_param
from benchmarks.workloads.points import ADAPTIVE
from landspeed.console.table import rich_table
from landspeed.results.point_query import PointQuery, name_of
from landspeed.results.points import origins_by_digest
from landspeed.results.reproduce import point_commands
from landspeed.results.warnings import count_warnings
from landspeed.results.where_time_went import client_text, evidence_rows

_KEY = (
    *("machine", *VARIANT_COLUMNS, "mode", "protocol", "tier", "scale"),
    *("clients", "profile", "buffers"),
)
_WIDE = 1000
_TEXT_WIDTH = 100
_SERVER = ("digest", "epoch")
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
        median, stats = compute_stats(list(values), 1)
        on_logs = min(values) > 0
        if on_logs:
            _, stats = compute_stats([math.log(value) for value in values], 1)
        ends = (v if math.isfinite(v) else None for v in (stats["ci_99_a"], stats["ci_99_b"]))
        low, high = (math.exp(v) if on_logs and v is not None else v for v in ends)
        return cls(median=median, low=low, high=high)

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.median:.5g}"
        return f"{self.median:.5g} [{self.low:.5g}, {self.high:.5g}]"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A Shown is one point with its runs; ``published`` is whether the site's dot is of them.

    Runs that a comparison or a bisection asked for are ``adaptive``, and never published.
    """

    runs: tuple[Mapping[str, Any], ...]
    published: bool
    adaptive: bool = False

    @property
    def name(self) -> str:
        """The POINT, spelled so that ``landspeed show`` takes it."""
        run = self.runs[0]
        scale = scale_param(run["tier"], run["scale"])
        cell = [run["mode"], run["protocol"], scale, f"c{run['clients']}", run["profile"]]
        if run["buffers"] is not None:
            cell.append(run["buffers"])
        return f"{name_of(run)}:{variant_of(run)}/{'/'.join(cell)}"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that its runs have."""
        return metrics_of(self.runs[0]["buffers"])

    def estimate(self, metric: Metric) -> Estimate | None:
        """The Estimate of *metric* over the runs that have it."""
        return Estimate.of([v for run in self.runs if (v := run[metric.column]) is not None])

    def facts(self) -> dict[str, Any]:
        """The point as JSON can hold it, without its records."""
        estimates = {metric.name: self.estimate(metric) for metric in self.metrics}
        return {
            "point": self.name,
            "machine": self.runs[0]["machine"],
            "epoch": self.runs[0]["epoch"],
            "digest": self.runs[0]["digest"],
            "published": self.published,
            "repeat": point_commands(self.runs),
            "runs": [run["id"] for run in self.runs],
            "estimates": {name: vars(one) if one else None for name, one in estimates.items()},
        }


def find_points(
    table: pa.Table, query: PointQuery, twins: Sequence[IdenticalBuild] = ()
) -> list[Shown]:
    """The points that *query* means in *table* (RecordStore.table()); RefError if none.

    Runs of different servers or epochs are different points; the newest is the published one.
    So are, beside it, the runs that comparisons asked for.
    Origins that are one server, as *twins* are, have its runs in common.
    """
    origins = {} if query.run else origins_by_digest(table, twins)
    groups: dict[tuple[Any, ...], dict[tuple[Any, ...], list[Mapping[str, Any]]]] = {}
    for batch in table.to_batches(max_chunksize=16384):
        for row in _of_each_origin(batch.to_pylist(), origins):
            if query.matches(row):
                key = (name_of(row), *(row[name] for name in _KEY))
                servers = groups.setdefault(key, {})
                server = (*(row[name] for name in _SERVER), row["preset"] in ADAPTIVE)
                servers.setdefault(server, []).append(row)
    if not groups:
        raise _nothing(table)
    return [one for of in groups.values() for one in _shown(of)]


def _shown(servers: Mapping[tuple[Any, ...], Sequence[Mapping[str, Any]]]) -> Iterator[Shown]:
    newest = max(
        (runs[-1]["id"] for (*_, adaptive), runs in servers.items() if not adaptive), default=""
    )
    for (*_, adaptive), runs in servers.items():
        yield Shown(
            runs=tuple(runs),
            published=not adaptive and runs[-1]["id"] == newest,
            adaptive=adaptive,
        )


def _of_each_origin(
    rows: Iterable[Mapping[str, Any]], origins: Origins
) -> Iterator[Mapping[str, Any]]:
    for row in rows:
        yield row
        for name, origin in origins.get(row["digest"], {}).items():
            if name != name_of(row):
                yield {**row, **vars(origin), "origin_date": origin.date}


def _nothing(table: pa.Table) -> RefError:
    refs = sorted({str(ref) for ref in table["release"].unique().to_pylist() if ref})
    return RefError(
        "no runs of such a point",
        detail=f"Measured releases: {', '.join(refs)}." if refs else "Nothing is measured yet.",
        hint='"landspeed list" shows what is measured.',
    )


def overview(points: Iterable[Shown]) -> Table:
    """A table of *points*, one line each, with the published medians and 99 % intervals."""
    points = list(points)
    shown = [metric for metric in METRICS if any(metric in point.metrics for point in points)]
    titles = ("point", "machine", "epoch", "runs", *(f"{m.name} {m.unit}" for m in shown))
    rows = (
        (
            point.name,
            point.runs[0]["machine"],
            point.runs[0]["epoch"] + _standing(point),
            str(len(point.runs)),
            *(_text(point.estimate(m) if m in point.metrics else None) for m in shown),
        )
        for point in points
    )
    return rich_table(titles, rows, align="lllr")


def _standing(point: Shown) -> str:
    if point.adaptive:
        return " (comparisons)"
    return "" if point.published else " (superseded)"


def details(point: Shown, records: Sequence[Record]) -> RenderableType:
    """Everything about one *point*: estimates, its runs, and what its *records* say.

    Where the time went, warnings, and provenance from the first of them.
    """
    columns = _COUNTED_COLUMNS if point.runs[0]["buffers"] else _RUN_COLUMNS
    titles = ("run", "time", "round", *(title for title, _, _ in columns))
    rows = (
        (
            f"run:{run['id'][:16]}",
            run["time"],
            _number(run["round"], "{}"),
            *(_number(run[column], form) for _, column, form in columns),
        )
        for run in point.runs
    )
    runs = rich_table(titles, rows, align="llr")
    parts: list[RenderableType] = [overview([point]), "", runs, ""]
    evidence = evidence_rows(records)
    if evidence:
        parts += ["where the time went", _facts(evidence), ""]
    for warning in count_warnings({"": map(RunFindings.of, records)}):
        parts += [str(warning), ""]
    commands = Group("to repeat it on another machine:", *point_commands(point.runs))
    return Group(*parts, _facts(_provenance(records[0])), "", commands)


def _facts(rows: Iterable[tuple[str, str]]) -> Table:
    facts = Table.grid(padding=(0, 2))
    for title, text in rows:
        facts.add_row(title, fill(text, _TEXT_WIDTH))
    return facts


def as_text(shown: RenderableType) -> str:
    """*shown* as plain lines that are never cut: points and ids are there to be copied."""
    stream = StringIO()
    # words of others are neither rich's markup nor the names of its pictures
    plain = Console(file=stream, width=_WIDE, color_system=None, markup=False, emoji=False)
    plain.print(shown)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def _provenance(record: Record) -> list[tuple[str, str]]:
    build, machine = record.build, record.machine
    memory = (machine.memory_bytes or 0) / 2**30
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
        ("machine", f"{machine.cpu}, {machine.cores} cores, {memory:.1f} GiB"),
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


def _text(estimate: Estimate | None) -> str:
    return "-" if estimate is None else str(estimate)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)
