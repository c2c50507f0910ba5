"""Count what one execution of a workload costs: instructions, WAL bytes and blocks.

Each number is a slope, (long series - short series) / executions between them: what starting costs
cancels. It is taken twice; the two slopes' distance is told with it. Most workloads have all their
series in one session of one server. Where an execution's cost depends on those before it, and where
pages are to be cold, series begin on servers of their own, with the same data and random numbers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from queue import SimpleQueue
from typing import Any

from base.build import Build
from base.errors import LandspeedError, MeasureError, StorageError, UsageError
from base.paths import Paths
from benchmarks.clients.pgbench import SEED, Pgbench
from benchmarks.counted.callgrind import SIMULATED_CACHE
from benchmarks.counted.cells import (
    count_environment,
    database_of,
    lengths_for,
    own_servers,
    together,
    work_of,
)
from benchmarks.counted.other_process import make_changes, take_changes
from benchmarks.counted.outcome import INSTRUMENT, counted_facts
from benchmarks.counted.plans import plans_of
from benchmarks.counted.profiles import keep_profile
from benchmarks.counted.series import (
    MARK,
    READING,
    REPORT,
    VARIABLES,
    WAIT,
    CountedSeries,
    SeriesPlan,
    drawn,
)
from benchmarks.counted.server import CountedServer, explained, written_script
from benchmarks.counted.sessions import FORKED, count_sessions
from benchmarks.counted.settings import exact_settings
from benchmarks.counted.slope import NotRepeatedError, Slope, slopes_of
from benchmarks.counted.valgrind import require_countable
from benchmarks.data.templates import Templates
from benchmarks.machine.machine import Machine
from benchmarks.measure import provenance, templates
from benchmarks.observation.snapshot import noteworthy
from benchmarks.records.record import Record
from benchmarks.server.cluster import Cluster, known_settings
from benchmarks.server.configuration import Configuration
from benchmarks.server.endpoint import DATABASE
from benchmarks.server.home import RunDirectory
from benchmarks.workloads.catalog import PGBENCH, PROCESSES, WALSENDER, Workload
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.dialect import Dialect
from benchmarks.workloads.protocol import Protocol
from benchmarks.workloads.scenario import CacheState, Cell

_TIMES = 2
_FIRST_LOOK = (2, 1, 3)
_OPTIONS = (f"--dump-before={MARK}", f"--zero-before={FORKED}")
# On a busy machine statistics may be reported within a series; another try rarely meets that again.
_TRIES = 3
# Servers on a core where sessions sleep most of the time.
_SLEEPERS = 3

_Counted = tuple[list[CountedSeries], dict[str, Any]]
"""Series, and what a record says of how and where they were counted."""


def count(
    *,
    build: Build,
    pgbench: Pgbench,
    cell: Cell,
    machine: Machine,
    paths: Paths,
    context: Mapping[str, Any],
    at_once: int = 1,
    stop: threading.Event | None = None,
) -> Record:
    """Count what an execution of *cell* costs *build*: its raw record, the profile kept beside.

    *cell* has a cache state and one client. MeasureError if the server dies or the slopes differ by
    more than SPREAD_LIMIT; nothing is kept then. For the others see Counter.
    """
    if cell.buffers is None or cell.clients != 1:
        raise UsageError("only a cell with one client and with buffers can be counted")
    counter = Counter(
        build=build,
        pgbench=pgbench,
        machine=machine,
        paths=paths,
        context=context,
        stop=stop or threading.Event(),
        at_once=at_once,
    )
    for outcome in counter.count([cell]):
        if isinstance(outcome, LandspeedError):
            raise outcome
        return outcome
    raise MeasureError("counting was interrupted")


@dataclass(frozen=True, kw_only=True)
class Counter:
    """Counts cells on one *build*.

    ``context`` (preset, round, …) goes into each record's ``run``. When ``stop`` is set, counting
    ends with the session under way. Servers that each have one series run ``at_once``. With
    ``cache`` a processor's cache is simulated, too: profiles have the misses of each function.
    """

    build: Build
    pgbench: Pgbench
    machine: Machine
    paths: Paths
    context: Mapping[str, Any]
    stop: threading.Event
    at_once: int = 1
    cache: bool = False

    @property
    def servers_per_core(self) -> int:
        """How many servers keep a core busy: several where sessions `WAIT` for statistics."""
        lag = Dialect.of(known_settings(self.build)).database_statistics_lag
        return _SLEEPERS if lag else 1

    def load(self, cell: Cell) -> None:
        """Load the data of *cell* now, if they are not loaded yet."""
        store = self.templates(cell)
        store.ensure(store.home.reachable(self.build), cell.scenario.scale)

    def count(self, cells: Sequence[Cell]) -> Iterator[Record | LandspeedError]:
        """Count *cells*; yield the record of each, or the error that it ended with.

        One that fails does not stop the others. They get a new server: this one may be dying, or
        have tables that were left half changed.
        MeasureError is raised where nothing can be counted, or the data cannot be loaded.
        """
        require_countable()
        left = list(cells)
        while left and not self.stop.is_set():
            first = left[0]
            if own_servers(first):
                yield self._tried(left.pop(0), self._on_servers)
                continue
            with self._server(first) as server:

                def on_server(cell: Cell, server: CountedServer = server) -> _Counted:
                    way = self._in_sessions if self._work(cell).connects else self._in_session
                    return way(server, cell)

                while (
                    left
                    and not self.stop.is_set()
                    and server.cluster.is_well
                    and together(first, left[0])
                ):
                    outcome = self._tried(left.pop(0), on_server)
                    yield outcome
                    if isinstance(outcome, LandspeedError):
                        break

    def templates(self, cell: Cell) -> Templates:
        """Return where the data of *cell* are loaded."""
        return templates(self.paths, self.pgbench, cell=cell)

    def _work(self, cell: Cell) -> Workload:
        """Return the workload that *cell* executes.

        How often a script is executed is decided by its cost on the server that pgbench comes
        from, so that it is the same for all servers.
        """
        mode, protocol = cell.scenario.mode, cell.scenario.protocol
        if isinstance(mode, Script):
            key = (self.pgbench.build.identifier, cell.scenario)
            return mode.workload(protocol, lengths_for(key, lambda: self._cost_there(cell, mode)))
        return work_of(cell)

    def _cost_there(self, cell: Cell, script: Script) -> float:
        """Return about how many instructions *script* costs on the server that pgbench comes from.

        0 where that server does not know the script's SQL.
        """
        work = script.workload(cell.scenario.protocol, (1, 3))
        there = replace(self, build=self.pgbench.build)
        try:
            with there._server(cell) as server:
                series, _ = there._session(server, cell, work, _FIRST_LOOK)
        except StorageError:
            raise  # it says nothing about the script, and what it costs is looked at once
        except LandspeedError:
            return 0.0
        return Slope(short=series[1], long=series[2]).instructions

    @contextmanager
    def _server(
        self,
        cell: Cell,
        place: RunDirectory | None = None,
        change: Callable[[Cluster], None] | None = None,
    ) -> Iterator[CountedServer]:
        """Start a server on a fresh copy of the data of *cell*, in *place* or a new directory.

        Of an earlier copy in *place* only what has changed is copied again. *change* is made first,
        on a server that is not counted.
        """
        store, configuration = self.templates(cell), Configuration.named(cell.profile)
        build = store.home.reachable(self.build)
        with nullcontext(place) if place else store.home.run_directory() as run:
            data = run.path / "copy"
            store.copy(build, cell.scenario.scale, data)
            known = known_settings(build)
            settings = {
                **configuration.settings(known, self.machine.memory_bytes),
                **cell.scenario.settings_of(known),
                **exact_settings(known),
            }
            if change:
                with Cluster(
                    build=build, data=data, run=run, settings=settings, keep=False, confined=True
                ) as cluster:
                    change(cluster)
            with CountedServer.start(
                build,
                data=data,
                run=run,
                settings=settings,
                options=[*_OPTIONS, *(SIMULATED_CACHE if self.cache else ())],
            ) as server:
                yield server

    def _tried(self, cell: Cell, way: Callable[[Cell], _Counted]) -> Record | LandspeedError:
        """Count *cell* in one *way* and keep its profile; count it again if it does not repeat."""
        error: LandspeedError
        for _ in range(_TRIES):
            started, began = datetime.now(UTC), time.monotonic()
            try:
                series, how = way(cell)
                how["run"]["phases"] = {"count": round(time.monotonic() - began, 3)}
                return self._record(cell, slopes_of(series), how, started)
            except NotRepeatedError as differs:
                error = differs
            except StorageError:
                raise  # nothing else can be counted either
            except LandspeedError as failed:
                error = failed
                break
        return MeasureError(
            f"could not count {cell.scenario.mode.value} on {self.build.label}",
            detail=f"{error.message}\n{error.detail}".strip(),
            hint=error.hint,
        )

    def _on_servers(self, cell: Cell) -> _Counted:
        """Count *cell* with a server for each series."""
        work, places = self._work(cell), SimpleQueue[RunDirectory]()
        short, long = work.lengths
        lengths = (long, short) * _TIMES

        def alone(number: int, length: int) -> _Counted:
            if self.stop.is_set():
                raise MeasureError("counting was interrupted")
            place = places.get()
            try:
                if work.is_handled_later:
                    return self._elsewhere(cell, work, length, place)
                with self._server(cell, place) as server:
                    series, how = self._session(server, cell, work, [length])
                    # the record has the plans of the first
                    return series, how if number else how | self._plans(server, cell, work)
            finally:
                places.put(place)

        with ExitStack() as held:
            for _ in range(self.at_once):
                places.put(held.enter_context(self.templates(cell).home.run_directory()))
            pool = ThreadPoolExecutor(max_workers=self.at_once, thread_name_prefix="count")
            done = list(held.enter_context(pool).map(alone, range(len(lengths)), lengths))
        return [one for some, _ in done for one in some], done[0][1]

    def _elsewhere(self, cell: Cell, work: Workload, length: int, place: RunDirectory) -> _Counted:
        """Count the process that handles what *length* executions of *work* have changed."""
        argv: list[str] = []

        def change(cluster: Cluster) -> None:
            argv.extend(make_changes(cluster, self.pgbench, cell.scenario, work, length))

        with self._server(cell, place, change) as server:
            if work.process == WALSENDER:
                with explained(server.cluster):
                    take_changes(server, work.dataset)
            profiles = [profile for _, profile in server.processes(PROCESSES[work.process])]
            if len(profiles) != 1:
                raise MeasureError(f"{len(profiles)} {work.process} processes were counted, not 1")
            series = [CountedSeries.of(profiles[0], executions=length)]
            return series, self._how(server, work, argv)

    def _in_session(self, server: CountedServer, cell: Cell) -> _Counted:
        """Count *cell* in one session on *server*."""
        work = self._work(cell)
        short, long = work.lengths
        # The first series only warms caches, also those of the backend itself: a prepared SELECT 1
        # costs less in its first hundreds.
        with explained(server.cluster):
            lengths = [long, *(short, long) * _TIMES]
            series, how = self._session(server, cell, work, lengths)
            return series[1:], how | self._plans(server, cell, work)

    def _in_sessions(self, server: CountedServer, cell: Cell) -> _Counted:
        """Count *cell*, a session for each execution, on *server*."""
        work = self._work(cell)
        with explained(server.cluster):
            argv, series = count_sessions(server, self.pgbench, cell.scenario, work)
            return series, self._how(server, work, argv)

    def _how(self, server: CountedServer, work: Workload, argv: Sequence[str]) -> dict[str, Any]:
        """Return what a record says of how *work* was counted on *server*, but for the plan."""
        return {
            "run": {
                **self.context,
                "instrument": INSTRUMENT,
                "transactions": list(work.lengths),
                "seed": SEED,
                "argv": ["pgbench", *argv[1:]],
            },
            "settings": dict(server.settings),
            "database_bytes": server.database(database_of(work.dataset)).size,
            "server_log": noteworthy(server.cluster.log_text()),
        }

    def _session(
        self, server: CountedServer, cell: Cell, work: Workload, lengths: Sequence[int]
    ) -> _Counted:
        """Execute *work*, that of *cell*, in series of *lengths* in one session on *server*."""
        cluster, database = server.cluster, database_of(work.dataset)
        facts = server.database(database)
        plan = SeriesPlan.of(
            work,
            lengths,
            settle=f"SELECT {REPORT}();\n" if facts.reports else WAIT,
            database=facts.oid,
            wal_position=facts.wal_position,
            dialect=cluster.dialect,
        )
        if work.dataset == PGBENCH and own_servers(cell) and cell.buffers is CacheState.WARM:
            # the script is executed once more at each end of a series
            self._warm(server, cell, plan.executions + 2)
        with server.relayed() as relay:
            argv = self.pgbench.transact(
                relay.host,
                database=database,
                scenario=cell.scenario,
                transactions=plan.executions,
                script=written_script(server.run, plan.script),
                variables=VARIABLES,
            )
        parts = server.parts(relay.backends[-1], plan.marks + 1)
        beside = server.beside(relay.backends[-1], PROCESSES[work.process]) if work.process else {}
        return plan.series(parts, relay.answers, beside), self._how(server, work, argv)

    def _plans(self, server: CountedServer, cell: Cell, work: Workload) -> dict[str, Any]:
        """Return what a record says of the plans of *work*, that of *cell*, on *server*."""
        with server.cluster.connect(database_of(work.dataset)) as connection:
            plans = plans_of(connection, work, {"scale": str(cell.scenario.scale)})
        return {"plan": plans.to_json()} if plans else {}

    def _warm(self, server: CountedServer, cell: Cell, executions: int) -> None:
        """Read the pages that so many *executions* of *cell*, a script that writes, will touch."""
        self.pgbench.transact(
            server.cluster.host,
            database=DATABASE,
            scenario=replace(cell.scenario, protocol=Protocol.PREPARED),
            transactions=executions,
            script=written_script(server.run, drawn(READING)),
            variables=VARIABLES,
        )

    def _record(
        self, cell: Cell, slopes: Sequence[Slope], how: Mapping[str, Any], started: datetime
    ) -> Record:
        """Return the raw record of *slopes*, with their profile kept beside the records."""
        facts = provenance(
            started, build=self.build, pgbench=self.pgbench, cell=cell, machine=self.machine
        )
        environment = count_environment(cell, self.build.version).facts(self.machine)
        found = counted_facts(self._work(cell), slopes, self.build.label)
        record = Record.from_json({**facts, "epoch": environment, **how, **found})
        keep_profile(self.paths, record.id, slopes[0].profile())
        return record
