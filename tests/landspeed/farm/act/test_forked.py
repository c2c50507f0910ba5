"""The stand-in for starting a program: it ends as the program does, and with it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from benchmarks.machine.processes import children
from tests.kits.builds.buildkit import alive, eventually
from tests.kits.farm.forked import forked

pytestmark = pytest.mark.slow


def main() -> None:
    """What is forked here: it prints its process and its parent's, and waits or ends as told."""
    _, end = sys.argv
    print(os.getpid(), os.getppid(), flush=True)
    if end == "wait":
        time.sleep(900)
    sys.exit(int(end))


@pytest.fixture(scope="module")
def command() -> Iterator[list[str]]:
    with forked(__name__) as made:
        yield made


def server_of(command: list[str], code: int = 0) -> int:
    """The process that forked *command*, which ends with *code*."""
    done = subprocess.run([*command, str(code)], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == code
    _, parent = done.stdout.split()
    return int(parent)


def test_one_process_forks_each_and_tells_how_it_ended(command):
    assert server_of(command) == server_of(command, code=3) != os.getpid()


def test_a_client_that_is_killed_takes_its_program_along(command):
    with subprocess.Popen([*command, "wait"], stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        program, parent = map(int, client.stdout.readline().split())
        client.kill()
    eventually(lambda: not alive(program), "the end of the program")
    assert server_of(command) == parent


@pytest.mark.parametrize("said", [b"", (9).to_bytes(8, "big") + b"/tmp"])
def test_a_client_that_ends_before_it_has_asked_is_no_program(said, capfd):
    with forked(__name__) as command:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(command[-1])
            client.sendall(said)
            server = server_of(command)
            assert len(children(server)) == 1, "others are not served while it is waited for"
        eventually(lambda: not children(server), "the end of what was forked for it")
    assert capfd.readouterr().err == ""
