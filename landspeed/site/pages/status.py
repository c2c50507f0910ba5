"""The data of the status page: machines, failed builds, newest commits, and delays. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow.compute as pc

from benchmarks.records.identical_builds import FailedBuild
from landspeed.console.markdown import plain
from landspeed.results.arrays import distinct
from landspeed.results.points import Dots
from landspeed.results.series import RELEASES_LINE, PlaceOf

_MOST_FAILURES = 50
_HOUR = 3600.0


def status_facts(dots: Dots, place_of: PlaceOf, failures: Iterable[FailedBuild]) -> dict[str, Any]:
    """Return what the machines have done, without ages: those depend on when a page is read.

    A build that failed and was measured later is left out. A ``delay`` is the hours from a
    commit's date to its first run on a machine, of commits made since the machine first ran one of
    the same branch; ``months`` has the median and the 95 % quantile of each month.
    """
    firsts = (
        dots.table.select(["machine", "digest", "time"])
        .group_by(["machine", "digest"])
        .aggregate([("time", "min")])
        .to_pylist()
    )
    judged: dict[str, dict[str, dict[str, Any]]] = {}
    for row in firsts:
        for name, origin in dots.servers.get(row["digest"], {}).items():
            position = place_of(origin)
            if position and position.branch != RELEASES_LINE:
                commit = {"name": name, "date": origin.date, "first": row["time_min"]}
                judged.setdefault(row["machine"], {})[name] = commit | vars(position)
    return {
        "machines": [_machine(dots, name, judged.get(name, {})) for name in sorted(dots.machines)],
        "failures": _failures(failures, {origin.name for origin in dots.origins}),
    }


def _machine(dots: Dots, name: str, judged: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    own = [
        row
        for row in distinct(dots.table, ["machine", "mode", "buffers"])
        if row["machine"] == name
    ]
    times = dots.table.filter(pc.field("machine") == name)["time"]
    tips: dict[str, Mapping[str, Any]] = {}
    for one in judged.values():
        if one["branch"] not in tips or one["position"] > tips[one["branch"]]["position"]:
            tips[one["branch"]] = one
    return {
        "name": name,
        "runs": len(times),
        "first": pc.min(times).as_py(),
        "last": pc.max(times).as_py(),
        "timed": sorted({row["mode"] for row in own if row["buffers"] is None}),
        "counted": len({row["mode"] for row in own if row["buffers"] is not None}),
        "tips": [tips[branch] for branch in sorted(tips)],
        "months": _months(judged.values()),
    }


def _months(judged: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    begins: dict[str, str] = {}
    for one in judged:
        begins[one["branch"]] = min(begins.get(one["branch"], one["first"]), one["first"])
    delays: dict[str, list[float]] = {}
    for one in judged:
        pushed, first, begin = map(_time, (one["date"], one["first"], begins[one["branch"]]))
        if pushed and first and begin and pushed >= begin:
            hours = (first - pushed).total_seconds() / _HOUR
            delays.setdefault(one["first"][:7], []).append(hours)
    return [
        {
            "month": month,
            "commits": len(hours),
            "median": round(float(np.median(hours)), 2),
            "p95": round(float(np.quantile(hours, 0.95)), 2),
        }
        for month, hours in sorted(delays.items())
    ]


def _failures(notes: Iterable[FailedBuild], measured: set[str]) -> list[dict[str, Any]]:
    """Return the newest failures of builds that were not measured later, newest first."""
    rows = [
        {
            "name": note.origin.name,
            "variant": note.variant.name,
            "time": note.time,
            "reason": plain(note.message),
        }
        for note in notes
    ]
    rows = [row for row in rows if row["name"] not in measured]
    return sorted(rows, key=lambda row: str(row["time"]), reverse=True)[:_MOST_FAILURES]


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
