"""The samples of a study: rows with their axes, groups of rows, summaries and ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa

from base.build import Build
from base.version import Version
from benchmarks.server.configuration import Configuration
from benchmarks.workloads.points import Point, PointKey, rows_of
from benchmarks.workloads.scenario import Cell, Mode
from benchmarks.workloads.sysbench_modes import SYSBENCH, SYSBENCH_SCRIPTS, SysbenchMode
from landspeed.stats.students_t import Contrast
from landspeed.stats.summary import Summary
from landspeed.study.schema import DIRECT, DISK, SINGLE

STOCK = "stock"
"""The value of the axis ``settings`` for a configuration that changes none."""

# The order of known values; others are sorted as text.
_ORDERS: Mapping[str, tuple[str, ...]] = {
    "tier": ("small", "medium", "large"),
    "mode": (*Mode, *SYSBENCH_SCRIPTS),
    "generator": ("pgbench",),
    "profile": ("default", "tuned"),
    "storage": (DISK,),
    "topology": (SINGLE,),
    "pooler": (DIRECT,),
    "origin": ("vanilla",),
    "settings": (STOCK,),
}
# The axes by which reports distinguish servers and cells, the preferred ones first.
_TELLING = (
    *("version", "ref", "blocksize", "wal_blocksize", "variant", "mode", "protocol", "tier"),
    *("scale", "clients", "settings", "profile", "storage", "topology", "pooler"),
)
Value = str | int


@dataclass(frozen=True, kw_only=True)
class StudyRow:
    """One run of a study: its part, its values on the axes, and its record's scalars."""

    part: str
    axes: Mapping[str, Value]
    scalars: Mapping[str, Any]


def rows(part: str, points: Iterable[Point], table: pa.Table) -> list[StudyRow]:
    """Return the rows of *points* in *table* (comparable runs of RecordStore.table()), by age.

    Points with identical servers share their samples.
    """
    by_key: dict[PointKey, list[Mapping[str, Any]]] = {}
    found = []
    for point in points:
        if point.key not in by_key:
            by_key[point.key] = rows_of(table, point.key).to_pylist()
        axes = axes_of(point.build, point.cell)
        found += [StudyRow(part=part, axes=axes, scalars=row) for row in by_key[point.key]]
    return found


def axes_of(build: Build, cell: Cell) -> dict[str, Value]:
    """Return the value of *cell* of *build* on every axis of schema.AXES."""
    profile, mode = Configuration.named(cell.profile), cell.scenario.mode
    changes = [f"{name}={value}" if value else name for name, value in profile.with_]
    return {
        "ref": build.origin.name,
        "version": build.version.major_text,
        "variant": build.variant.name,
        "blocksize": build.variant.blocksize,
        "wal_blocksize": build.variant.wal_blocksize,
        "mode": mode.value if isinstance(mode, Mode) else mode.name,
        "generator": SYSBENCH if isinstance(mode, SysbenchMode) else "pgbench",
        "protocol": cell.scenario.protocol.value,
        "tier": cell.scenario.tier.value,
        "scale": cell.scenario.scale,
        "clients": cell.clients,
        "profile": profile.server,
        "settings": ", ".join([*changes, *profile.without]) or STOCK,
        "storage": profile.storage or DISK,
        "topology": profile.topology or SINGLE,
        "pooler": profile.pooler or DIRECT,
        "origin": "registered" if build.external else "vanilla",
    }


def order_of(axis: str, value: Value) -> tuple[Any, ...]:
    """Return the sort key of *value* among those on *axis*."""
    if isinstance(value, int):
        return (0, value, "")
    if axis in ("version", "ref"):
        try:
            return (0, Version.parse(value), "")
        except ValueError:
            return (1, value, "")
    known = _ORDERS.get(axis, ())
    return (known.index(value) if value in known else len(known), value, "")


def grouped(
    rows: Iterable[StudyRow], axes: Sequence[str]
) -> dict[tuple[Value, ...], list[StudyRow]]:
    """Return *rows* grouped by their values on *axes*, in order."""
    groups: dict[tuple[Value, ...], list[StudyRow]] = {}
    for row in rows:
        groups.setdefault(tuple(row.axes[axis] for axis in axes), []).append(row)
    return {key: groups[key] for key in sorted(groups, key=lambda key: [*map(order_of, axes, key)])}


