"""A server that lets everybody in and never answers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest

from base.build import Origin
from base.errors import ClusterError
from benchmarks.server.cluster import Cluster
from benchmarks.server.connection import NoAnswerError, connect
from benchmarks.server.home import PORT, RunDirectory
from tests.kits.made_up.stand_ins import made_up_build

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


def test_it_is_an_error_after_the_time_that_a_query_may_take(
    silent: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        pytest.raises(NoAnswerError, match=r"^did not answer a query in 0\.1 s$"),
        connect(silent, database="d", seconds=0.1) as connection,
    ):
        connection.execute("SELECT 1")
    assert connection.closed
    assert not caplog.records


def test_what_psycopg_limits_itself_keeps_its_limit(silent: Path) -> None:
    with connect(silent, database="d") as connection:
        assert list(connection.notifies(timeout=0.1)) == []


def test_the_server_is_not_said_to_have_died_and_its_log_is_shown(
    silent: Path, tmp_path: Path
) -> None:
    run = RunDirectory(path=tmp_path, sockets=silent, user=None)
    run.log.write_text("LOG:  it thinks\n")
    build = made_up_build("18.1-bs8", Origin(release="18.1", commit=None, tree="a" * 40, date=""))
    cluster = Cluster(build=build, data=tmp_path, run=run, settings={}, keep=False)
    with (
        pytest.raises(ClusterError, match=r"the server of 18\.1 bs8 did not answer") as caught,
        cluster.answering(),
        cluster.connect(seconds=0.1) as connection,
    ):
        connection.execute("SELECT 1")
    assert caught.value.detail == "LOG:  it thinks"
