"""What a cell was counted to cost, as its record tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from benchmarks.counted.callgrind import Profile
from benchmarks.counted.series import CountedSeries
from benchmarks.counted.slope import Slope, sample_of
from benchmarks.workloads.catalog import Workload

INSTRUMENT = "callgrind"
"""What a record's ``run`` says it was measured by; one that says nothing was timed by a clock."""


def counted_facts(work: Workload, slopes: Sequence[Slope], label: str) -> dict[str, Any]:
    """Return what a record says of the *slopes* of *work* on the server called *label*.

    NotRepeatedError if they are too far apart.
    """
    sample, whole = sample_of(slopes, label), work.is_whole_processes
    series = [one for slope in slopes for one in (slope.short, slope.long)]
    return {
        "sample": {
            name: value
            for name, value in sample.items()
            if not (whole and name.startswith(("wal", "blocks")))
        },
        "passes": [] if whole else [_series_facts(one) for one in series],
    }


def _series_facts(one: CountedSeries) -> dict[str, Any]:
    facts = asdict(replace(one, profile=Profile(own={}, edges={})))
    del facts["profile"]
    return {"transactions": facts.pop("executions"), **facts}
