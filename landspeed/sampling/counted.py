"""Which points there are; count instructions of several at a time, on all cores."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import pyarrow.compute as pc

from base.build import Build
from base.errors import LandspeedError
from base.version import Version
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.cells import count_environment
from benchmarks.counted.count import count
from benchmarks.records.record import Record
from benchmarks.workloads.points import Point
from benchmarks.workloads.scenario import Cell
from landspeed.console.progress import meter, say
from landspeed.session.session import Session

_CELL = ("mode", "protocol", "tier", "scale", "profile", "buffers")


def points_of(builds: Iterable[Build], cells: Sequence[Cell]) -> list[Point]:
    """Return the points of *builds* in those of *cells* that they know, and say what is left out.

    A workload of the catalog has a range of versions.
    """
    found = []
    for build in builds:
        known = [cell for cell in cells if cell.scenario.runs_on(build.version)]
        if left := {str(cell.scenario.mode) for cell in cells if cell not in known}:
            say(f"not applicable: {', '.join(sorted(left))}, which {build.label} does not have")
        found += [Point(build=build, cell=cell) for cell in known]
    return found


@dataclass(frozen=True, kw_only=True)
class KnownCount:
    """Instructions of one execution of a workload, and the record that says so."""

    instructions: float
    record: str


CountKey = tuple[str | int, ...]
"""The digest of a server, what its counts must share to be compared, and the cell."""


def count_key(session: Session, build: Build, cell: Cell) -> CountKey:
    """Return the key of a count of *cell* on *build*; MeasureError if none can be made here."""
    return server_count_key(session, build.digest, cell, build.version)


def server_count_key(session: Session, digest: str, cell: Cell, version: Version) -> CountKey:
    """Return the key of a count of *cell* on the server with *digest*."""
    facts = cell.facts(session.machine.cores)
    environment = count_environment(cell, version).identifier
    return (digest, environment, *(facts[name] for name in _CELL))


def recorded_counts(session: Session, pgbench: str) -> dict[CountKey, KnownCount]:
    """Return the newest counts made here with *pgbench*, a version."""
    columns = ("digest", "epoch", *_CELL, "instructions", "id")
    table = session.records.table([*columns, "machine", "pgbench_version"]).filter(
        (pc.field("machine") == session.machine.name)
        & (pc.field("pgbench_version") == pgbench)
        & pc.field("instructions").is_valid()
    )
    rows = zip(*(table[name].to_pylist() for name in columns), strict=True)
    return {
        tuple(key): KnownCount(instructions=value, record=identifier)
        for *key, value, identifier in rows
    }


def uncounted(points: Sequence[Point], session: Session, pgbench: Pgbench) -> list[Point]:
    """Return those of *points* without a recorded count; MeasureError if none can be made here."""
    unique = {count_key(session, point.build, point.cell): point for point in points}
    known = recorded_counts(session, pgbench.version)
    return [point for key, point in unique.items() if key not in known]


def count_all(
    points: Sequence[Point],
    session: Session,
    pgbench: Pgbench,
    preset: str,
    *,
    done: Callable[[Record], object],
    failed: Callable[[LandspeedError], None],
) -> None:
    """Count each of *points* and pass its record to *done*, or its error to *failed*.

    Load does not disturb counts, so as many run at a time as there are cores.
    """
    cores, stop, began = session.machine.cores, threading.Event(), time.monotonic()

    def one(point: Point) -> Record:
        return count(
            build=point.build,
            pgbench=pgbench,
            cell=point.cell,
            machine=session.machine,
            paths=session.paths,
            context={"preset": preset, "round": 1},
            stop=stop,
        )

    with (
        meter("counting") as shown,
        ThreadPoolExecutor(max_workers=cores, thread_name_prefix="point") as pool,
    ):
        futures = {pool.submit(one, point): point for point in points}
        try:
            for number, future in enumerate(as_completed(futures), start=1):
                try:
                    done(future.result())
                except LandspeedError as error:
                    failed(error)
                each = (time.monotonic() - began) / number
                label = futures[future].label
                shown.update(number / len(points), label, left=each * (len(points) - number))
        except BaseException:
            # The threads stop the servers that they started.
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
