"""The relay between pgbench and a server: whom it names, and when it passes a message on."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.counted.relay import Relay
from tests.kits.servers.cluster_kit import wait_for

AUTHENTICATED = b"R" + struct.pack("!II", 8, 0)
STATUS = b"S" + struct.pack("!I", 4 + 9) + b"a\0value7\0"


def key_data(pid: int, secret: bytes = b"key!") -> bytes:
    # the secret is of 4 bytes up to protocol 3.0 and longer in 3.2
    return b"K" + struct.pack("!Ii", 8 + len(secret), pid) + secret


@pytest.fixture
def server(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "there"))
        listener.listen()
        listener.settimeout(20)
        yield listener


@pytest.fixture
def relay(tmp_path: Path, server: socket.socket) -> Iterator[Relay]:
    with Relay(here=tmp_path / "here", there=tmp_path / "there") as running:
        yield running


def connected(relay: Relay, server: socket.socket) -> tuple[socket.socket, socket.socket]:
    client = socket.socket(socket.AF_UNIX)
    client.connect(str(relay.here))
    backend, _ = server.accept()
    for end in (client, backend):
        end.settimeout(20)
    return client, backend


def received(end: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += end.recv(size - len(data))
    return data


def backend_process(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code])


def test_bytes_pass_as_they_are_and_backends_are_named_in_their_order(
    relay: Relay, server: socket.socket
):
    asleep = [backend_process("import time; time.sleep(60)") for _ in range(2)]
    try:
        for process, secret in zip(asleep, (b"key!", b"a longer secret"), strict=True):
            client, backend = connected(relay, server)
            client.sendall(b"startup")
            assert backend.recv(100) == b"startup"
            # a message in pieces is still one message
            greeting = AUTHENTICATED + STATUS + key_data(process.pid, secret)
            backend.sendall(greeting[:12])
            time.sleep(0.01)
            backend.sendall(greeting[12:])
            assert received(client, len(greeting)) == greeting
            client.sendall(b"query")
            assert backend.recv(100) == b"query"
            client.close()
            assert backend.recv(100) == b""
    finally:
        for process in asleep:
            process.kill()
            process.wait()
    assert relay.backends == [process.pid for process in asleep]


def test_a_message_waits_until_the_backend_sleeps(relay: Relay, server: socket.socket):
    # it spins until it is told to sleep
    process = backend_process(
        "import signal, time\n"
        "told = []\n"
        "signal.signal(signal.SIGUSR1, lambda *_: told.append(1))\n"
        "while not told: pass\n"
        "time.sleep(60)\n"
    )
    try:
        client, backend = connected(relay, server)
        wait_for(lambda: _is_spinning(process.pid))
        backend.sendall(AUTHENTICATED + key_data(process.pid))
        assert client.recv(100)
        client.sendall(b"query")
        backend.setblocking(False)
        time.sleep(0.2)
        with pytest.raises(BlockingIOError):
            backend.recv(100)
        backend.settimeout(20)
        os.kill(process.pid, signal.SIGUSR1)
        assert backend.recv(100) == b"query"
    finally:
        process.kill()
        process.wait()


def _is_spinning(pid: int) -> bool:
    # it has its handler, see SigCgt in proc_pid_status(5), and has used CPU since
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return bool(int(caught.split()[1], 16) & (1 << (signal.SIGUSR1 - 1)))


def test_a_server_that_does_not_answer_closes_the_clients_connection(tmp_path: Path):
    with Relay(here=tmp_path / "here", there=tmp_path / "nobody") as running:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(20)
        client.connect(str(running.here))
        assert client.recv(10) == b""
        client.close()
    assert not (tmp_path / "here").exists()


def test_a_client_that_only_looks_is_greeted(tmp_path: Path, server: socket.socket):
    with Relay(here=tmp_path / "here", there=tmp_path / "there", greeted=1) as running:
        with socket.socket(socket.AF_UNIX) as looks:
            looks.settimeout(20)
            looks.connect(str(running.here))
            looks.sendall(b"startup")
            ready = b"Z" + struct.pack("!I", 5) + b"I"
            assert received(looks, len(AUTHENTICATED + ready)) == AUTHENTICATED + ready
            looks.sendall(b"X" + struct.pack("!I", 4))
        client, backend = connected(running, server)
        client.sendall(b"startup of the next")
        assert backend.recv(100) == b"startup of the next"
        for end in (client, backend):
            end.close()
    assert running.backends == []
