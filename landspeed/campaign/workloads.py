"""Count workloads of the catalog on several builds, on as many servers as there are cores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from base.build import Build
from base.errors import LandspeedError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.suite import Suite, workload_cell, workload_environment
from benchmarks.counted.valgrind import require_countable
from benchmarks.machine.lock import measuring
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.points import ComparableCounts, Point, rows_of
from landspeed.campaign.campaign import Tally
from landspeed.console.progress import meter, say
from landspeed.session.session import Session
from landspeed.session.target import Target

PRESET = "catalog"
"""What the record of a counted workload says in place of a preset."""


def count_workloads(
    session: Session, targets: Sequence[Target], workloads: Sequence[Workload]
) -> Tally:
    """Build *targets*, then count *workloads* on each; what is recorded is not counted again.

    A build or a workload that fails is reported, and the others go on.
    """
    require_countable()
    tally = Tally()
    pgbench = Pgbench(build=session.pgbench_build())
    outcomes = session.build_all(targets, jobs=None)
    builds = {one.identifier: one for one in outcomes.values() if isinstance(one, Build)}
    for outcome in outcomes.values():
        if isinstance(outcome, LandspeedError):
            _report(tally, outcome)
    due = {build.identifier: _due(session, build, pgbench, workloads) for build in builds.values()}
    asked = sum(one.runs_on(build.version) for build in builds.values() for one in workloads)
    total = sum(map(len, due.values()))
    tally.present = asked - total
    left_out = len(builds) * len(workloads) - asked
    if left_out:
        say(f"not applicable: {left_out} workloads that a version does not have")
    try:
        with (
            session.builder.store.in_use(list(builds.values())),
            measuring(counting=True),
            meter("counting") as shown,
        ):

            def step(label: str) -> None:
                shown.update(tally.measured / total, label)

            for build in builds.values():
                if due[build.identifier]:
                    say(f"counting {len(due[build.identifier])} workloads on {build.label}")
                    suite = Suite(
                        build=build,
                        pgbench=pgbench,
                        machine=session.machine,
                        paths=session.paths,
                        context={"preset": PRESET, "round": 1},
                        stop=threading.Event(),
                    )
                    _count(session, suite, due[build.identifier], tally=tally, step=step)
    finally:
        session.records.seal()
    return tally


def _count(
    session: Session,
    suite: Suite,
    workloads: Sequence[Workload],
    *,
    tally: Tally,
    step: Callable[[str], None],
) -> None:
    """Count *workloads* of one build on as many servers as there are cores."""
    try:
        suite.load()
    except LandspeedError as error:
        _report(tally, error)
        return
    lock, at_once = threading.Lock(), min(session.machine.cores, len(workloads))

    def share(number: int) -> None:
        for outcome in suite.count(workloads[number::at_once]):
            with lock:
                if isinstance(outcome, LandspeedError):
                    _report(tally, outcome)
                    continue
                session.records.add(outcome)
                tally.measured += 1
                step(f"{suite.build.label} {outcome.cell.mode}")

    with ThreadPoolExecutor(max_workers=at_once, thread_name_prefix="suite") as pool:
        futures = [pool.submit(share, number) for number in range(at_once)]
        try:
            for future in futures:
                try:
                    future.result()
                except LandspeedError as error:
                    _report(tally, error)
        except BaseException:
            # Each thread ends with the workload under way and stops its server.
            suite.stop.set()
            raise


def _due(
    session: Session, build: Build, pgbench: Pgbench, workloads: Sequence[Workload]
) -> list[Workload]:
    table = session.records.table()
    return [
        one
        for one in workloads
        if one.runs_on(build.version)
        and not rows_of(
            ComparableCounts(
                machine=session.machine,
                pgbench_version=pgbench.version,
                epoch=workload_environment(one, build.version).identifier,
            ).of(table),
            Point(build=build, cell=workload_cell(one)).key,
        ).num_rows
    ]


def _report(tally: Tally, error: LandspeedError) -> None:
    tally.errors.append(error)
    say(str(error))
