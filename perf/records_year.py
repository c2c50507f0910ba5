"""A synthetic year of tracking every commit: what a million raw records cost to keep and read.

``python -m perf.records_year --runs 1000000`` prints one JSON line for each figure.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from itertools import islice, product
from pathlib import Path
from typing import Any

from base.build import Origin
from benchmarks.records.record import Record
from benchmarks.records.segments import pack_segment, write_segment
from benchmarks.records.store import RecordStore
from landspeed.results.points import Dots
from landspeed.site.asv_results import AsvLayout, derive
from tests.kits.made_up.synthetic import Point, record

START = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = timedelta(days=365)
SAMPLES = 8
CELLS = tuple(
    product(("read-only", "read-write"), ("simple", "prepared"), ("small", "medium"), (1, 4, 8, 16))
)
LOOSE_RUNS = 256


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One measured number with its unit."""

    figure: str
    value: float
    unit: str


class _Clock:
    """Sum of the seconds spent in the measured parts."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._start


def commit_name(number: int) -> str:
    """The hash of the year's commit *number*."""
    return sha1(f"commit {number}".encode(), usedforsecurity=False).hexdigest()


def sessions(runs: int) -> Iterator[list[dict[str, Any]]]:
    """The year's *runs* records, one list for each commit tracked (256 runs: 32 cells × 8)."""
    each = len(CELLS) * SAMPLES
    commits = -(-runs // each)
    for number in range(commits):
        at = START + YEAR * number / commits
        yield list(islice(_session(number, at), min(each, runs - number * each)))


def _session(number: int, at: datetime) -> Iterator[dict[str, Any]]:
    commit = Point(
        release=None, commit=commit_name(number), date=at.strftime("%Y-%m-%dT%H:%M:%S+00:00")
    )
    commit = replace(commit, machine=f"bench{number % 2}", seconds=10)
    for sample in range(SAMPLES):
        for mode, protocol, tier, clients in CELLS:
            at += timedelta(seconds=11.3)
            scale = 10 if tier == "small" else 500
            latency = clients * (0.06 if mode == "read-only" else 0.9)
            cell = replace(commit, mode=mode, protocol=protocol, tier=tier, scale=scale)
            yield record(replace(cell, clients=clients, latency_ms=latency), number=sample, at=at)


def synthetic_year(runs: int, root: Path) -> Iterator[Figure]:
    """Make a year of *runs* records below *root* and measure it; figures as they come."""
    store = RecordStore(root / "records")
    sealing, texts = _Clock(), 0
    for session in sessions(runs):
        rows = {row["id"]: json.dumps(row, separators=(",", ":")) for row in session}
        texts += sum(map(len, rows.values()))
        with sealing:
            write_segment(*pack_segment(_directory(store, session[0]), rows))
    files = [path.stat().st_size for path in store.root.rglob("*.parquet")]
    yield Figure(figure="records_year.runs", value=runs, unit="runs")
    yield Figure(figure="records_year.files", value=len(files), unit="files")
    yield Figure(figure="records_year.bytes", value=sum(files), unit="bytes")
    yield Figure(figure="records_year.text_bytes", value=texts, unit="bytes")
    yield Figure(figure="records_year.seal_seconds", value=sealing.seconds, unit="s")
    yield from _reading(store)
    yield from _adding(root)
    yield from _deriving(store, root / "asv")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    yield Figure(figure="records_year.peak_memory", value=peak, unit="bytes")


def _directory(store: RecordStore, row: dict[str, Any]) -> Path:
    return store.root / "segments" / str(row["machine"]["name"]) / str(row["time"])[:7]


def _reading(store: RecordStore) -> Iterator[Figure]:
    first, again, one = _Clock(), _Clock(), _Clock()
    with first:
        ids = store.table()["id"]
    with again:
        store.table()
    with one:
        store.get(ids[len(ids) // 2].as_py())
    yield Figure(figure="records_year.load_scalars_first_seconds", value=first.seconds, unit="s")
    yield Figure(figure="records_year.load_scalars_seconds", value=again.seconds, unit="s")
    yield Figure(figure="records_year.get_one_seconds", value=one.seconds, unit="s")


def _adding(root: Path) -> Iterator[Figure]:
    store = RecordStore(root / "loose")
    adding, one, sealing = _Clock(), _Clock(), _Clock()
    rows = next(sessions(LOOSE_RUNS))
    with adding:
        for row in rows:
            store.add(Record.from_json(row))
    with one:
        store.get(rows[len(rows) // 2]["id"])
    with sealing:
        store.seal()
    yield Figure(figure="records_year.add_one_seconds", value=adding.seconds / len(rows), unit="s")
    yield Figure(figure="records_year.get_one_of_256_loose_seconds", value=one.seconds, unit="s")
    yield Figure(figure="records_year.seal_256_seconds", value=sealing.seconds, unit="s")


def _deriving(store: RecordStore, results: Path) -> Iterator[Figure]:
    def commit_of(origin: Origin) -> tuple[str, int]:
        date = datetime.fromisoformat(origin.date)
        return str(origin.commit), int(date.timestamp() * 1000)

    layout = AsvLayout(results=results)
    first, again = _Clock(), _Clock()
    with first:
        points, _ = derive(Dots(store.table()), layout, commit_of)
    with again:
        derive(Dots(store.table()), layout, commit_of)
    yield Figure(figure="records_year.points", value=points, unit="points")
    yield Figure(figure="records_year.derive_seconds", value=first.seconds, unit="s")
    yield Figure(figure="records_year.derive_again_seconds", value=again.seconds, unit="s")


def main() -> None:
    """Print the figures of a synthetic year, one JSON line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--root", type=Path, help="keep the year here (default: a temporary place)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="landspeed-year-") as temporary:
        for figure in synthetic_year(arguments.runs, arguments.root or Path(temporary)):
            json.dump(vars(figure), sys.stdout)
            print(flush=True)


if __name__ == "__main__":
    main()
