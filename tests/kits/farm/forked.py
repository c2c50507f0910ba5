"""A program that is forked, not started: a verb of landspeed spends most of its time on imports.

``forked(MODULE)`` serves MODULE's ``main`` on a socket from one process that has imported it; the
command it yields is a small client that hands over its arguments, environment, directory, stdin,
stdout and stderr, and ends as the program does. Kill the client and the program is killed.
"""

from __future__ import annotations

import importlib
import os
import select
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(address)
        here.listen(64)
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how those ended that serve one
        while True:
            ready, _, _ = select.select([here, sys.stdin], [], [])
            if sys.stdin in ready:
                return
            there, _ = here.accept()
            if os.fork() == 0:
                here.close()
                os._exit(_answer(main, there))
            there.close()


def _answer(main: Callable[[], None], there: socket.socket) -> int:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, files, _, _ = socket.recv_fds(there, 8, 3)
    size, told = int.from_bytes(head, "big"), b""
    while len(told) < size:
        part = there.recv(size - len(told))
        if not part:
            return 1  # the client was killed before it had said what it wants
        told += part
    directory, count, *words = told.decode(errors="surrogateescape").split("\0")
    program = os.fork()
    if program == 0:
        there.close()
        _become(files, directory, words[: int(count)], words[int(count) :])
        os._exit(_ended(main))
    ended = os.pidfd_open(program)
    ready, _, _ = select.select([ended, there], [], [])
    if there in ready:  # the client says no more: it is gone
        os.kill(program, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    if there not in ready:
        there.sendall(str(code).encode())
    return 0


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
