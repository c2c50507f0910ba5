"""A Pass: one counted pgbench of so many transactions against a server started for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Self

from base.build import Build
from base.errors import MeasureError
from base.files import storage_errors
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.callgrind import Profile
from benchmarks.counted.server import SEED, CountedServer
from benchmarks.counted.settings import clock_driven
from benchmarks.data.templates import Templates
from benchmarks.machine.copy_tree import clone_tree
from benchmarks.observation.snapshot import database_bytes, noteworthy, settings, wal_and_blocks
from benchmarks.server.cluster import DATABASE, SUPERUSER, Cluster, known_settings
from benchmarks.server.configuration import Configuration
from benchmarks.server.home import RunDirectory
from benchmarks.workloads.scenario import CacheState, Cell, Protocol

# The function a backend spends its life in, under this name from 8.3 to current. What the
# postmaster executed before it forked is in a backend's file too, and not below this one.
_BACKEND = "PostgresMain"
# The collector of a lagging version may answer with a file of up to 0.5 s ago, see
# PGSTAT_STAT_INTERVAL in its pgstat.c.
_LAG_SECONDS = 0.7
_LOADED, _USED = "loaded", "used"
# What reads the pages that a script of pgbench's changes, after the same random draws.
_READING = """\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
SELECT tbalance FROM pgbench_tellers WHERE tid = :tid;
SELECT bbalance FROM pgbench_branches WHERE bid = :bid;
"""


@dataclass(frozen=True, kw_only=True)
class CountOrder:
    """What to count: *cell* of *build*, after the same random draws each time.

    A warm Pass reads what *longest* transactions touch before it. No Pass begins after *stop*.
    """

    build: Build
    pgbench: Pgbench
    cell: Cell
    longest: int
    memory_bytes: int
    stop: threading.Event


@dataclass(frozen=True, kw_only=True)
class Pass:
    """What one backend executed for so many transactions, and what they touched.

    ``clocked`` instructions are not in ``instructions``: a clock started them. WAL bytes and
    blocks are counted from an origin that all Passes of one cell share. Settings and size are
    those of the longest.
    """

    transactions: int
    instructions: float
    clocked: float
    wal_bytes: int
    blocks_hit: int
    blocks_read: int
    profile: Profile
    argv: tuple[str, ...]
    settings: dict[str, str]
    database_bytes: int
    server_log: str


@dataclass(frozen=True, kw_only=True)
class Bench:
    """The run directory where the passes of one CountOrder are made, one after the other.

    Its own copy of the Template stays as it is: Runs that only read use the Template itself,
    which counts blocks and writes a checkpoint between two Passes.
    """

    order: CountOrder
    store: Templates
    run: RunDirectory

    @classmethod
    @contextmanager
    def open(cls, order: CountOrder, store: Templates) -> Iterator[Self]:
        """A Bench with fresh copies of the data."""
        server = store.home.reachable(order.build)
        with store.home.run_directory() as run:
            store.copy(server, order.cell.scenario.scale, run.path / _LOADED)
            yield cls(order=order, store=store, run=run)

    def count(self, transactions: int) -> Pass:
        """One Pass of so many *transactions*; MeasureError if the server does not survive it."""
        if self.order.stop.is_set():
            raise MeasureError("counting was interrupted")
        order, profile = self.order, Configuration.named(self.order.cell.profile)
        server = self.store.home.reachable(order.build)
        data = self.run.path / _USED
        with storage_errors(f'copy "{self.run.path / _LOADED}"', data):
            clone_tree(self.run.path / _LOADED, data)
        with CountedServer.start(
            server,
            data=data,
            run=self.run,
            settings=profile.settings(known_settings(server), order.memory_bytes),
        ) as counted:
            if order.cell.buffers is CacheState.WARM:
                self._warm(counted.cluster)
            relay, argv = counted.drive(
                order.pgbench, order.cell.scenario, database=DATABASE, transactions=transactions
            )
            (text,) = counted.parts(relay.backends[-1])
            return self._seen(counted.cluster, transactions, Profile.parse(text), argv)
        raise AssertionError("a counted server hides no error")

    def _warm(self, cluster: Cluster) -> None:
        order, script = self.order, None
        scenario = replace(order.cell.scenario, protocol=Protocol.PREPARED)
        if scenario.mode.writes:
            script = self.run.path / "reading.sql"
            script.write_text(_READING)
        order.pgbench.transact(
            cluster.host,
            user=SUPERUSER,
            database=DATABASE,
            scenario=scenario,
            transactions=order.longest,
            seed=SEED,
            script=script,
        )

    def _seen(
        self, cluster: Cluster, transactions: int, profile: Profile, argv: tuple[str, ...]
    ) -> Pass:
        if cluster.dialect.database_statistics_lag:
            time.sleep(_LAG_SECONDS)
        with cluster.connect() as connection:
            wal_bytes, hit, read = wal_and_blocks(connection, cluster.dialect)
            # planning a look at all settings under valgrind takes a while: once is enough
            last = transactions == self.order.longest
            known = settings(connection) if last else {}
            size = database_bytes(connection) if last else 0
        total = profile.entered(_BACKEND)
        if not total:
            raise MeasureError(
                f"{_BACKEND} is not in the profile of {self.order.build.label}",
                detail="Without the names of its functions a server cannot be counted.",
                hint="Build it without stripping symbols.",
            )
        clocked = profile.called_by(clock_driven())
        return Pass(
            transactions=transactions,
            instructions=total - clocked,
            clocked=clocked,
            wal_bytes=wal_bytes,
            blocks_hit=hit,
            blocks_read=read,
            profile=profile,
            argv=argv,
            settings=known,
            database_bytes=size,
            server_log=noteworthy(cluster.log_text()),
        )
