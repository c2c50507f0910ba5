"""The first process of a Container: does one build step after another, as it is asked.

It reads one request a line from stdin, in JSON, and answers each with one line on stdout. When
stdin ends, because landspeed is done or because it died, however it died, this process ends;
and with the first process of a container the kernel ends all others in it.

Run with the name of a compiler it prints instead what compiles here, and with arguments for
it as well also what the compiler says on stderr when it is given them.
Standard library only, and no newer than Python 3.9: it runs on the image's own Python.
"""

from __future__ import annotations

import json
import os
import platform
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

_PAUSES_SECONDS = (0.005, 0.1)
# cgroup v2 and v1: how many processes of this container were killed for memory
_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")


def serve() -> None:
    """Answer requests until there are no more."""
    for line in iter(sys.stdin.readline, ""):
        print(json.dumps(_done(json.loads(line))), flush=True)


def _done(request: dict[str, Any]) -> dict[str, Any]:
    killed = _memory_kills()
    with Path(request["log"]).open("ab") as log:
        try:
            process = subprocess.Popen(
                request["argv"],
                cwd=request["directory"],
                env=request["environment"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            log.write(f"{error}\n".encode())
            return {"code": 127, "seconds": 0.0, "memory_kills": 0}
    code, seconds = _wait(process)
    return {"code": code, "seconds": seconds, "memory_kills": _memory_kills() - killed}


def _wait(process: subprocess.Popen[bytes]) -> tuple[int, float]:
    pause = _PAUSES_SECONDS[0]
    while True:
        # its usage covers the process and all it waited for
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime
        # nobody asks for a second step before the first is answered: this can only be the end
        if select.select([sys.stdin], [], [], pause)[0]:
            os._exit(1)
        pause = min(pause * 2, _PAUSES_SECONDS[1])


def _memory_kills() -> int:
    for counter in _COUNTERS:
        try:
            lines = Path(counter).read_text().splitlines()
        except OSError:
            continue
        return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return 0


def facts(compiler: str, question: list[str]) -> dict[str, str]:
    """What compiles here; the same keys that the Host has, and what it says to *question*."""

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(argv, capture_output=True, text=True, check=True)

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
