"""Made-up counts of workloads of the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from benchmarks.workloads.catalog import CATALOG, Workload
from tests.kits.made_up.synthetic import START, Point, record

Level = Callable[[str, str], float]
"""Returns the instructions of a workload, by its name, on a release."""


def counts(
    workloads: Iterable[Workload], releases: Mapping[str, str], level: Level
) -> Iterator[dict[str, Any]]:
    """One record of each of *workloads* on each of *releases* (name → date)."""
    chosen, at = list(workloads), START
    for release, date in releases.items():
        for workload in chosen:
            at += timedelta(seconds=7)
            made = record(
                Point(
                    release=release,
                    date=date,
                    mode=workload.name,
                    protocol=workload.protocol.value,
                    scale=1,
                ),
                at=at,
            )
            instructions = level(workload.name, release)
            cell = {**made["cell"], "buffers": "warm"}
            run = {"preset": CATALOG, "round": 1, "instrument": "callgrind", "seed": 7, "argv": []}
            sample = {
                "instructions": instructions,
                "instructions_spread": 0.00002,
                "wal_bytes_tx": 120.0 if workload.writes else 0.0,
                "transactions": workload.lengths[1],
            }
            yield made | {"cell": cell, "run": run, "sample": sample, "series": None}
