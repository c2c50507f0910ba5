"""The data of the status page: machines and their queues, failed builds, and delays. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow.compute as pc

from benchmarks.records.columns import VARIANT_COLUMNS, variant_of
from benchmarks.records.identical_builds import FailedBuild
from landspeed.console.markdown import plain
from landspeed.results.arrays import distinct
from landspeed.results.points import Dots
from landspeed.results.queue import Queue
from landspeed.results.series import RELEASES_LINE, PlaceOf

_MOST_FAILURES = 50
_HOUR = 3600.0


def status_facts(
    dots: Dots, place_of: PlaceOf, failures: Sequence[FailedBuild], queues: Iterable[Queue]
) -> dict[str, Any]:
    """Return what the machines have done, without ages: those depend on when a page is read.

    A build that failed and was measured later is left out. Of *queues* the newest of a machine
    counts, without what was measured or failed since. A ``delay`` is the hours from a
    commit's date to its first run on a machine, of commits made since the machine first ran one of
    the same branch; ``months`` has the median and the 95 % quantile of each month.
    """
    servers = (
        dots.table.select(["machine", "digest", *VARIANT_COLUMNS, "time"])
        .group_by(["machine", "digest", *VARIANT_COLUMNS])
        .aggregate([("time", "min"), ("time", "max")])
        .to_pylist()
    )
    judged: dict[str, dict[str, dict[str, Any]]] = {}
    measured: set[str] = set()
    done: dict[tuple[str | None, str], str] = {
        (None, f"{note.origin.name}:{note.variant}"): note.time for note in failures
    }
    for row in servers:
        for name, origin in dots.servers.get(row["digest"], {}).items():
            target = f"{name}:{variant_of(row)}"
            measured.add(target)
            done[row["machine"], target] = row["time_max"]
            position = place_of(origin)
            if position and position.branch != RELEASES_LINE:
                own = judged.setdefault(row["machine"], {})
                first = min(row["time_min"], own.get(name, {}).get("first", row["time_min"]))
                commit = {"name": name, "date": origin.date, "first": first}
                own[name] = commit | vars(position)
    newest = {one.machine: one for one in sorted(queues, key=lambda one: one.time)}
    machines = []
    for name in sorted({*dots.machines, *newest}):
        queue = _queue(newest[name], done) if name in newest else None
        machines.append(_machine(dots, name, judged.get(name, {})) | {"queue": queue})
    return {"machines": machines, "failures": _failures(failures, measured)}


def _queue(queue: Queue, done: Mapping[tuple[str | None, str], str]) -> dict[str, Any]:
    """Return what is left of *queue*; *done* has when a machine, or any, was done with a target."""
    targets, since = [], _time(queue.time)
    for target in queue.targets:
        ref, _, variant = target.partition(":")
        name = f"{ref if '.' in ref else ref[:10]}:{variant}"
        ends = [_time(done.get((machine, name), "")) for machine in (queue.machine, None)]
        if not any(since and end and end >= since for end in ends):
            targets.append(name)
    due = queue.due - len(queue.targets) + len(targets)
    return {"targets": targets, "due": due, "time": queue.time}


def _machine(dots: Dots, name: str, judged: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    own = [
        row
        for row in distinct(dots.table, ["machine", "mode", "buffers"])
        if row["machine"] == name
    ]
    runs = dots.table.select(["machine", "time"])
    times = runs.filter(pc.field("machine") == name)["time"]
    in_order = sorted(judged.values(), key=lambda one: one["position"])
    tips = {one["branch"]: one for one in in_order}
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
        if f"{note.origin.name}:{note.variant}" not in measured
    ]
    return sorted(rows, key=lambda row: str(row["time"]), reverse=True)[:_MOST_FAILURES]


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
