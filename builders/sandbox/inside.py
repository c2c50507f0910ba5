"""The worker: a program that runs one build step after another, on the host or in a container.

It reads one request a line from stdin, in JSON, and answers each with one line on stdout. When
stdin ends, because landspeed is done or was killed, the worker kills the rest of its session and
ends. A process group is too small for that: ninja gives every compiler a group of its own.

Run with the name of a compiler it instead prints the versions of the programs that build, and with
further arguments also what the compiler says on stderr when it is given them.
Standard library only, and no newer than Python 3.9: it also runs on the Python of an image.
"""

from __future__ import annotations

import json
import os
import platform
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

_PROC = Path("/proc")
_PAUSES_SECONDS = (0.005, 0.1)


def serve() -> None:
    """Answer requests until there are no more, then end every other process of this session."""
    for line in iter(sys.stdin.readline, ""):
        print(json.dumps(_done(json.loads(line))), flush=True)
    end(os.getsid(0))


def _done(request: dict[str, Any]) -> dict[str, Any]:
    killed = memory_kills(request["counters"])
    with Path(request["log"]).open("ab") as log:
        try:
            process = subprocess.Popen(
                request["argv"],
                cwd=request["directory"],
                env=request["environment"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # locks and the pipe of a job server
                close_fds=False,
            )
        except OSError as error:
            log.write(f"{error}\n".encode())
            return {"code": 127, "seconds": 0.0, "memory_kills": 0}
    code, seconds = _wait(process)
    kills = memory_kills(request["counters"]) - killed
    return {"code": code, "seconds": seconds, "memory_kills": kills}


def _wait(process: subprocess.Popen[bytes]) -> tuple[int, float]:
    pause = _PAUSES_SECONDS[0]
    while True:
        # the usage covers the process and everything it waited for
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime
        # nobody sends a second request before the first is answered: this can only be the end
        if select.select([sys.stdin], [], [], pause)[0]:
            end(os.getsid(0))
            os._exit(1)
        pause = min(pause * 2, _PAUSES_SECONDS[1])


def members(session: int) -> list[int]:
    """Return the running processes of *session*, without this one and without zombies."""
    found = []
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError, ValueError):
            # the command may hold spaces and brackets: fields count from its last ")",
            # see proc_pid_stat(5)
            state, _, _, its, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            if state not in "ZX" and int(its) == session:
                found.append(int(entry.name))
    return [pid for pid in found if pid != os.getpid()]


def end(session: int) -> None:
    """Kill every other process of *session*, again until none is left: they may fork meanwhile."""
    while processes := members(session):
        for pid in processes:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSES_SECONDS[0])


def memory_kills(counters: Sequence[str]) -> int:
    """Return how many processes the kernel killed for memory, by the first readable counter file.

    0 where none of *counters* can be read: see proc_vmstat(5) and memory.events of cgroups(7).
    """
    for counter in counters:
        with suppress(OSError):
            lines = Path(counter).read_text().splitlines()
            return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return 0


def facts(
    compiler: str, question: Sequence[str], environment: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the versions of the programs that build; ``native`` is the answer to *question*."""

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(argv, capture_output=True, text=True, check=True, env=environment)

    def first_line(program: str) -> str:
        return run(program, "--version").stdout.splitlines()[0].strip()

    found = {
        "cc": first_line(compiler),
        "ld": first_line("ld"),
        "bison": first_line("bison"),
        "flex": first_line("flex"),
        "libc": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
    }
    if question:
        found["native"] = run(compiler, *question).stderr
    return found


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(facts(sys.argv[1], sys.argv[2:])))
    else:
        serve()
