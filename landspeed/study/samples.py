"""The samples of a Study: rows told apart by axes, groups of them, and what their numbers say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from base.build import Build
from base.version import Version
from benchmarks.server.configuration import Configuration
from benchmarks.workloads.points import Point, PointKey, rows_of
from benchmarks.workloads.scenario import Cell, Mode
from benchmarks.workloads.sysbench_modes import OLTPS, SYSBENCH, SysbenchMode
from landspeed.stats.students_t import Contrast
from landspeed.stats.summary import Summary
from landspeed.study.schema import DIRECT, DISK, SINGLE

STOCK = "stock"
"""The settings of a profile that changes none."""

# What a person knows the order of; anything else is in the order of its text.
_ORDERS: Mapping[str, tuple[str, ...]] = {
    "tier": ("small", "medium", "large"),
    "mode": (*Mode, *OLTPS),
    "generator": ("pgbench",),
    "profile": ("default", "tuned"),
    "storage": (DISK,),
    "topology": (SINGLE,),
    "pooler": (DIRECT,),
    "origin": ("vanilla",),
    "settings": (STOCK,),
}
# By what of these a person would tell servers and cells apart that are not one, the first first.
_TELLING = (
    *("version", "ref", "blocksize", "wal_blocksize", "variant", "mode", "protocol", "tier"),
    *("scale", "clients", "settings", "profile", "storage", "topology", "pooler"),
)
Value = str | int


@dataclass(frozen=True, kw_only=True)
class StudyRow:
    """A StudyRow is one Run of a Study: its part, where it is on the axes, its record's scalars."""

    part: str
    axes: Mapping[str, Value]
    scalars: Mapping[str, Any]


def rows(part: str, points: Iterable[Point], table: pa.Table) -> list[StudyRow]:
    """The StudyRows of *points* in *table* (RecordStore.table(), what is comparable), oldest first.

    Points that are one server share its samples.
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
    """Where *cell* of *build* is on every axis of definition.AXES."""
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


def order_of(axis: str) -> Callable[[Value], tuple[Any, ...]]:
    """The key by which the values on *axis* are in the order a person expects."""
    known = _ORDERS.get(axis, ())

    def key(value: Value) -> tuple[Any, ...]:
        if isinstance(value, int):
            return (0, value, "")
        if axis in ("version", "ref"):
            try:
                return (0, Version.parse(value), "")
            except ValueError:
                return (1, value, "")
        return (known.index(value) if value in known else len(known), value, "")

    return key


def grouped(
    rows: Iterable[StudyRow], axes: Sequence[str]
) -> dict[tuple[Value, ...], list[StudyRow]]:
    """*rows* by their values on *axes*, in the order a person expects."""
    groups: dict[tuple[Value, ...], list[StudyRow]] = {}
    for row in rows:
        groups.setdefault(tuple(row.axes[axis] for axis in axes), []).append(row)
    orders = [order_of(axis) for axis in axes]
    ordered = sorted(
        groups, key=lambda values: [order(v) for order, v in zip(orders, values, strict=True)]
    )
    return {key: groups[key] for key in ordered}


def untold(rows: Sequence[StudyRow], axes: Sequence[str]) -> tuple[str, ...]:
    """The axes besides *axes* that it takes to tell Runs apart that are not of one Point.

    Without them an average would be one of several servers' or several cells' Runs.
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
    """A Ratio is how one group's number relates to another's: geometric means, 95 % interval.

    Too few Runs have no interval: ``low`` and ``high`` are None.
    """

    value: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, rows: Sequence[StudyRow], base: Sequence[StudyRow], column: str) -> Ratio | None:
        """The Ratio of *column* in *rows* to that in *base*; None if one has no number.

        Runs of one round of one go were made close to each other: where both have the same
        rounds, it is a paired t interval of log ratios (Student 1908), else that of Welch
        (Biometrika 34, 1947).
        """
        return cls._of([(1, rows), (-1, base)], column)

    @classmethod
    def of_ratios(
        cls,
        one: tuple[Sequence[StudyRow], Sequence[StudyRow]],
        other: tuple[Sequence[StudyRow], Sequence[StudyRow]],
        column: str,
    ) -> Ratio | None:
        """The Ratio of *one* pair, rows and their base, to that of the *other*; 1: they agree.

        The same intervals: paired where all four have the same rounds.
        """
        signed = [(1, one[0]), (-1, one[1]), (-1, other[0]), (1, other[1])]
        return cls._of(signed, column)

    @classmethod
    def _of(cls, signed: Sequence[tuple[int, Sequence[StudyRow]]], column: str) -> Ratio | None:
        """The product of the means of *column* in each group, to the power of its sign."""
        signs = [sign for sign, _ in signed]
        at = goes([row for _, rows in signed for row in rows])
        logs = [_logs(rows, column, at) for _, rows in signed]
        if not all(logs):
            return None
        if min(map(len, logs)) < 2:
            means = (math.fsum(one.values()) / len(one) for one in logs)
            middle = math.fsum(s * mean for s, mean in zip(signs, means, strict=True))
            return cls(value=math.exp(middle), low=None, high=None)
        if all(one.keys() == logs[0].keys() for one in logs):
            contrast = Contrast.paired([[one[key] for key in logs[0]] for one in logs], signs)
        else:
            contrast = Contrast.welch([list(one.values()) for one in logs], signs)
        low, high = map(math.exp, contrast.interval)
        return cls(value=math.exp(contrast.value), low=low, high=high)

    @property
    def is_sure(self) -> bool:
        """Whether 1 is not in its interval."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high

    def __str__(self) -> str:
        change = f"{self.value - 1:+.1%}"
        if self.low is None or self.high is None:
            return change
        return f"{change} [{self.low - 1:+.1%}, {self.high - 1:+.1%}]"


def goes(rows: Iterable[StudyRow]) -> dict[str, int]:
    """Which go at its preset each Run is of, by its record's id: 0, 1, …

    A command goes on from the round where another was interrupted, but points that are new to
    it begin with the first: rounds of one go never descend.
    """
    found: dict[str, int] = {}
    last: dict[str, tuple[int, int]] = {}
    for run in sorted((row.scalars for row in rows), key=lambda run: (run["time"], run["id"])):
        go, before = last.get(run["preset"], (0, 0))
        round_ = run["round"] or 0
        go += run["id"] not in found and round_ < before
        last[run["preset"]] = go, round_
        found[run["id"]] = go
    return found


def _logs(rows: Sequence[StudyRow], column: str, at: Mapping[str, int]) -> dict[Any, float]:
    """The logarithm of *column* by preset, go and round; by record where one has several."""
    having = [row.scalars for row in rows if (row.scalars[column] or 0) > 0]
    rounds = [(row["preset"], at[row["id"]], row["round"]) for row in having]
    distinct = len(set(rounds)) == len(rounds) and all(r is not None for *_, r in rounds)
    keys = rounds if distinct else [row["id"] for row in having]
    return {key: math.log(row[column]) for key, row in zip(keys, having, strict=True)}
