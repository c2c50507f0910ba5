"""Make work for a process that no session waits for: changes to replay, or to send.

The changes are made on a server that is not counted. Then a counted one starts on the same data.
"""

from __future__ import annotations

import select
import struct
import time

from psycopg import pq

from base.errors import MeasureError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.server import SEED, CountedServer, written_script
from benchmarks.observation.snapshot import wal_position
from benchmarks.server.cluster import SUPERUSER, Cluster
from benchmarks.server.home import PORT
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.scenario import Scenario

STARTUP, WALSENDER = "startup", "walsender"

_SLOT = "landspeed"
"""The logical replication slot whose changes a walsender sends; the workload's session makes it."""

_SECONDS = 120.0
# XLogData and the keepalive message begin with a letter and two positions in the WAL, or one: see
# https://www.postgresql.org/docs/current/protocol-replication.html
_KEEPALIVE = struct.Struct("!cQ")


def make_changes(
    cluster: Cluster, pgbench: Pgbench, scenario: Scenario, work: Workload, executions: int
) -> tuple[str, ...]:
    """Execute *work* so often on *cluster*, and stop that: with a crash where that is replayed.

    Return pgbench's command line.
    """
    with cluster.connect(work.dataset) as connection:
        for statement in work.session:
            connection.execute(statement.encode())
    argv = pgbench.transact(
        cluster.host,
        user=SUPERUSER,
        database=work.dataset,
        scenario=scenario,
        transactions=executions,
        seed=SEED,
        script=written_script(cluster.run, work.script),
    )
    cluster.stop(immediate=work.process == STARTUP)
    return argv


def take_changes(server: CountedServer, database: str) -> None:
    """Have a walsender of *server* send all changes in *database*; MeasureError if it does not."""
    cluster = server.cluster
    with cluster.connect(database) as connection:
        ((position,),) = connection.execute(wal_position(connection).encode()).fetchall()
    high, low = (int(half, 16) for half in position.split("/"))
    where = f"host={cluster.host} port={PORT} user={SUPERUSER} dbname={database}"
    sender = pq.PGconn.connect(f"{where} replication=database".encode())
    try:
        begun = sender.exec_(f"START_REPLICATION SLOT {_SLOT} LOGICAL 0/0".encode())
        if begun.status != pq.ExecStatus.COPY_BOTH:
            raise MeasureError(
                "a walsender did not begin", detail=sender.error_message.decode().strip()
            )
        deadline = time.monotonic() + _SECONDS
        while _reached(sender, deadline) < (high << 32) + low:
            pass
        backend = sender.backend_pid
    finally:
        sender.finish()
    server.parts(backend)


def _reached(sender: pq.abc.PGconn, deadline: float) -> int:
    """Return the place in the WAL that the next message of *sender* says it has reached, or 0."""
    size, message = sender.get_copy_data(1)
    if size < 0:
        raise MeasureError("a walsender ended early", detail=sender.error_message.decode().strip())
    if size == 0:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([sender.socket], [], [], left)[0]:
            raise MeasureError(f"a walsender did not send all changes in {_SECONDS:.0f} s")
        sender.consume_input()
        return 0
    kind, reached = _KEEPALIVE.unpack_from(message)
    return reached if kind == b"k" else 0
