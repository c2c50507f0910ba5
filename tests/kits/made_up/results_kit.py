"""One valid file of each kind that machines share, made up."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.records.record import Record
from benchmarks.records.store import RecordStore, new_id
from landspeed.bisect.journal import Event, Journal
from landspeed.bisect.note import BisectionNote
from landspeed.bisect.report import BisectReport, validated
from landspeed.changepoints.changepoint import ChangepointStatus, Confirmation
from tests.kits.made_up.changepoint_kit import origin, step
from tests.kits.made_up.synthetic import Point, record

JOURNAL = "aaa-bbb-12345678-1.json"
INPUTS = {"machine": "elephant", "epoch": "e1"}


def confirmation(number: int = 1, **changes: Any) -> Confirmation:
    """What fresh samples said of the changepoint at commit *number*."""
    return Confirmation(
        changepoint=step(number, number + 1, **changes),
        status=ChangepointStatus.CONFIRMED,
        time="2026-02-01T00:00:00Z",
        comparison="abc",
        finding={"ratio": 1.01, "interval": [1.0, 1.02], "blocks": 30},
    )


def bisection(nomination: str = "0" * 16, **changes: Any) -> BisectionNote:
    """The note of a bisection, with *changes* to its report."""
    report = {
        "answer": "no culprit",
        "confidence": None,
        "exact": False,
        "over": "commits",
        "metric": "latency",
        "unit": "ms",
        "higher_is_better": False,
        "improvement": False,
        "size": 0.02,
        "good": candidate(0),
        "bad": candidate(64),
        "candidates": 64,
        "variant": "bs8",
        "cell": {
            "mode": "read-only",
            "protocol": "prepared",
            "tier": "small",
            "scale": 5,
            "clients": 1,
            "profile": "default",
        },
        "seconds": 5,
        "machine": {"name": "elephant", "cpu": "EPYC", "cores": 2},
        "epoch": "e1",
        "pgbench": "18.1",
        "culprit": None,
        "left": span(37),
        "change": 0.03,
        "verification": None,
        "explanation": None,
        "others": [],
        "measurements": [],
        "skipped": [],
        "runs": 44,
        "builds": 11,
        "recorded": 0,
        "spent_seconds": 95.0,
        "state": "good-bad-1.json",
        "command": "landspeed bisect 17.5 17.6",
    }
    return BisectionNote(
        nomination=nomination,
        time="2026-02-02T00:00:00Z",
        report=validated(BisectReport, report | changes),
    )


def candidate(number: int) -> dict[str, str]:
    """A commit of a range."""
    return {
        "ref": f"{number:040x}",
        "name": f"{number:010x}",
        "date": "2025-03-01",
        "subject": f"Change {number}",
    }


def span(number: int) -> dict[str, Any]:
    """The one commit *number* as the steps of a culprit."""
    name = candidate(number)["name"]
    return {"after": "x", "first": name, "last": name, "count": 1, "candidates": None}


def write_journal(results: Path, values: Sequence[float], **inputs: str) -> Path:
    """The journal of a bisection with runs of these *values*, below *results*."""
    path = results / "bisect" / JOURNAL
    journal = Journal(path=path, inputs=INPUTS | inputs)
    for value in values:
        journal.add(Event(event="run", candidate="aaa", value=value, seconds=5.0))
    return path


def one_of_each(results: Path, machine: str = "elephant") -> None:
    """Write one file of each kind that machines share below *results*."""
    store = RecordStore(results / "records")
    for number in range(3):
        store.add(Record.from_json(record(Point(machine=machine), number=number)))
    store.seal()
    found = asdict(origin(5))
    store.identical_builds.add({"digest": "0" * 64, "origin": found})
    store.failures.add({"origin": found, "variant": "bs8", "time": "", "message": "no"})
    store.confirmations.add(confirmation())
    store.bisections.add(bisection())
    store.profiles.mkdir(parents=True, exist_ok=True)
    profile = json.dumps({"own": {"main": 3.0}, "edges": [["main", "f", 1, 2.0]]})
    (store.profiles / f"{new_id()}.json.gz").write_bytes(gzip.compress(profile.encode()))
    write_journal(results, [1.0, 2.0])
