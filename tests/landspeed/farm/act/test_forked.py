"""The stand-in for starting a program: it ends as the program does, and with it."""

from __future__ import annotations

import socket
import struct
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
    """What is forked here: it says its first argument, and waits or ends with that code."""
    _, word = sys.argv
    print(word, flush=True)
    if word == "wait":
        time.sleep(900)
    sys.exit(int(word))


@pytest.fixture(scope="module")
def command() -> Iterator[list[str]]:
    with forked(__name__) as made:
        yield made


def server(command: list[str]) -> int:
    """The process that serves *command*: the one that listens at its address (unix(7))."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(command[-1])
        credentials = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 3 * 4)
    pid, _, _ = struct.unpack("3i", credentials)
    eventually(lambda: not children(pid), "the end of what was forked for us")
    return pid


def test_it_prints_and_ends_as_the_program_does(command):
    for code in (0, 3):
        done = subprocess.run([*command, str(code)], capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode) == (f"{code}\n", code)


def test_a_client_that_is_killed_takes_its_program_along(command):
    serving = server(command)
    with subprocess.Popen([*command, "wait"], stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "wait\n"
        (program,) = children(serving)
        client.kill()
    eventually(lambda: not alive(program), "the end of the program")
    test_it_prints_and_ends_as_the_program_does(command)


def test_a_client_that_says_nothing_is_no_program_and_others_are_served(command):
    serving = server(command)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(command[-1])
    test_it_prints_and_ends_as_the_program_does(command)
    eventually(lambda: not children(serving), "the end of what was forked for it")
