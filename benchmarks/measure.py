"""Measure one run: a freshly started cluster, one client, and the raw record of both."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from base.build import Build
from base.errors import ClusterError, MeasureError, NotApplicableError, StorageError
from base.paths import Paths
from benchmarks.clients.client import Outcome
from benchmarks.clients.pgbench import Pgbench
from benchmarks.clients.sysbench import Sysbench
from benchmarks.data.datasets import DatasetLoader
from benchmarks.data.templates import Templates, template_limit
from benchmarks.data.warmup import across, begin, observed, set_page_cache
from benchmarks.machine.cpu_affinity import allowed_processors, placement
from benchmarks.machine.machine import Machine
from benchmarks.observation.monitor import EVERY, Monitor, watching
from benchmarks.observation.snapshot import Observation, noteworthy, together
from benchmarks.observation.warnings import find_warnings
from benchmarks.records.record import SCHEMA, Record
from benchmarks.records.store import new_id
from benchmarks.server.cluster import (
    Cluster,
    known_settings,
    server_error,
)
from benchmarks.server.configuration import Configuration
from benchmarks.server.endpoint import DATABASE
from benchmarks.server.home import ServerHome
from benchmarks.server.pooler import Pooler, pooling
from benchmarks.server.serving import serving
from benchmarks.server.storage import STORAGES
from benchmarks.server.topology import TOPOLOGIES
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.scenario import Cell, Scenario
from benchmarks.workloads.sysbench_modes import SysbenchMode

_TABLES = """SELECT quote_ident(c.relname::text) FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND n.nspname = 'public'"""
_TOO_LITTLE = (
    "The kernel killed processes of the server because of its memory limit: "
    "give it more (--memory), or take fewer --clients."
)


def templates(paths: Paths, pgbench: Pgbench, *, cell: Cell | None = None) -> Templates:
    """Return the templates of *paths*, as *cell* needs them where it is given.

    They are loaded by the client of the cell: *pgbench*, or sysbench for a SysbenchMode.
    """
    configuration = Configuration.named(cell.profile if cell else "default")
    storage, topology = configuration.storage, configuration.topology
    mode = cell.scenario.mode if cell else None
    root = STORAGES[storage].open(paths.server_root) if storage else None
    home = ServerHome.open(paths, root)
    client = Sysbench(mode) if isinstance(mode, SysbenchMode) else pgbench
    own: Script | SysbenchMode | DatasetLoader | None = None
    if isinstance(mode, Script | SysbenchMode):
        own = mode
    elif isinstance(mode, Workload):
        own = DatasetLoader()
    return Templates(
        own=own,
        topology=TOPOLOGIES[topology] if topology else None,
        home=home,
        client=client.at_home(home),
        limit_bytes=template_limit(dict(os.environ)),
        initdb_options=configuration.initdb_options,
    )


def prepare(*, build: Build, scale: int, store: Templates) -> None:
    """Load *build*'s data directory at *scale* now, so that no run has to."""
    store.ensure(store.home.reachable(build), scale)


def measure(
    *,
    build: Build,
    pgbench: Pgbench,
    cell: Cell,
    seconds: int,
    seed: int,
    machine: Machine,
    paths: Paths,
    context: Mapping[str, Any],
    every: float | None = EVERY,
) -> Record:
    """Run *cell* for *seconds* on a freshly started *build* and return the raw record.

    *context* (preset, round, …) goes into the record's ``run``. Server and machine are looked
    at *every* so many seconds meanwhile, and statements timed; None: neither. MeasureError if the
    server dies under the client, ClusterError if before or after; nothing of the Run is left then,
    and no record.
    """
    if not cell.scenario.runs_on(build.version):
        raise NotApplicableError(f"{build.label} does not have {cell.scenario.mode}")
    started = datetime.now(UTC)
    store = templates(paths, pgbench, cell=cell)
    run = _Run(
        store=store,
        build=build,
        cell=cell,
        seconds=seconds,
        seed=seed,
        machine=machine,
        every=every,
    )
    seen = run.make()
    facts = {
        **provenance(started, build=build, pgbench=pgbench, cell=cell, machine=machine),
        "epoch": replace(machine.epoch, workload=cell.scenario.digest(build.version)).facts(),
        **seen,
        "run": {**context, **seen["run"]},
    }
    if isinstance(store.client, Sysbench):
        facts[store.client.name] = store.client.facts(cell.scenario.scale)
    return Record.from_json({**facts, "warnings": find_warnings(Record.from_json(facts))})


