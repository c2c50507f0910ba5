"""A cluster: a data directory that landspeed made, and the server that runs on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

import psycopg

from base.build import Build
from base.errors import ClusterError, LandspeedError, last_lines
from base.files import read_untrusted, storage_errors, write_atomic
from base.paths import server_user
from benchmarks.machine.cgroup import Cgroup
from benchmarks.machine.processes import children, cpu_seconds
from benchmarks.machine.spawn import (
    CLEAN_ENVIRONMENT,
    can_sandbox,
    disk_full,
    finding_libraries,
    guarded,
    is_disk_full,
    sandboxed,
    stop_process,
)
from benchmarks.server.connection import Connection, NoAnswerError, connect
from benchmarks.server.endpoint import ANSWER_SECONDS, DATABASE, SUPERUSER
from benchmarks.server.home import PORT, RunDirectory, ServerHome, parts_of
from benchmarks.workloads.dialect import Dialect

# Written into every data directory we initialise: without it no server is started.
_MARKER = "landspeed.cluster"
_STOCK_CONF = "postgresql.conf.stock"
_READY = "database system is ready to accept connections"
_START_SECONDS = 120.0
_STOP_SECONDS = 300.0
_POLL_SECONDS = 0.005
# What a server that cannot start says, and what to do about it.
_HINTS = (
    ("could not create semaphores", "Raise kernel.sem, or stop other servers on this machine."),
    ("could not create shared memory", "Raise kernel.shmmax and kernel.shmall."),
    ("could not resize shared memory", "Make /dev/shm larger (in Docker: --shm-size 1g)."),
    ("could not map anonymous shared memory", "Free some memory, or choose another profile."),
    ("Cannot allocate memory", "Free some memory, or choose another profile."),
    ("Too many open files", 'Raise the limit of open files ("ulimit -n").'),
    ("Resource temporarily unavailable", 'Raise the limit of processes ("ulimit -u").'),
)
# 8.3 has no boot_val: the name is then that of the outer query's column.
_DEFAULTS = """SELECT name, kind, CASE WHEN context = 'internal' THEN setting
 ELSE (SELECT boot_val FROM pg_settings AS built_in WHERE built_in.name = one.name) END
FROM (SELECT name, setting, context, vartype || coalesce(' ' || unit, '') AS kind,
 setting AS boot_val FROM pg_settings) AS one
