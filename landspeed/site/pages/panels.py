"""Panels: the data of the plots, one file for each cell and machine, and the runs behind it."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np

from base.files import digest_text
from benchmarks.workloads.metrics import METRICS, Metric, metrics_of
from landspeed.results.arrays import Ints
from landspeed.results.points import Dot, Dots
from landspeed.site.pages.versions import Category
from landspeed.stats.summary import Summary, rounded

# File systems take 255 bytes; the name of a configuration with many settings may be longer.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_SCALE = re.compile(r"(.*)-(\d+)")
# "landspeed show run:…" prints as many digits, and finds a run by them.
_ID_DIGITS = 16
_MORE_COLUMNS = (
    *("latency_stddev_ms", "latency_p50_ms", "latency_p95_ms", "latency_p99_ms"),
    *("failed", "server_cpu_seconds", "wal_bytes", "blocks_hit", "blocks_read"),
    "instructions_spread",
)
_RUN_COLUMNS = ("id", "time", "seconds", "preset", "epoch", "pgbench_version")

Row = Mapping[str, Any]
Environments = Mapping[tuple[str, str], str]


@dataclass(frozen=True, kw_only=True, order=True)
class PanelKey:
    """A cell of one machine, without clients, variant and version.

    ``buffers`` is the cache state of counted runs, empty for timed ones.
    """

    machine: str
    mode: str
    protocol: str
    scale: str
    profile: str
    buffers: str

    @classmethod
    def of(cls, dot: Dot) -> PanelKey:
        """Return the key of the panel in which *dot* is drawn."""
        params = dot.params
        return cls(
            machine=dot.machine,
            mode=dot.mode,
            protocol=params.protocol,
            scale=params.scale,
            profile=params.profile,
            buffers=dot.buffers or "",
        )

    @property
    def stem(self) -> str:
        """The path of its files without extension; safe whatever the names contain."""
        parts = [self.mode, self.protocol, self.scale, self.buffers or "timed", self.profile]
        names = (self.machine, "_".join(parts))
        safe = (one if _PLAIN.fullmatch(one) else digest_text(one)[:16] for one in names)
        return "/".join(("panels", *safe))

    def facts(self) -> dict[str, Any]:
        """Return the key for JSON, with the scale also split into its two parts."""
        match = _SCALE.fullmatch(self.scale)
        tier, factor = (match[1], int(match[2])) if match else (self.scale, None)
        return {**vars(self), "tier": tier, "factor": factor}


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Everything drawn for one PanelKey: its dots, each with the rows of its runs."""

    key: PanelKey
    categories: Sequence[Category]
    points: Sequence[tuple[Dot, Sequence[Row]]]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of its runs."""
        return metrics_of(self.key.buffers or None)

    def heading(self) -> dict[str, Any]:
        """Return its entry in the index, from which pages choose a panel."""
        drawn = [dot for dot, _ in self.points]
        return {
            **self.key.facts(),
            "file": f"{self.key.stem}.json",
            "runs_file": f"{self.key.stem}.csv",
            "metrics": [metric.name for metric in self.metrics],
            "clients": sorted({dot.params.clients for dot in drawn}),
            "variants": [variant.name for variant in sorted({dot.variant for dot in drawn})],
            "versions": len(self.categories),
            "runs": sum(len(rows) for _, rows in self.points),
        }

    def facts(self, environments: Environments) -> dict[str, Any]:
        """Return the content of its file; *environments* is by digest and epoch of a server."""
        own = [(dot.epoch, environments.get((dot.digest, dot.epoch), "")) for dot, _ in self.points]
        listed = sorted(set(own))
        return {
            **self.heading(),
            "categories": [one.facts() for one in self.categories],
            "environments": [{"epoch": epoch, "toolchain": tools} for epoch, tools in listed],
            "points": [
                self._point(dot, rows, listed.index(one))
                for (dot, rows), one in zip(self.points, own, strict=True)
            ],
        }

    def _point(self, dot: Dot, rows: Sequence[Row], environment: int) -> dict[str, Any]:
        point: dict[str, Any] = {
            "version": dot.origin.name,
            "variant": dot.variant.name,
            "clients": dot.params.clients,
            "environment": environment,
            "last": dot.last_time,
            "runs": [row["id"][:_ID_DIGITS] for row in rows],
        }
        for metric in self.metrics:
            values = [row[metric.column] for row in rows]
            numbers = sample_facts(values)
            if numbers:
                drawn = [None if one is None else rounded(one) for one in values]
                point[metric.name] = {**numbers, "values": drawn}
        return point

    def runs_csv(self) -> str:
        """Return every drawn run as CSV, one a line."""
        columns = list(dict.fromkeys([*(one.column for one in self.metrics), *_MORE_COLUMNS]))
        stream = StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        head = ["version", "commit", "variant", "clients", "run", "time", "seconds", "preset"]
        writer.writerow([*head, "epoch", "pgbench", *columns])
        for dot, rows in self.points:
            for row in rows:
                origin = dot.origin
                which = [origin.name, origin.commit, dot.variant.name, dot.params.clients]
                how = [row[name] for name in ("id", "time", "seconds", "preset")]
                where = [row["epoch"], row["pgbench_version"]]
                writer.writerow([*which, *how, *where, *(row[name] for name in columns)])
        return stream.getvalue()


def panels(dots: Dots, categories: Mapping[str, Category]) -> list[Panel]:
    """Return the panels of *dots* at *categories*, in the order of their keys.

    Only the runs of *categories* are read, however many commits there are.
    """
    shown = np.array([origin.name in categories for origin in dots.origins], dtype=bool)
    which = np.flatnonzero(shown[dots.whose])
    runs = _runs_at(dots, dots.runs(which))
    grouped: dict[PanelKey, list[tuple[Dot, Sequence[Row]]]] = {}
    for dot, group in zip(dots.some(which), dots.rows[which], strict=True):
        rows = [runs[row] for row in dots.groups.rows(group).tolist()]
        grouped.setdefault(PanelKey.of(dot), []).append((dot, rows))
    order = {name: position for position, name in enumerate(categories)}
    found = []
    for key, points in sorted(grouped.items()):
        points.sort(key=lambda one: (order[one[0].origin.name], one[0].variant, one[0].params))
        names = {dot.origin.name for dot, _ in points}
        drawn = [one for name, one in categories.items() if name in names]
        found.append(Panel(key=key, categories=drawn, points=points))
    return found


def _runs_at(dots: Dots, places: Ints) -> dict[int, Row]:
    """Return the runs in these rows of the table of *dots*, by the row's number."""
    columns = dict.fromkeys((*_RUN_COLUMNS, *_MORE_COLUMNS, *(one.column for one in METRICS)))
    table = dots.table.select(list(columns)).take(places)
    batches = table.to_batches(max_chunksize=16384)
    rows = (row for batch in batches for row in batch.to_pylist())
    return dict(zip(places.tolist(), rows, strict=True))


def sample_facts(values: Iterable[float | None]) -> dict[str, float]:
    """Return the statistics of the values of some runs, to seven digits; empty without a value.

    ``low`` to ``high`` is the 95 % interval of the mean. ``lm`` and ``ls`` are mean and standard
    deviation of the natural logarithms, from which a page computes ratios of two servers. What
    does not exist, such as the deviation of a single value, is left out.
    """
    known = [value for value in values if value is not None]
    found = Summary.of(known)
    if found is None:
        return {}
    logs = Summary.of(map(math.log, known)) if found.minimum > 0 else None
    low, high = found.interval or (None, None)
    facts = {
        "n": found.runs,
        "mean": found.mean,
        "low": low,
        "high": high,
        "sd": found.stddev,
        "min": found.minimum,
        "median": found.median,
        "max": found.maximum,
        "lm": logs.mean if logs else None,
        "ls": logs.stddev if logs else None,
    }
    return {name: rounded(one) for name, one in facts.items() if one is not None}