def provenance(
    started: datetime, *, build: Build, pgbench: Pgbench, cell: Cell, machine: Machine
) -> dict[str, Any]:
    """Return the keys that every raw record begins with."""
    return {
        "schema": SCHEMA,
        "id": new_id(started),
        "time": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "build": build.facts(),
        "machine": machine.facts(),
        "pgbench": pgbench.facts(),
        "cell": cell.facts(machine.cores),
    }


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A run of ``cell`` for ``seconds``; ``phases`` has the wall-clock seconds of its phases."""

    store: Templates
    build: Build
    cell: Cell
    seconds: int
    seed: int
    machine: Machine
    every: float | None
    phases: dict[str, float] = field(default_factory=dict)

    def make(self) -> dict[str, Any]:
        """Make the run; return what its record says of it.

        What is said of several servers is what they did together; settings are the first one's.
        """
        store, cell, machine = self.store, self.cell, self.machine
        scenario = cell.scenario
        with ExitStack() as stack:
            with self._phase("prepare"):
                server = store.home.reachable(self.build)
                lease = store.lease(server, scenario.scale, writes=scenario.mode.writes)
                data = stack.enter_context(lease)
                set_page_cache(scenario.tier, data, limited=machine.memory_limit is not None)
            with self._phase("start"):
                clusters = stack.enter_context(self._servers(server, data))
                processors = placement(cell.clients, allowed_processors())
                for cluster in clusters:
                    cluster.confine(processors)
            with self._phase("warm"):
                fit, first = self._profile.shared_buffers(machine.memory_bytes), clusters[0]
                _restore(first, scenario)
                began = begin(clusters, fit, scenario, store.topology)
            with (
                self._phase(store.client.name),
                self._reached(first) as pooler,
                _looked_at(clusters, self.every) as watch,
            ):
                host = pooler.host if pooler else first.host
                outcome = self._drive(clusters, host, processors)
            with self._phase("observe"):
                observations = observed(clusters, began, outcome.sample.transactions or 0)
                log = noteworthy("\n".join(cluster.log_text() for cluster in clusters))
                topology = across(store.topology, first, observations)
            with self._phase("stop"):
                stack.close()
        seen = together(observations)
        return {
            "run": self._how(outcome, processors),
            "sample": _sample(outcome, seen),
            "series": outcome.series.model_dump(mode="json", exclude_defaults=True),
            "settings": began[0].settings,
            "statistics": seen.statistics,
            "evidence": _evidence(watch, outcome, seen),
            "database_bytes": sum(one.database_bytes for one in began),
            "stderr": outcome.stderr,
            "server_log": log,
            **({"pooler": pooler.facts()} if pooler else {}),
            **({"topology": topology} if topology else {}),
        }

    @property
    def _profile(self) -> Configuration:
        return Configuration.named(self.cell.profile)

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        """Time what is done inside as phase *name*."""
        begin = time.monotonic()
        try:
            yield
        finally:
            spent = self.phases.get(name, 0.0) + time.monotonic() - begin
            self.phases[name] = round(spent, 4)

    def _how(self, outcome: Outcome, processors: Sequence[int]) -> dict[str, Any]:
        return {
            "seconds": self.seconds,
            "seed": self.seed,
            "processors": list(processors),
            "argv": [self.store.client.name, *outcome.argv[1:]],
            "phases": self.phases,
        }

    @contextmanager
    def _servers(self, build: Build, data: Path) -> Iterator[tuple[Cluster, ...]]:
        """Yield the servers of *build* on *data* that the run is made on."""
        scenario, machine = self.cell.scenario, self.machine
        known = known_settings(build)
        settings = self._profile.settings(known, machine.memory_bytes)
        with (
            serving(
                self.store.home,
                build=build,
                data=data,
                topology=self.store.topology,
                settings=settings | scenario.settings_of(known),
                database=scenario.dataset or DATABASE,
                keep=not scenario.mode.writes,
                memory_limit=machine.memory_limit,
            ) as clusters,
            clusters[0].answering(),
        ):
            yield clusters

    @contextmanager
    def _reached(self, cluster: Cluster) -> Iterator[Pooler | None]:
        """Yield what clients connect to: a Pooler before *cluster*, None for itself."""
        if self._profile.pooler is None:
            yield None
            return
        most = self._profile.max_connections(self.machine.memory_bytes)
        with pooling(cluster.run, cores=self.machine.cores, max_connections=most) as pooler:
            yield pooler

    def _drive(self, clusters: Sequence[Cluster], host: Path, processors: Sequence[int]) -> Outcome:
        """Run the client on *host*; MeasureError, with its last words, if a server dies."""
        first, cell = clusters[0], self.cell
        try:
            outcome = self.store.client.run(
                host,
                database=first.database,
                cell=cell,
                cores=self.machine.cores,
                seconds=self.seconds,
                seed=self.seed,
                scratch=first.run.scratch,
                statements=self.every is not None,
                processors=processors,
            )
            # before 14 backends outlive their postmaster as long as their clients talk
            for cluster in clusters:
                cluster.check()
        except (MeasureError, ClusterError) as error:
            ill = next((one for one in clusters if not one.is_well), first)
            seen = server_error(error.message, ill.log_text())
            if isinstance(seen, StorageError):
                raise seen from error
            clients = f"{cell.clients} client{'s' if cell.clients > 1 else ''}"
            raise MeasureError(
                f"could not time {cell.scenario.mode} with {clients} on {ill.build.label}",
                detail=f"{error.message}\n{error.detail}\nThe server of {ill.build.label} said:\n"
                f"{seen.detail}",
                hint=_TOO_LITTLE if ill.memory_kills else error.hint or seen.hint,
            ) from error
        return outcome


def _sample(outcome: Outcome, seen: Observation) -> dict[str, Any]:
    """Return the numbers of a run: the client's, and what the server's counters say."""
    return {
        **outcome.sample.model_dump(exclude_defaults=True),
        "server_cpu_seconds": seen.server_cpu_seconds,
        "client_cpu_seconds": outcome.cpu_seconds,
        "wal_bytes": seen.wal_bytes,
        "blocks_hit": seen.blocks_hit,
        "blocks_read": seen.blocks_read,
    }


def _evidence(watch: Monitor | None, outcome: Outcome, seen: Observation) -> dict[str, Any] | None:
    """Return what server and machine were doing; None where nobody looked."""
    if watch is None:
        return None
    statements = [list(one) for one in outcome.statements]
    return {
        **watch.facts(),
        "server_io": {
            "read_bytes": seen.storage_read_bytes,
            "write_bytes": seen.storage_write_bytes,
        },
        **({"statements": statements} if statements else {}),
        **({"autovacuumed": list(seen.autovacuumed)} if seen.autovacuumed else {}),
    }


def _restore(cluster: Cluster, scenario: Scenario) -> None:
    """Bring the tables of a workload of the catalog into the state in which it begins: warm."""
    if not isinstance(scenario.mode, Workload):
        return
    with cluster.connect() as connection:
        for statement in scenario.mode.before:
            connection.execute(statement.encode())
        for (table,) in connection.execute(_TABLES).fetchall():
            connection.execute(b"SELECT count(*) FROM " + table.encode())


def _looked_at(
    clusters: Sequence[Cluster], every: float | None
) -> AbstractContextManager[Monitor | None]:
    return nullcontext() if every is None else watching(*clusters, every=every)