def missing_axes(rows: Sequence[StudyRow], axes: Sequence[str]) -> tuple[str, ...]:
    """Return the axes needed besides *axes* to keep runs of different points apart.

    Without them, an average would be over several servers or several cells.
    """
    more: list[str] = []
    for axis in _TELLING:
        groups = grouped(rows, [*axes, *more]).values()
        if any(len({row.axes[axis] for row in group}) > 1 for group in groups):
            more.append(axis)
    return tuple(more)


def summary(rows: Iterable[StudyRow], column: str) -> Summary | None:
    """Return the summary of *column* over the *rows* that have it; None if none has."""
    return Summary.of(row.scalars[column] for row in rows)


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """The ratio of two geometric means, with its 95 % interval.

    ``low`` and ``high`` are None with too few runs.
    """

    value: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, column: str, *groups: Sequence[StudyRow]) -> Ratio | None:
        """Return the ratio of *column* in the first of *groups* to that in the second.

        With four groups, the ratio of this ratio to that of the other two; None if one group has
        no value. Runs of one round were made close to each other in time. If all have the same
        rounds, the interval is a paired t interval of log ratios (Student 1908), else Welch's
        (Biometrika 34, 1947).
        """
        signs = (1, -1, -1, 1)[: len(groups)]
        at = batches(chain(*groups))
        logs = [_logs(rows, column, at) for rows in groups]
        if not all(logs):
            return None
        if min(map(len, logs)) < 2:
            means = (math.fsum(one.values()) / len(one) for one in logs)
            return cls.of_log(math.fsum(s * mean for s, mean in zip(signs, means, strict=True)))
        if all(one.keys() == logs[0].keys() for one in logs):
            contrast = Contrast.paired([[one[key] for key in logs[0]] for one in logs], signs)
        else:
            contrast = Contrast.welch([list(one.values()) for one in logs], signs)
        low, high = map(math.exp, contrast.interval)
        return cls(value=math.exp(contrast.value), low=low, high=high)

    @classmethod
    def of_log(cls, value: float, half: float | None = None) -> Ratio:
        """Return the ratio with the logarithm *value* ± *half*."""
        if half is None:
            return cls(value=math.exp(value), low=None, high=None)
        return cls(value=math.exp(value), low=math.exp(value - half), high=math.exp(value + half))

    @property
    def is_sure(self) -> bool:
        """Whether its interval excludes 1."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high

    def __str__(self) -> str:
        change = f"{self.value - 1:+.1%}"
        if self.low is None or self.high is None:
            return change
        return f"{change} [{self.low - 1:+.1%}, {self.high - 1:+.1%}]"


def batches(rows: Iterable[StudyRow]) -> dict[str, int]:
    """Return the number of the batch that each run belongs to, by its record's id: 0, 1, …

    A command that resumes an interrupted one continues its rounds, but points that are new to it
    start a new batch at the first round. So rounds never descend within a batch.
    """
    found: dict[str, int] = {}
    last: dict[str, tuple[int, int]] = {}
    for run in sorted((row.scalars for row in rows), key=lambda run: (run["time"], run["id"])):
        batch, before = last.get(run["preset"], (0, 0))
        round_ = run["round"] or 0
        batch += run["id"] not in found and round_ < before
        last[run["preset"]] = batch, round_
        found[run["id"]] = batch
    return found


def _logs(rows: Sequence[StudyRow], column: str, at: Mapping[str, int]) -> dict[Any, float]:
    """Return the logarithm of *column* by preset, batch and round; by record if these repeat."""
    having = [row.scalars for row in rows if (row.scalars[column] or 0) > 0]
    rounds = [(row["preset"], at[row["id"]], row["round"]) for row in having]
    distinct = len(set(rounds)) == len(rounds) and all(r is not None for *_, r in rounds)
    keys = rounds if distinct else [row["id"] for row in having]
    return {key: math.log(row[column]) for key, row in zip(keys, having, strict=True)}
