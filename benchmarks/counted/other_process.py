"""Make work for a process that no session waits for: changes to replay, or to send.

The changes are made on a server that is not counted. Then a counted one starts on the same data.
"""

from __future__ import annotations

import select
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo

from base.errors import MeasureError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.server import CountedServer, execute
from benchmarks.observation.snapshot import wal_position
from benchmarks.server.cluster import Cluster
from benchmarks.server.endpoint import SUPERUSER
from benchmarks.server.home import PORT
from benchmarks.workloads.catalog import STARTUP, Workload
from benchmarks.workloads.scenario import Scenario

_SLOT = "landspeed"
"""The logical replication slot whose changes a walsender sends; the workload's session makes it."""

_SECONDS = 120.0
# XLogData and the keepalive message begin with a letter and two positions in the WAL, or one: see
# https://www.postgresql.org/docs/current/protocol-replication.html
_KEEPALIVE = struct.Struct("!cQ")


def make_changes(
    cluster: Cluster, pgbench: Pgbench, scenario: Scenario, work: Workload, executions: int
) -> tuple[str, ...]:
    """Run *work* so many times on *cluster*, and stop that: with a crash where that is replayed.

    Return pgbench's command line. MeasureError if a statement fails.
    """
    with _talking(f"could not begin {work.name}"), cluster.connect(work.dataset) as connection:
        for statement in work.session:
            connection.execute(statement.encode())
    argv = execute(pgbench, scenario, work, executions, host=cluster.host, run=cluster.run)
    cluster.stop(immediate=work.process == STARTUP)
    return argv


def take_changes(server: CountedServer, database: str) -> None:
    """Have a walsender of *server* send all changes in *database*; MeasureError if it does not."""
    cluster = server.cluster
    where = make_conninfo(
        host=str(cluster.host),
        port=PORT,
        user=SUPERUSER,
        dbname=database,
        connect_timeout=30,
        replication="database",
    )
    with _talking("a walsender did not send all changes"):
        with cluster.connect(database) as connection:
            ((position,),) = connection.execute(wal_position(connection).encode()).fetchall()
        high, low = (int(half, 16) for half in position.split("/"))
        sender = pq.PGconn.connect(where.encode())
        try:
            begun = sender.exec_(f"START_REPLICATION SLOT {_SLOT} LOGICAL 0/0".encode())
            if begun.status != pq.ExecStatus.COPY_BOTH:
                raise psycopg.OperationalError(sender.error_message.decode())
            deadline = time.monotonic() + _SECONDS
            while _reached(sender, deadline) < (high << 32) + low:
                pass
            backend = sender.backend_pid
        finally:
            sender.finish()
    server.parts(backend)


def _reached(sender: pq.abc.PGconn, deadline: float) -> int:
    """Return the place in the WAL that the next message of *sender* says it has reached, or 0."""
    left = deadline - time.monotonic()
    size, message = sender.get_copy_data(1)
    if left <= 0 or size < 0:
        raise psycopg.OperationalError(sender.error_message.decode() or f"{_SECONDS:.0f} s passed")
    if size == 0:
        select.select([sender.socket], [], [], left)
        sender.consume_input()
        return 0
    kind, reached = _KEEPALIVE.unpack_from(message)
    return reached if kind == b"k" else 0


@contextmanager
def _talking(failure: str) -> Iterator[None]:
    """Turn what goes wrong with a server, which may say anything, into a MeasureError."""
    try:
        yield
    except (psycopg.Error, struct.error, ValueError) as error:
        raise MeasureError(failure, detail=str(error).strip()) from error
