"""A program that is forked, not started: a verb of landspeed spends most of its time on imports.

``forked(MODULE)`` serves MODULE's ``main`` on a socket from one process that has imported it; the
command it yields is a small client that hands over its arguments, environment, directory, stdin,
stdout and stderr, and ends as the program does. Kill the client and the program is killed.
"""

from __future__ import annotations

import gc
import importlib
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.kits.verbs import every_verb

CHECKOUT = Path(__file__).resolve().parents[3]
# A lock that another thread holds while a process is forked is never released in the child. These
# keep pyarrow's allocator and numpy's linear algebra from starting threads when they are imported.
NO_THREADS = {"JE_ARROW_MALLOC_CONF": "background_thread:false", "OPENBLAS_NUM_THREADS": "1"}
CLIENT = """
import os, socket, sys
with socket.socket(socket.AF_UNIX) as there:
    there.connect(sys.argv[1])
    words = [os.getcwd(), str(len(sys.argv) - 2), *sys.argv[2:]]
    words += [f"{k}={v}" for k, v in os.environ.items()]
    told = "\\0".join(words).encode(errors="surrogateescape")
    socket.send_fds(there, [len(told).to_bytes(8, "big")], [0, 1, 2])
    there.sendall(told)
    code = int(there.recv(16) or b"70")
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


@contextmanager
def forked(module: str) -> Iterator[list[str]]:
    """The command that is ``main`` of *module*, while it is served."""
    with TemporaryDirectory(prefix="landspeed-forked-") as directory:
        client, address = Path(directory) / "client.py", f"{directory}/socket"
        client.write_text(CLIENT)
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.kits.farm.forked", module, address],
            cwd=CHECKOUT,
            env=os.environ | NO_THREADS,
            stdin=subprocess.PIPE,  # ends with us, however we end
            stdout=subprocess.PIPE,
        )
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n", f"{module} could not be served"
        try:
            yield [sys.executable, "-I", "-S", str(client), address]
        finally:
            server.kill()
            server.wait()


def serve(main: Callable[[], None], address: str) -> None:
    """Serve *main* at *address* until we are killed, or who started us is gone."""
    threads = [Path(task, "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
    assert len(threads) == 1, f"a process with threads is not forked: {', '.join(threads)}"
    gc.freeze()  # what is never looked at again stays shared with those that are forked
    programs: dict[int, _Program] = {}
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(address)
        here.listen(64)
        print("ready", flush=True)
        poll = select.poll()
        poll.register(sys.stdin, select.POLLIN)
        poll.register(here, select.POLLIN)
        while True:
            for ready, _ in poll.poll():
                if ready == sys.stdin.fileno():
                    return
                if ready == here.fileno():
                    program = _started(main, here)
                    poll.register(program.end, select.POLLIN)
                    # told of its end alone: what the client sends is for the program
                    poll.register(program.client, 0)
                    programs |= {program.end: program, program.client.fileno(): program}
                elif program := programs.get(ready):
                    if ready != program.end:
                        os.kill(program.pid, signal.SIGKILL)
                    for number in (program.end, program.client.fileno()):
                        poll.unregister(number)
                        del programs[number]
                    program.finish()


@dataclass(frozen=True, kw_only=True)
class _Program:
    """A program that was forked for ``client``; ``end`` is the descriptor that tells its end."""

    pid: int
    end: int
    client: socket.socket

    def finish(self) -> None:
        """Wait for its end and tell the client, if that is still there."""
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        with self.client, suppress(OSError):
            self.client.sendall(str(code).encode())
        os.close(self.end)


def _started(main: Callable[[], None], here: socket.socket) -> _Program:
    client, _ = here.accept()
    pid = os.fork()
    if pid == 0:
        here.close()
        os._exit(_answer(main, client))
    return _Program(pid=pid, end=os.pidfd_open(pid), client=client)


def _answer(main: Callable[[], None], client: socket.socket) -> int:
    head, files, _, _ = socket.recv_fds(client, 8, 3)
    size, told = int.from_bytes(head, "big"), b""
    while len(told) < size and (part := client.recv(size - len(told))):
        told += part
    client.close()
    if not head or len(told) < size:
        return 1  # the client ended before it had said what it wants
    directory, count, *words = told.decode(errors="surrogateescape").split("\0")
    _become(files, directory, words[: int(count)], words[int(count) :])
    return _ended(main)


def _become(files: list[int], directory: str, arguments: list[str], environment: list[str]) -> None:
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(one.split("=", 1) for one in environment)
    sys.argv = ["landspeed", *arguments]


def _ended(main: Callable[[], None]) -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 70
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    every_verb()  # what they import is there before anything is forked
    serve(importlib.import_module(sys.argv[1]).main, sys.argv[2])
