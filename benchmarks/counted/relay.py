"""A relay between pgbench and a server, so that a backend always waits for its client.

A backend that looks for the next message finds it, or does not and goes to sleep: from 9.6 on
that costs it some two hundred instructions more. Which of the two happens is a race between
client and server, decided by the machine's load: without a relay it moved the count of a
read-only transaction by up to 0.4 %. A real server mostly waits for its clients, so that is the
case that is made sure of.
"""

from __future__ import annotations

import re
import selectors
import socket
import struct
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from benchmarks.machine.processes import Process

_CHUNK = 1 << 16
_POLL_SECONDS = 20e-6
_TICK_SECONDS = 0.2
_PATIENCE_SECONDS = 60.0
_KEY_DATA = b"K"
_HEADER = struct.Struct("!cI")
# AuthenticationOk and ReadyForQuery
_WELCOME = b"R" + struct.pack("!II", 8, 0) + b"Z" + struct.pack("!I", 5) + b"I"
# A row of two columns, the first of which begins with a place in the WAL and has fewer than 256
# bytes. See DataRow in the protocol's formats.
_MARKED = re.compile(rb"D.{4}\x00\x02\x00{3}(.)([0-9A-F]+/[0-9A-F]+[ \d]*)\x00{3}.\d", re.DOTALL)


@dataclass(kw_only=True)
class _Conversation:
    """One client's connection and the server's end of it."""

    client: socket.socket
    server: socket.socket
    backend: int | None = None
    _head: bytes = b""

    def listen(self, data: bytes) -> int | None:
        """Look for BackendKeyData in the server's first messages; the backend's id once there.

        Its first number is the process id in every version of the protocol, see
        https://www.postgresql.org/docs/current/protocol-message-formats.html.
        """
        self._head += data
        while len(self._head) >= _HEADER.size:
            kind, length = _HEADER.unpack_from(self._head)
            if len(self._head) < 1 + length:
                return None
            if kind == _KEY_DATA:
                self.backend = struct.unpack_from("!i", self._head, _HEADER.size)[0]
                return self.backend
            self._head = self._head[1 + length :]
        return None


@dataclass(kw_only=True)
class Relay:
    """Forwards each message to a backend only while that sleeps; no byte is changed.

    It listens at *here* and speaks to the server's socket *there*. The first ``greeted`` clients
    are let in and not passed on: pgbench's first connection asks nothing, and a backend under
    valgrind takes 0.2 CPU seconds to start. ``backends`` are the process ids that served it, in
    their order; ``answers`` are what marks answered, see ``mark_in``.
    """

    here: Path
    there: Path
    greeted: int = 0
    backends: list[int] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _held: ExitStack = field(default_factory=ExitStack)

    @property
    def host(self) -> Path:
        """The directory of its socket."""
        return self.here.parent

    def __enter__(self) -> Self:
        listener = self._held.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(self.here))
        listener.listen()
        self._thread = threading.Thread(target=self._serve, args=(listener,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._held.close()
        self.here.unlink(missing_ok=True)

    def _serve(self, listener: socket.socket) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ)
            while not self._stop.is_set():
                for key, _ in selector.select(_TICK_SECONDS):
                    # whichever end is gone, the other sees its connection closed
                    with suppress(OSError):
                        if key.fileobj is listener:
                            self._begin(listener, selector)
                        elif not self._pass_on(key.fileobj, key.data):
                            self._end(key.data, selector)

    def _begin(self, listener: socket.socket, selector: selectors.BaseSelector) -> None:
        client, _ = listener.accept()
        if self.greeted:
            self.greeted -= 1
            self._held.callback(client.close)
            client.settimeout(_PATIENCE_SECONDS)
            client.recv(_CHUNK)
            client.sendall(_WELCOME)
            return
        server = socket.socket(socket.AF_UNIX)
        talk = _Conversation(client=client, server=server)
        for end in (client, server):
            self._held.callback(end.close)
        try:
            server.connect(str(self.there))
        except OSError:
            client.close()
            return
        for end in (client, server):
            selector.register(end, selectors.EVENT_READ, talk)

    def _pass_on(self, end: object, talk: _Conversation) -> bool:
        """Pass on what *end* of *talk* said; False where there is nothing more to come."""
        if end is talk.server:
            data = _received(talk.server)
            if talk.backend is None and talk.listen(data) is not None and talk.backend:
                self.backends.append(talk.backend)
            elif answer := mark_in(data):
                self.answers.append(answer)
            return _sent(talk.client, data)
        data = _received(talk.client)
        if data and talk.backend is not None:
            _wait_until_asleep(talk.backend)
        return _sent(talk.server, data)

    def _end(self, talk: _Conversation, selector: selectors.BaseSelector) -> None:
        for end in (talk.client, talk.server):
            with suppress(KeyError, ValueError):
                selector.unregister(end)
            end.close()


def mark_in(data: bytes) -> str | None:
    """Return what a mark in *data* answered, a place in the WAL first; None if there is none."""
    marked = _MARKED.search(data)
    return marked[2].decode() if marked else None


def _received(end: socket.socket) -> bytes:
    try:
        return end.recv(_CHUNK)
    except OSError:
        return b""


def _sent(end: socket.socket, data: bytes) -> bool:
    with suppress(OSError):
        end.sendall(data)
        return bool(data)
    return False


def _wait_until_asleep(pid: int) -> None:
    """Wait until process *pid* sleeps; one that is gone needs no waiting for."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < deadline:
        process = Process.read(pid)
        if process is None or process.state in "SZX":
            return
        time.sleep(_POLL_SECONDS)
