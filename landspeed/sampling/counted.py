"""Which points there are; count instructions of several at a time, on all cores."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from base.build import Build
from base.errors import LandspeedError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.count import count
from benchmarks.counted.valgrind import comparable_counts
from benchmarks.records.record import Record
from benchmarks.workloads.points import Point, count_samples, digests_of
from benchmarks.workloads.scenario import Cell
from landspeed.console.progress import meter, say
from landspeed.session.session import Session


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


def uncounted(points: Sequence[Point], session: Session, pgbench: Pgbench) -> list[Point]:
    """Return those of *points* without a recorded count; MeasureError if none can be made here."""
    comparable = comparable_counts(session.machine, pgbench.version, digests_of(points))
    have = count_samples(comparable.of(session.records.table()))
    unique = {point.key: point for point in points}
    return [point for key, point in unique.items() if not have[key]]


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
