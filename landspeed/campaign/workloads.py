"""Count workloads of the catalog on several builds, on as many servers as there are cores."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from base.build import Build
from base.errors import LandspeedError
from benchmarks.applicability import counted_cells
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.cells import own_servers, workload_cell
from benchmarks.counted.count import Counter
from benchmarks.counted.valgrind import require_countable
from benchmarks.machine.lock import measuring
from benchmarks.records.record import Record
from benchmarks.workloads.catalog import CATALOG, PGBENCH, Workload
from benchmarks.workloads.scenario import CacheState, Cell, Mode, preset_named
from landspeed.campaign.campaign import Tally, note_identical_builds
from landspeed.console.format import counted
from landspeed.console.progress import meter, say
from landspeed.sampling.counted import count_key, recorded_counts
from landspeed.session.session import Session
from landspeed.session.target import Target


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
            tally.report(outcome)
    count_due(session, pgbench, _due(session, pgbench, builds.values(), workloads, tally), tally)
    note_identical_builds(session, builds.values())
    return tally


def count_due(
    session: Session,
    pgbench: Pgbench,
    due: Sequence[tuple[Build, Sequence[Cell]]],
    tally: Tally,
    preset: str = CATALOG,
) -> None:
    """Count the cells that are *due* on each build, and record them as of *preset*."""
    if not due:
        return
    total = sum(len(cells) for _, cells in due)
    try:
        with (
            session.builder.store.in_use([pgbench.build, *(build for build, _ in due)]),
            measuring(counting=True),
            meter("counting") as shown,
        ):

            def done(cell: Cell, outcome: Record | LandspeedError) -> None:
                if isinstance(outcome, LandspeedError):
                    tally.report(outcome)
                    return
                session.records.add(outcome)
                tally.measured += 1
                shown.update(tally.measured / total, str(cell.scenario.mode.value))

            for build, cells in due:
                say(f"counting {counted(len(cells), 'workload')} on {build.label}")
                try:
                    count_side_by_side(counter_of(session, build, pgbench, preset), cells, done)
                except LandspeedError as error:
                    tally.report(error)
    finally:
        session.records.seal()


def counter_of(session: Session, build: Build, pgbench: Pgbench, preset: str = CATALOG) -> Counter:
    """Return what counts cells of *build* here, for records of *preset*."""
    return Counter(
        build=build,
        pgbench=pgbench,
        machine=session.machine,
        paths=session.paths,
        context={"preset": preset, "round": 1},
        stop=threading.Event(),
    )


def _due(
    session: Session,
    pgbench: Pgbench,
    builds: Iterable[Build],
    workloads: Sequence[Workload],
    tally: Tally,
) -> list[tuple[Build, list[Cell]]]:
    """Return what is left to count on each build that lacks something."""
    if timed := [one.name for one in workloads if one.timed_only]:
        say(f"not counted: {', '.join(timed)}, which need several clients and are only timed")
    have = recorded_counts(session, pgbench.version)
    due = []
    for build in builds:
        known = [one for one in workloads if one.runs_on(build.version)]
        if other := [one.name for one in workloads if one not in known]:
            say(f"not applicable: {', '.join(other)}, which {build.label} does not have")
        able = cells_of(session, known)
        left = [cell for cell in able if count_key(session, build, cell) not in have]
        tally.present += len(able) - len(left)
        if left:
            due.append((build, left))
    return due


def counted_cell(session: Session, workload: Workload) -> Cell:
    """Return the cell in which *workload* is counted; pgbench's are those of the preset quick."""
    if workload.dataset != PGBENCH:
        return workload_cell(workload)
    cells = counted_cells(preset_named("quick"), session.machine, session.paths.server_root, {})
    cell = cells[0].cell
    scenario = replace(cell.scenario, mode=Mode(workload.name))
    return replace(cell, scenario=scenario, buffers=CacheState.WARM)


def cells_of(session: Session, workloads: Iterable[Workload]) -> list[Cell]:
    """Return the cells in which *workloads* are counted: warm, pgbench's reads cold as well."""
    found = []
    for workload in workloads:
        if workload.timed_only:
            continue
        cell = counted_cell(session, workload)
        found.append(cell)
        if workload.dataset == PGBENCH and not workload.writes:
            found.append(replace(cell, buffers=CacheState.COLD))
    return found


def count_side_by_side(
    counter: Counter, cells: Sequence[Cell], done: Callable[[Cell, Record | LandspeedError], None]
) -> None:
    """Count *cells* of one build on as many servers as keep all cores busy.

    Those that need servers of their own are counted beside the others, each by the first thread
    that is free. Which of the others share a server, and in which order, does not depend on how
    long anything takes: what a server counted before can change a count.

    *done* is given each outcome, by one thread at a time. LandspeedError if the data cannot be
    loaded or no server can be kept running.
    """
    alone = [cell for cell in cells if own_servers(cell)]
    # those that share a server stand together
    sharing = sorted(
        (cell for cell in cells if not own_servers(cell)),
        key=lambda one: (isinstance(one.scenario.mode, Workload), one.scenario.settings),
    )
    for cell in {isinstance(one.scenario.mode, Workload): one for one in cells}.values():
        counter.load(cell)
    servers = counter.machine.cores * counter.servers_per_core
    parts = [part for number in range(servers) if (part := sharing[number::servers])]
    # One more thread: while servers of their own start and end, a core would be idle.
    free = servers + 1 - len(parts)
    parts += [[cell] for cell in alone[:free]]
    rest, lock = iter(alone[free:]), threading.Lock()
    counter = replace(counter, at_once=max(1, servers // len(parts)))

    def count(part: Sequence[Cell]) -> None:
        for cell, outcome in zip(part, counter.count(part), strict=False):
            with lock:
                done(cell, outcome)

    def share(part: Sequence[Cell]) -> None:
        count(part)
        for cell in rest:
            count([cell])

    with ThreadPoolExecutor(max_workers=len(parts), thread_name_prefix="suite") as pool:
        futures = [pool.submit(share, part) for part in parts]
        try:
            errors = [future.exception() for future in futures]
        except BaseException:
            # Each thread ends with the workload under way and stops its server.
            counter.stop.set()
            raise
    for error in filter(None, errors):
        raise error
