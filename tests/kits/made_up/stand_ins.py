"""What stands for the real thing where no server is run: a Build, the record of a Run, a lock."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.build import Build, Origin, Variant
from base.version import Version
from benchmarks.machine.machine import Limits, Machine
from benchmarks.records.record import Record
from benchmarks.records.store import new_id
from benchmarks.workloads.scenario import Cell

AMPLE = Limits(memory_bytes=16 << 30, disk_bytes=4000 << 30)
"""What a machine can give that has room for everything."""


@dataclass(frozen=True)
class MadeUpCountEnvironment:
    """Where made-up counts are made, whichever workload they are of."""

    workload: str = ""
    identifier: str = "counted"


def nothing(*_: object, **__: object) -> AbstractContextManager[None]:
    """Stands for whatever is held while something lasts."""
    return nullcontext()


def made_up_build(
    identifier: str,
    origin: Origin,
    *,
    digest: str = "",
    version: str = "18.1",
    variant: Variant | None = None,
    prefix: Path = Path("/nowhere"),
) -> Build:
    """A Build of *origin* that nobody made; its files are those of *digest*, by default its own."""
    return Build(
        prefix=prefix,
        identifier=identifier,
        version=Version.parse(version),
        origin=origin,
        variant=variant or Variant(),
        build_system="meson",
        quirks=(),
        toolchain={},
        digest=digest or re.sub("[^0-9A-Za-z]", "", identifier),
        cpu_seconds=1.0,
    )


def timed_record(
    *,
    build: Build,
    cell: Cell,
    machine: Machine,
    run: Mapping[str, Any],
    latency: float = 1.0,
    **parts: Any,
) -> Record:
    """Return what `measure` returns of a run on *build* with *latency* in ms; *parts* replace."""
    facts = {
        "schema": 1,
        "id": new_id(),
        "time": "2026-01-01T00:00:00.000Z",
        "build": build.facts(),
        "machine": machine.facts(),
        "epoch": machine.epoch.facts(),
        "pgbench": {"version": "18.1", "build": "b"},
        "cell": cell.facts(machine.cores),
        "run": dict(run),
        "sample": {"latency_ms": latency, "tps": 1000 / latency},
    }
    return Record.from_json(facts | parts)


def counted_pass(transactions: int, instructions: float) -> dict[str, Any]:
    """Return one of a count's ``passes`` that touched nothing."""
    return {
        "transactions": transactions,
        "instructions": instructions,
        "clocked": 0,
        "wal_bytes": 0,
        "blocks_hit": 0,
        "blocks_read": 0,
    }
