"""A server that lets everybody in and never answers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import psycopg
import pytest

from benchmarks.server.connection import connect
from benchmarks.server.endpoint import load_seconds
from benchmarks.server.home import PORT

# the server's messages of the protocol: AuthenticationOk, ReadyForQuery (idle)
_WELCOME = b"R\0\0\0\x08\0\0\0\0" + b"Z\0\0\0\x05I"


@pytest.fixture
def silent() -> Iterator[Path]:
    """The directory of its socket."""

    def serve() -> None:
        with listener.accept()[0] as client:
            client.recv(8192)
            client.sendall(_WELCOME)
            while client.recv(8192):
                pass

    # a socket's path may have 107 bytes only
    with TemporaryDirectory() as here, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{here}/.s.PGSQL.{PORT}")
        listener.listen()
        server = Thread(target=serve)
        server.start()
        yield Path(here)
        server.join()


def test_it_is_an_error_after_the_time_that_a_query_may_take(silent: Path) -> None:
    with (
        pytest.raises(psycopg.OperationalError, match="timeout"),
        connect(silent, database="d", seconds=0.1) as connection,
    ):
        connection.execute("SELECT 1")


def test_what_psycopg_limits_itself_keeps_its_limit(silent: Path) -> None:
    with connect(silent, database="d") as connection:
        assert list(connection.notifies(timeout=0.1)) == []


def test_loading_more_data_may_take_longer() -> None:
    assert load_seconds(1_000) - load_seconds(1) == 9_990
