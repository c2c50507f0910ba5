"""A Pass: one counted pgbench of so many transactions against a server started for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from base.build import Build
from base.errors import ClusterError, MeasureError
from base.files import storage_errors
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.callgrind import Profile, is_whole
from benchmarks.counted.relay import Relay
from benchmarks.counted.settings import clock_driven, exact_settings
from benchmarks.counted.valgrind import counting, require_fixed_addresses
from benchmarks.data.templates import Templates
from benchmarks.machine.copy_tree import clone_tree
from benchmarks.machine.processes import children
from benchmarks.observation.snapshot import database_bytes, noteworthy, settings, wal_and_blocks
from benchmarks.server.cluster import DATABASE, SUPERUSER, Cluster, server_error
from benchmarks.server.configuration import Configuration
from benchmarks.server.home import PORT, RunDirectory
from benchmarks.workloads.scenario import CacheState, Cell, Protocol

# The function a backend spends its life in, under this name from 8.3 to current. What the
# postmaster executed before it forked is in a backend's file too, and not below this one.
_BACKEND = "PostgresMain"
# The collector of a lagging version may answer with a file of up to 0.5 s ago, see
# PGSTAT_STAT_INTERVAL in its pgstat.c.
_LAG_SECONDS = 0.7
_FILE_SECONDS = 60.0
_LOADED, _USED = "loaded", "used"
_POLL_SECONDS = 0.01
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
    """What to count: *cell* of *build*, with pgbench's *seed*.

    A warm Pass reads what *longest* transactions touch before it. No Pass begins after *stop*.
    """

    build: Build
    pgbench: Pgbench
    cell: Cell
    seed: int
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
        known = profile.settings(server.version, order.memory_bytes)
        counts = self._make("counts")
        for left_over in counts.iterdir():
            left_over.unlink()
        cluster = Cluster(
            build=self._at_fixed_place(server),
            data=data,
            run=self.run,
            settings=known | exact_settings(server.version),
            keep=False,
            under=counting(counts),
        )
        with _telling(cluster), cluster:
            require_fixed_addresses([cluster.pid, *children(cluster.pid)])
            if order.cell.buffers is CacheState.WARM:
                self._warm(cluster)
            backend, argv = self._drive(cluster, transactions)
            cluster.check()
            return self._seen(cluster, transactions, _profile(counts / str(backend)), argv)
        raise AssertionError("a cluster hides no error")

    def _make(self, name: str) -> Path:
        path = self.run.path / name
        with storage_errors(f'create "{path}"', path):
            path.mkdir(exist_ok=True)
            self.run.own(path)
        return path

    def _at_fixed_place(self, server: Build) -> Build:
        """*server* under paths that are as long for every build.

        Their length moves the stack, and vector instructions read what is aligned otherwise in
        other numbers of steps.
        """
        parts = {"bin": server.program("postgres").parent, "lib": server.prefix / "lib"}
        if server.external is not None:
            parts["lib"] = Path(server.external.libdir)
        for name, part in parts.items():
            link = self.run.path / name
            link.unlink(missing_ok=True)
            link.symlink_to(part)
        return replace(server, prefix=self.run.path, external=None)

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
            seed=order.seed,
            script=script,
        )

    def _drive(self, cluster: Cluster, transactions: int) -> tuple[int, tuple[str, ...]]:
        """Run pgbench through a Relay; the process id of the backend that served it."""
        order, name = self.order, f".s.PGSQL.{PORT}"
        relayed = cluster.host / "r"
        relayed.mkdir(exist_ok=True)
        with Relay(here=relayed / name, there=cluster.host / name) as relay:
            argv = order.pgbench.transact(
                relayed,
                user=SUPERUSER,
                database=DATABASE,
                scenario=order.cell.scenario,
                transactions=transactions,
                seed=order.seed,
            )
        # the first connection asks for the scale, the last one is the client's
        if not relay.backends:
            raise MeasureError("pgbench did not reach the server")
        return relay.backends[-1], argv

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


def _profile(path: Path) -> Profile:
    """The profile of a backend that has just ended; MeasureError if it does not come."""
    deadline = time.monotonic() + _FILE_SECONDS
    while time.monotonic() < deadline:
        text = path.read_text(errors="replace") if path.exists() else ""
        if is_whole(text):
            return Profile.parse(text)
        time.sleep(_POLL_SECONDS)
    raise MeasureError(
        "a counted backend left no profile",
        detail=f'"{path.name}" did not come within {_FILE_SECONDS:.0f} s.',
        hint="It may have been killed; see the server's log.",
    )


@contextmanager
def _telling(cluster: Cluster) -> Iterator[None]:
    """Turn what goes wrong with *cluster* into a MeasureError with the server's last words."""
    try:
        yield
    except (MeasureError, ClusterError) as error:
        said = server_error(error.message, cluster.log_text()).detail
        raise MeasureError(
            f"{error.message}, under valgrind",
            detail=f"{error.detail}\nThe server of {cluster.build.label} said:\n{said}".strip(),
            hint=error.hint,
        ) from error
