"""What a cell was counted to cost, as its record tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks.clients.pgbench import SEED
from benchmarks.counted.callgrind import Profile
from benchmarks.counted.series import CountedSeries
from benchmarks.counted.slope import Slope
from benchmarks.records.record import PlanFacts
from benchmarks.workloads.catalog import Workload

INSTRUMENT = "callgrind"
"""What a record's ``run`` says it was measured by; one that says nothing was timed by a clock."""


@dataclass(frozen=True, kw_only=True)
class CountOutcome:
    """The slopes of one cell, and the server that they were counted on."""

    slopes: Sequence[Slope] = ()
    argv: Sequence[str]
    settings: Mapping[str, str]
    database_bytes: int
    server_log: str
    plan: PlanFacts | None = None

    def facts(self, work: Workload, sample: Mapping[str, float]) -> dict[str, Any]:
        """Return what the record of *work* says of it; *sample* is that of its slopes."""
        series = [one for slope in self.slopes for one in (slope.short, slope.long)]
        return {
            "run": {
                "instrument": INSTRUMENT,
                "transactions": list(work.lengths),
                "seed": SEED,
                "argv": ["pgbench", *self.argv[1:]],
            },
            "sample": {
                name: value
                for name, value in sample.items()
                if not (work.is_whole_processes and name.startswith(("wal", "blocks")))
            },
            "passes": [] if work.is_whole_processes else [_series_facts(one) for one in series],
            **({"plan": self.plan.to_json()} if self.plan else {}),
            "settings": dict(self.settings),
            "database_bytes": self.database_bytes,
            "server_log": self.server_log,
        }


def _series_facts(one: CountedSeries) -> dict[str, Any]:
    facts = asdict(replace(one, profile=Profile(own={}, edges={})))
    del facts["profile"]
    return {"transactions": facts.pop("executions"), **facts}
