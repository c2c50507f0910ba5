"""One Run: a freshly started cluster, one pgbench, and the raw record of what was seen."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, assert_never

from base.build import Build
from base.errors import ClusterError, MeasureError, StorageError
from base.paths import Paths
from benchmarks.clone import drop_cached, keep_cached
from benchmarks.cluster import DATABASE, SUPERUSER, Cluster, server_error
from benchmarks.home import ServerHome
from benchmarks.machine import Machine
from benchmarks.observe import (
    Observation,
    Snapshot,
    between,
    database_bytes,
    database_counter,
    noteworthy,
    settings,
    snapshot,
    warm,
)
from benchmarks.pgbench import Outcome, Pgbench
from benchmarks.placement import allowed_processors, placement
from benchmarks.profiles import Profile
from benchmarks.records import new_id
from benchmarks.scenarios import Cell, Tier
from benchmarks.templates import Templates, template_limit

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A Seen is what was learnt of the server in one Run."""

    outcome: Outcome
    processors: tuple[int, ...]
    observation: Observation
    settings: dict[str, str]
    database_bytes: int
    server_log: str


@dataclass(frozen=True, kw_only=True)
class Phases:
    """Phases are the seconds of wall clock that each part of a Run took."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time what is done inside as phase *name*."""
        begin = time.monotonic()
        try:
            yield
        finally:
            spent = self.seconds.get(name, 0.0) + time.monotonic() - begin
            self.seconds[name] = round(spent, 4)


def silent(message: str) -> None:
    """Say nothing."""


def templates(paths: Paths, pgbench: Pgbench, say: Callable[[str], None] = silent) -> Templates:
    """The Templates of *paths*, loaded by *pgbench*."""
    home = ServerHome.open(paths)
    return Templates(
        home=home,
        pgbench=pgbench.at_home(home),
        limit_bytes=template_limit(dict(os.environ)),
        say=say,
    )


def prepare(*, build: Build, scale: int, store: Templates) -> None:
    """Load *build*'s data directory at *scale* now, so that no Run has to."""
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
    context: dict[str, Any],
) -> dict[str, Any]:
    """One Run of *cell* for *seconds* on a fresh start of *build*: its raw record.

    *context* (preset, round, …) goes into the record's ``run``. MeasureError if the
    server dies under pgbench; nothing of the Run is left then, and no record.
    """
    started = datetime.now(UTC)
    phases = Phases()
    store = templates(paths, pgbench)
    seen = _run(
        store=store,
        build=build,
        cell=cell,
        seconds=seconds,
        seed=seed,
        machine=machine,
        phases=phases,
    )
    outcome, observation = seen.outcome, seen.observation
    return {
        **provenance(started, build=build, pgbench=pgbench, cell=cell, machine=machine),
        "epoch": machine.epoch.facts(),
        "run": {
            **context,
            "seconds": seconds,
            "seed": seed,
            "processors": list(seen.processors),
            "argv": ["pgbench", *outcome.argv[1:]],
            "phases": phases.seconds,
        },
        "sample": {
            **asdict(outcome.sample),
            "server_cpu_seconds": observation.server_cpu_seconds,
            "wal_bytes": observation.wal_bytes,
            "blocks_hit": observation.blocks_hit,
            "blocks_read": observation.blocks_read,
        },
        "series": outcome.series.facts(),
        "settings": seen.settings,
        "statistics": observation.statistics,
        "database_bytes": seen.database_bytes,
        "stderr": outcome.stderr,
        "server_log": seen.server_log,
    }


def provenance(
    started: datetime, *, build: Build, pgbench: Pgbench, cell: Cell, machine: Machine
) -> dict[str, Any]:
    """What every raw record begins with: its id, and of what it is."""
    return {
        "schema": SCHEMA,
        "id": new_id(started),
        "time": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "build": build.facts(),
        "machine": machine.facts(),
        "pgbench": pgbench.facts(),
        "cell": cell.facts(machine.cores),
    }


def _run(
    *,
    store: Templates,
    build: Build,
    cell: Cell,
    seconds: int,
    seed: int,
    machine: Machine,
    phases: Phases,
) -> Seen:
    profile, scenario = Profile.named(cell.profile), cell.scenario
    with ExitStack() as stack:
        with phases.phase("prepare"):
            server = store.home.reachable(build)
            run = stack.enter_context(store.home.run_directory())
            writes = scenario.mode.writes
            data = stack.enter_context(store.lease(server, scenario.scale, writes=writes))
            _set_page_cache(scenario.tier, data)
        with phases.phase("start"):
            chosen = profile.settings(build.version, machine.memory_bytes)
            cluster = Cluster(build=server, data=data, run=run, settings=chosen, keep=not writes)
            stack.enter_context(cluster)
            processors = placement(cell.clients, allowed_processors())
            cluster.confine(processors)
        with phases.phase("warm"):
            before, known, size = _begin(cluster, profile.shared_buffers(machine.memory_bytes))
        with phases.phase("pgbench"):
            outcome = _drive(
                store.pgbench,
                cluster,
                cell,
                cores=machine.cores,
                seconds=seconds,
                seed=seed,
                processors=processors,
            )
        with phases.phase("observe"):
            done = before.count("xact_commit") + outcome.sample.transactions
            after = snapshot(cluster, at_least={"xact_commit": done})
            log = noteworthy(cluster.log_text())
        with phases.phase("stop"):
            stack.close()
    return Seen(
        outcome=outcome,
        processors=processors,
        observation=between(before, after),
        settings=known,
        database_bytes=size,
        server_log=log,
    )


def _set_page_cache(tier: Tier, data: Path) -> None:
    """Begin every Run of a Tier with the same files in the kernel's page cache.

    What fits memory is all there, as it would be on a server that has run for a while;
    of *large* nothing is, because which half of it remained is chance.
    """
    match tier:
        case Tier.SMALL | Tier.MEDIUM:
            keep_cached(data)
        case Tier.LARGE:
            drop_cached(data)
        case _:
            assert_never(tier)


def _begin(cluster: Cluster, shared_buffers: int) -> tuple[Snapshot, dict[str, str], int]:
    """Warm the server if its data fits shared_buffers; its counters, settings and data's size."""
    at_least = {}
    with cluster.connect() as connection:
        known = settings(connection)
        size = database_bytes(connection)
        if size < shared_buffers:
            fetched = database_counter(connection, "tup_fetched")
            at_least = {"tup_fetched": fetched + warm(connection)}
    return snapshot(cluster, at_least=at_least), known, size


def _drive(
    pgbench: Pgbench,
    cluster: Cluster,
    cell: Cell,
    *,
    cores: int,
    seconds: int,
    seed: int,
    processors: tuple[int, ...],
) -> Outcome:
    """Run *pgbench*; a server that died under it is a MeasureError with its last words."""
    try:
        outcome = pgbench.run(
            cluster.host,
            user=SUPERUSER,
            database=DATABASE,
            cell=cell,
            cores=cores,
            seconds=seconds,
            seed=seed,
            scratch=cluster.run.scratch,
            processors=processors,
        )
        # before 14 backends outlive their postmaster as long as their clients talk
        cluster.check()
    except (MeasureError, ClusterError) as error:
        seen = server_error(error.message, cluster.log_text())
        if isinstance(seen, StorageError):
            raise seen from error
        raise MeasureError(
            error.message,
            detail=f"{error.detail}\nThe server of {cluster.build.label} said:\n{seen.detail}",
            hint=error.hint or seen.hint,
        ) from error
    return outcome
