"""A connection pooler before the server: Debian's pgbouncer, on a private socket."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.errors import MeasureError, last_lines
from base.files import read_text, storage_errors
from benchmarks.machine.spawn import guarded, stop_process, version_line
from benchmarks.server.endpoint import DATABASE, SUPERUSER
from benchmarks.server.home import PORT, RunDirectory

PGBOUNCER = "pgbouncer"
POOLERS = (PGBOUNCER,)
MOST_CLIENTS = 2000
"""The clients that a pooler accepts: its own limit, not the server's."""

# Connections to the server for each core: about as many can work at once.
_CONNECTIONS_A_CORE = 2
_FEWEST = 4
_READY_SECONDS = 20.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.005
_DIRECTORY = "p"
# Debian puts it where only root's PATH looks.
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# auth_type any: whoever reaches the socket, in a directory of the server's user alone, is let in.
_INI = """[databases]
{database} = host='{host}' port={port} dbname={database} user={user}
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {sockets}
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = {clients}
ignore_startup_parameters = extra_float_digits
log_connections = 0
log_disconnections = 0
server_reset_query =
"""


@dataclass(frozen=True, kw_only=True)
class Pooler:
    """A running pgbouncer, as recorded; transactions share ``pool_size`` connections.

    ``host`` is the directory of its socket.
    """

    host: Path
    version: str
    pool_size: int

    def facts(self) -> dict[str, Any]:
        """Return what the raw record says of it."""
        return {
            "name": PGBOUNCER,
            "pool_mode": "transaction",
            "version": self.version,
            "pool_size": self.pool_size,
        }


def pooler_reason() -> str | None:
    """Return why there is no pooler on this machine, and what would bring it; None if there is."""
    if shutil.which(PGBOUNCER, path=_PATH) is None:
        return f'{PGBOUNCER} is not installed: "apt-get install {PGBOUNCER}" brings it'
    return None


@contextmanager
def pooling(run: RunDirectory, *, cores: int, max_connections: int) -> Iterator[Pooler]:
    """Yield a pooler before the server of *run*; MeasureError if it does not start.

    Its pool is 2 connections a core, at least 4, and never more than the server takes.
    """
    reason = pooler_reason()
    if reason:
        raise MeasureError("there is no connection pooler", detail=reason)
    size = max(1, min(max(_FEWEST, _CONNECTIONS_A_CORE * cores), max_connections - 5))
    sockets, ini, log = run.sockets / _DIRECTORY, run.path / "pooler.ini", run.path / "pooler.log"
    with storage_errors(f'create "{sockets}"', sockets):
        run.own(sockets)
        ini.write_text(
            _INI.format(
                database=DATABASE,
                host=str(run.sockets).replace("'", "''"),
                port=PORT,
                user=SUPERUSER,
                sockets=sockets,
                size=size,
                clients=MOST_CLIENTS,
            )
        )
        ini.chmod(0o644)
    with log.open("wb") as output:
        process = subprocess.Popen(
            guarded([_program(), str(ini)], death=signal.SIGKILL, user=run.user),
            env={"PATH": _PATH, "HOME": "/", "LC_ALL": "C"},
            cwd=run.path,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        _wait_until_ready(process, sockets / f".s.PGSQL.{PORT}", log)
        yield Pooler(host=sockets, version=_version(), pool_size=size)
    finally:
        stop_process(process, (signal.SIGINT, signal.SIGKILL), _STOP_SECONDS)


def _wait_until_ready(process: subprocess.Popen[bytes], socket: Path, log: Path) -> None:
    deadline = time.monotonic() + _READY_SECONDS
    while not socket.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise MeasureError(f"{PGBOUNCER} did not start", detail=last_lines(read_text(log)))
        time.sleep(_POLL_SECONDS)


def _version() -> str:
    words = version_line(_program()).split()
    return words[1] if len(words) > 1 else ""


def _program() -> str:
    return shutil.which(PGBOUNCER, path=_PATH) or PGBOUNCER
