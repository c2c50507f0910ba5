"""A server under callgrind, driven by pgbench through a relay; what its backends executed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from base.build import Build
from base.errors import ClusterError, MeasureError
from base.files import read_untrusted, remove_tree, storage_errors, write_atomic
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.callgrind import Profile, is_whole
from benchmarks.counted.relay import Relay
from benchmarks.counted.series import REPORT
from benchmarks.counted.valgrind import counting, require_fixed_addresses
from benchmarks.machine.processes import Process, children
from benchmarks.observation.snapshot import database_bytes, wal_position
from benchmarks.observation.snapshot import settings as non_defaults
from benchmarks.server.cluster import Cluster, server_error
from benchmarks.server.home import PORT, RunDirectory, parts_of
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.scenario import Scenario

_FILE_SECONDS = 60.0
_POLL_SECONDS = 0.01


def written_script(run: RunDirectory, text: str) -> Path:
    """Write *text* where pgbench can read it, and return the path."""
    path = run.scratch / "series.sql"
    write_atomic(path, text, durable=False)
    return path


@dataclass(frozen=True, kw_only=True)
class CountedDatabase:
    """A database as it was when a server's first workload there began; ``size`` in bytes.

    Sessions of a server that ``reports`` can hand over their statistics when asked to.
    ``wal_position`` is the query for the end of the WAL.
    """

    oid: int
    size: int
    reports: bool
    wal_position: str


@dataclass(frozen=True, kw_only=True)
class CountedServer:
    """A running server each of whose processes leaves its counts in the directory ``counts``.

    ``settings`` are those that are not the built-in defaults.
    """

    cluster: Cluster
    run: RunDirectory
    counts: Path
    settings: Mapping[str, str]
    _databases: dict[str, CountedDatabase] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def start(
        cls,
        build: Build,
        *,
        data: Path,
        run: RunDirectory,
        settings: Mapping[str, str],
        options: Sequence[str] = (),
    ) -> Iterator[Self]:
        """Start *build* on *data* with more *options* of callgrind, and stop it at the end.

        MeasureError, with the server's last words, if it does not start or does not survive.
        """
        counts = run.path / "counts"
        with storage_errors(f'create "{counts}"', counts):
            remove_tree(counts)
            run.own(counts)
        placed = _at_fixed_place(build, run)
        cluster = Cluster(
            build=placed,
            data=data,
            run=run,
            settings=settings,
            keep=False,
            under=[*counting(counts), *options],
            confined=True,
            # its own are links
            read=parts_of(build),
            written=[counts],
        )
        with explained(cluster), cluster:
            require_fixed_addresses([cluster.pid, *children(cluster.pid)])
            with cluster.connect() as connection:
                known = non_defaults(connection)
            # who counts on it starts another one when it is ill: never for ever
            cluster.check()
            yield cls(cluster=cluster, run=run, counts=counts, settings=known)

    def database(self, name: str) -> CountedDatabase:
        """Return what there is to know of the database *name*; it is asked once.

        Under valgrind a connection takes a good part of a CPU second. `start` makes one too, and
        the two stay apart: one connection fewer moved a count by 0.6 %, see "The heap" in
        docs/counting.md.
        """
        if name not in self._databases:
            with self.cluster.connect(name) as connection:
                row = connection.execute(
                    "SELECT oid::int8, (SELECT count(*) FROM pg_proc WHERE proname = %s)"
                    " FROM pg_database WHERE datname = current_database()",
                    [REPORT],
                ).fetchone()
                oid, reports = row or (0, 0)
                self._databases[name] = CountedDatabase(
                    oid=oid,
                    size=database_bytes(connection),
                    reports=bool(reports),
                    wal_position=wal_position(connection),
                )
        return self._databases[name]

    @contextmanager
    def relayed(self) -> Iterator[Relay]:
        """Yield a relay, which knows the backends; pgbench finds it at its ``host``.

        The last backend is that of pgbench's last session. MeasureError if pgbench had none.
        """
        name = f".s.PGSQL.{PORT}"
        relayed = self.cluster.host / "r"
        relayed.mkdir(exist_ok=True)
        with Relay(here=relayed / name, there=self.cluster.host / name, greeted=1) as relay:
            yield relay
        if not relay.backends:
            raise MeasureError("pgbench did not reach the server")
        self.cluster.check()

    def parts(self, backend: int, wanted: int = 1) -> list[str]:
        """Return the *wanted* parts of callgrind's output of *backend*, which is about to end.

        MeasureError if they do not come.
        """
        deadline, ended = time.monotonic() + _FILE_SECONDS, False
        while not ended and time.monotonic() < deadline:
            # it writes them before it ends
            process = Process.read(backend)
            ended = process is None or process.state in "ZX"
            # PID is the last part of a process, PID.1 and so on are those before it
            paths = [*self.counts.glob(f"{backend}"), *self.counts.glob(f"{backend}.*")]
            texts = [*map(read_untrusted, paths)]
            if len(texts) >= wanted and all(map(is_whole, texts)):
                return texts
            if not ended:
                time.sleep(_POLL_SECONDS)
        raise MeasureError(
            "a counted backend left no profile",
            detail=f"{backend} ended and had not written it."
            if ended
            else f"{backend} did not end within {_FILE_SECONDS:.0f} s.",
            hint="It may have been killed, or the disk is full; see the server's log.",
        )

    def processes(self, entry: str) -> list[tuple[int, Profile]]:
        """Return what each process executed that has called *entry* and ended, with the time (ns).

        The first to end comes first.
        """
        ends = sorted(
            (path.lstat().st_mtime_ns, read_untrusted(path))
            for path in self.counts.iterdir()
            if path.name.isdigit()
        )
        return [(when, Profile.parse(text)) for when, text in ends if entry in text]

    def beside(self, backend: int, entry: str) -> dict[int, Profile]:
        """Return what such processes executed within each part of the output of *backend*.

        A session waits for the end of its parallel workers.
        """
        written = sorted(
            (path.lstat().st_mtime_ns, int(path.suffix[1:]))
            for path in self.counts.glob(f"{backend}.*")
            # hostile code can name files anything
            if path.suffix[1:].isdecimal()
        )
        found: dict[int, list[Profile]] = {}
        for when, profile in self.processes(entry):
            part = next((number for ended, number in written if when <= ended), 0)
            found.setdefault(part, []).append(profile)
        return {part: Profile.sum(some) for part, some in found.items()}


@contextmanager
def explained(cluster: Cluster) -> Iterator[None]:
    """Turn what goes wrong into a MeasureError with the last words of the server of *cluster*."""
    try:
        with cluster.answering():
            yield
    except (MeasureError, ClusterError) as error:
        said = server_error(error.message, cluster.log_text()).detail
        raise MeasureError(
            f"{error.message}, under valgrind",
            detail=f"{error.detail}\nThe server of {cluster.build.label} said:\n{said}".strip(),
            hint=error.hint,
        ) from error


def execute(
    pgbench: Pgbench,
    scenario: Scenario,
    work: Workload,
    executions: int,
    *,
    host: Path,
    run: RunDirectory,
) -> tuple[str, ...]:
    """Have *pgbench* execute *work* so many times on the server of *run*, reached at *host*.

    Return its command line. MeasureError if a transaction fails.
    """
    return pgbench.transact(
        host,
        database=work.dataset,
        scenario=scenario,
        transactions=executions,
        script=written_script(run, work.script),
        user=work.role,
        connect=work.connects,
    )


def _at_fixed_place(server: Build, run: RunDirectory) -> Build:
    """Return *server* under paths that are as long for every build: see RunDirectory."""
    parts = {"bin": server.program("postgres").parent, "lib": server.prefix / "lib"}
    if server.external is not None:
        parts["lib"] = Path(server.external.libdir)
    for name, part in parts.items():
        link = run.path / name
        link.unlink(missing_ok=True)
        # where a sandbox shows the file itself, it need not show all links that lead there
        link.symlink_to(part.resolve())
    return replace(server, prefix=run.path, external=None)