WHERE kind <> 'string' AND (context <> 'internal' OR name = 'data_checksums')"""


def initdb(build: Build, data: Path, run: RunDirectory, options: Sequence[str] = ()) -> None:
    """Make a cluster of *build* at *data*, which must not exist, with more *options* of initdb.

    Locale C and UTF-8, which every version has; the superuser is "postgres" and
    trusted, because only the directory's owner can reach the socket.
    """
    with storage_errors(f'create "{data}"', data):
        data.mkdir(mode=0o700)  # an error if it is there
        run.own(data)
    options = [*Dialect.of(known_settings(build)).initdb_options, *options]
    arguments = ["-D", str(data), "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C"]
    _said(build, "initdb", *arguments, *options, written=(data,))
    write_atomic(data / _STOCK_CONF, read_untrusted(data / "postgresql.conf"))
    write_atomic(data / _MARKER, "Made by landspeed, which may remove it at any time.\n")


def control_data(build: Build, data: Path) -> dict[str, str]:
    """Return what pg_controldata says of *data*: ``"Database block size": "8192"``."""
    lines = _said(build, "pg_controldata", str(data), written=(data,)).splitlines()
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}


def known_settings(build: Build) -> dict[str, str]:
    """Return the least value of each setting in *build*'s sample postgresql.conf, "" for none.

    The server is asked: settings and their ranges change in the middle of a development cycle.
    """
    # name, context, group, type, default, least and greatest value, …, separated by TABs, a line
    # for each; see utils/misc/help_config.c
    lines = _said(build, "postgres", "--describe-config").splitlines()
    rows = (line.split("\t") for line in lines)
    return {row[0]: row[5] for row in rows if len(row) > 5}


def setting_defaults(build: Build, home: ServerHome) -> dict[str, tuple[str, str]]:
    """Return type (with its unit) and default of each setting of *build*; texts are left out.

    A fresh cluster is asked: --describe-config shows the defaults of enums alone. A default is
    the built-in one, and of data_checksums what initdb chooses.
    """
    build = home.reachable(build)
    with home.run_directory() as run:
        data = run.path / "defaults"
        initdb(build, data, run)
        with (
            Cluster(
                build=build, data=data, run=run, settings={}, keep=False, confined=True
            ) as cluster,
            cluster.answering(),
            cluster.connect() as connection,
        ):
            rows = connection.execute(_DEFAULTS).fetchall()
    return {name: (kind, value) for name, kind, value in rows}


def _said(build: Build, program: str, *arguments: str, written: Sequence[Path] = ()) -> str:
    """Return what *program* of *build* prints as the server's user; ClusterError if it fails.

    It is confined where we may do that, and changes nothing but *written*.
    """
    done = subprocess.run(
        sandboxed(
            finding_libraries(build, [build.program(program), *arguments]),
            death=signal.SIGKILL,
            user=server_user(),
            written=written,
            read=parts_of(build),
        ),
        env=CLEAN_ENVIRONMENT,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
        start_new_session=True,
    )
    if done.returncode != 0:
        raise server_error(f"{program} of {build.label} failed", done.stdout)
    return done.stdout


def is_ours(data: Path) -> bool:
    """Whether landspeed made the cluster at *data*."""
    return (data / _MARKER).is_file()


def is_shut_down(data: Path) -> bool:
    """Whether the cluster at *data* was shut down cleanly, as its own pg_control says.

    The state is the third field, DB_SHUTDOWNED is 1: see DBState in
    catalog/pg_control.h, the same from 8.3 to current.
    """
    try:
        control = (data / "global" / "pg_control").read_bytes()
    except OSError:
        return False
    return (
        control[16:20] == (1).to_bytes(4, sys.byteorder) and not (data / "postmaster.pid").exists()
    )


@dataclass(kw_only=True, eq=False)
class Cluster:
    """A data directory of one build and the server that runs on it, with one configuration.

    As a context manager it is started on entry and stopped on exit: properly if
    its data is kept, at once if not. It listens on a socket in *run*'s private
    directory and nowhere else, but with *beside* in its data directory, as private, where
    servers find it whose data lies beside it; and it ends with us even if we are killed. *under*
    are the words of a program that becomes the server, or runs it, such as valgrind's. With
    *memory_limit* all its processes and what they read into the page cache have so many bytes.
    One that is *confined* reaches no network, and of our files only its build's and those that it
    may *read*, where we may do that. It writes its data, its sockets and what is *written*.
    """

    build: Build
    data: Path
    run: RunDirectory
    settings: Mapping[str, str]
    keep: bool
    under: Sequence[str] = ()
    memory_limit: int | None = None
    beside: bool = False
    confined: bool = False
    read: Sequence[Path] = ()
    written: Sequence[Path] = ()
    database: str = DATABASE
    _group: Cgroup | None = field(default=None, init=False)
    _server: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @cached_property
    def _is_confined(self) -> bool:
        return self.confined and can_sandbox(self.run.user)

    @cached_property
    def dialect(self) -> Dialect:
        """How to talk to its servers."""
        return Dialect.of(known_settings(self.build))

    @property
    def host(self) -> Path:
        """The directory of its socket."""
        return self.run.sockets

    @property
    def pid(self) -> int:
        """The postmaster's process id; ClusterError if it does not run."""
        if self._server is None or self._server.poll() is not None:
            raise self.died()
        return self._postmaster(self._server)

    def _postmaster(self, server: subprocess.Popen[bytes]) -> int:
        # a hostile server may write any other id into postmaster.pid
        return next(iter(children(server.pid)), server.pid) if self._is_confined else server.pid

    @property
    def is_well(self) -> bool:
        """Whether the server runs, and did not have to begin anew after a crash."""
        runs = self._server is not None and self._server.poll() is None
        return runs and self.run.times_logged(_READY) == 1

    def check(self) -> None:
        """ClusterError if the server does not run, or had to begin anew after a crash."""
        if not self.is_well:
            raise self.died()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop(immediate=True)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(immediate=not self.keep)

    def start(self) -> None:
        """Start the server and wait until it accepts connections; ClusterError if it does not."""
        if not is_ours(self.data):
            raise ClusterError(
                f'"{self.data}" is not a cluster made by landspeed',
                detail=f'There is no file "{_MARKER}" in it.',
                hint="landspeed starts no server on data it did not make.",
            )
        self._write_settings()
        self.run.serve(self.data)
        if self.memory_limit is not None:
            self._group = self.run.limit_memory(self.memory_limit)
        program = self.build.program("postgres")
        server = finding_libraries(self.build, [*self.under, program, "-D", self.data])
        # SIGQUIT is an immediate shutdown: the whole server goes, shared memory too
        argv = guarded(server, death=signal.SIGQUIT, user=self.run.user)
        if self._is_confined:
            argv = sandboxed(
                server,
                death=signal.SIGQUIT,
                user=self.run.user,
                written=[self.run.sockets, self.data, *self.written],
                # the run directory covers what it has links to, which must be there by then
                read=[*parts_of(self.build), *self.read, self.run.path],
            )
        with self.run.log.open("wb") as log:
            self._server = subprocess.Popen(
                argv,
                env=CLEAN_ENVIRONMENT,
                cwd=self.run.path,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        if self._group is not None:
            # before it has children; of its own memory it has a page or two by now
            self._group.take(self._server.pid)
        self._wait_until_ready(self._server)

    def _write_settings(self) -> None:
        # a server that listens on no address cannot clash with another one
        sockets = str(self.run.sockets)
        settings = dict(self.settings) | {
            "listen_addresses": "",
            # a server works in its data directory
            self.dialect.socket_directory_setting: f"{sockets},." if self.beside else sockets,
            "port": str(PORT),
        }
        lines = [
            "{} = '{}'\n".format(name, value.replace("'", "''")) for name, value in settings.items()
        ]
        stock = read_untrusted(self.data / _STOCK_CONF)
        write_atomic(self.data / "postgresql.conf", stock + "".join(lines))

    def _wait_until_ready(self, server: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while not self.run.times_logged(_READY):
            if server.poll() is not None:
                raise self.died()
            if time.monotonic() > deadline:
                raise server_error(
                    f"{self.build.label} did not start in {_START_SECONDS:.0f} s", self.log_text()
                )
            time.sleep(_POLL_SECONDS)

    def stop(self, *, immediate: bool) -> None:
        """End the server: by a fast shutdown, or at once, which its data does not survive clean."""
        if self._server is None:
            return
        server, self._server = self._server, None
        signals = (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)
        own = signals[1:] if immediate else signals
        stop_process(server, own, _STOP_SECONDS, self._postmaster(server))

    @property
    def memory_kills(self) -> int:
        """How many of its processes the kernel killed because of its memory limit."""
        return self._group.kills if self._group else 0

    def connect(self, database: str = "", *, seconds: float = ANSWER_SECONDS) -> Connection:
        """Return a connection of the superuser in autocommit mode; ClusterError if there is none.

        Without a *database* it is to the one that is measured. A query takes *seconds* at most.
        """
        try:
            return connect(self.host, database=database or self.database, seconds=seconds)
        except psycopg.Error as error:
            raise self.died(str(error)) from error

    def confine(self, processors: Sequence[int]) -> None:
        """Keep the backends that are started from now on to the logical *processors*.

        A child inherits the affinity of the postmaster, which forks it: see
        sched_setaffinity(2). The background processes that are there already keep theirs.
        """
        os.sched_setaffinity(self.pid, processors)

    def cpu_seconds(self) -> float:
        """Return the CPU seconds its processes have used since it was started."""
        return cpu_seconds(self.pid)

    def log_text(self) -> str:
        """Return its log; of a long one the end."""
        return self.run.log_text()

    def died(self, seen: str = "") -> LandspeedError:
        """Return the error that says that it does not answer, with its last words."""
        return server_error(f"the server of {self.build.label} died", f"{seen}\n{self.log_text()}")

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Have a query that it does not answer in the block raise that error."""
        try:
            yield
        except NoAnswerError as error:
            message = f"the server of {self.build.label} {error}"
            raise server_error(message, self.log_text()) from error
        except psycopg.Error as error:
            raise self.died(str(error)) from error


def server_error(message: str, output: str) -> LandspeedError:
    """Return the error for a server program that failed: the last lines of *output*, a hint."""
    detail = last_lines(output)
    if is_disk_full(output):
        return disk_full(message, detail)
    hint = next((hint for text, hint in _HINTS if text in output), "")
    return ClusterError(message, detail=detail, hint=hint)
