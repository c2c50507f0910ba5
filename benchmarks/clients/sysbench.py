"""The other client: Debian's sysbench with scripts and tables of its own.

It is there to see whether a finding depends on the client. Its numbers never meet pgbench's.
"""

from __future__ import annotations

import pwd
import re
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from base.errors import LandspeedError, last_lines
from benchmarks.clients.client import (
    GRACE_SECONDS,
    MOST_MESSAGES,
    ClientResult,
    Outcome,
    run_client,
)
from benchmarks.clients.sysbench_output import complaints, parse_report, parse_seconds
from benchmarks.machine.spawn import version_line
from benchmarks.server.endpoint import DATABASE, SUPERUSER, load_seconds
from benchmarks.server.home import PORT, ServerHome
from benchmarks.workloads.scenario import Cell, Protocol
from benchmarks.workloads.sysbench_modes import OPTIONS, ROWS_PER_SCALE, SYSBENCH, SysbenchMode

_PS_MODES = {Protocol.SIMPLE: "disable", Protocol.PREPARED: "auto"}
# Loading draws from it, so that all servers get the same rows.
_LOAD_SEED = 1
# Debian's stands beside libpq; whose server it is, is for its socket to say.
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/", "LC_ALL": "C"}
_LOST = "sysbench 1.0 dies so when a connection is lost."


def sysbench_reason(protocol: Protocol = Protocol.PREPARED) -> str | None:
    """Return why sysbench cannot use *protocol* here, and what would help; None if it can."""
    if shutil.which(SYSBENCH) is None:
        return f'{SYSBENCH} is not installed: "apt-get install {SYSBENCH}" brings it'
    if protocol not in _PS_MODES:
        return f"{SYSBENCH} sends its queries simple or prepared, not {protocol}"
    return None


def sysbench_mode(name: str) -> SysbenchMode:
    """Return the mode called *name* of this machine's sysbench; UsageError if there is none."""
    program = shutil.which(SYSBENCH)
    said = re.match(rf"{SYSBENCH} (\S+)", version_line(program)) if program else None
    return SysbenchMode(name=name, version=said[1] if said else "")


@dataclass(frozen=True)
class Sysbench:
    """sysbench as the client of a SysbenchMode; each client is one of its threads.

    It runs as the ``account``, None for us.
    """

    mode: SysbenchMode
    account: pwd.struct_passwd | None = None

    name: ClassVar[str] = SYSBENCH

    def at_home(self, home: ServerHome) -> Sysbench:
        """Return this client as the servers' user runs it."""
        return Sysbench(mode=self.mode, account=home.user)

    def facts(self, scale: int) -> dict[str, Any]:
        """Return the raw record's ``sysbench``."""
        rows = scale * ROWS_PER_SCALE
        return {"version": self.mode.version, "script": self.mode.script, "rows": rows}

    def initialise(self, host: Path, *, scale: int) -> None:
        """Make and fill its table, as large as pgbench's of *scale*; MeasureError if that fails."""
        argv = [*self._base(host, DATABASE, scale), f"--rand-seed={_LOAD_SEED}", "prepare"]
        done = self._run(argv, cwd=host.parent, timeout=load_seconds(scale))
        if done.status != 0:
            raise _failed(f"{SYSBENCH} could not load scale {scale}", done)

    def run(
        self,
        host: Path,
        *,
        database: str,
        cell: Cell,
        cores: int,  # noqa: ARG002  its threads are its clients
        seconds: int,
        seed: int,
        scratch: Path,
        statements: bool = False,  # noqa: ARG002  it tells of no statement
        processors: Sequence[int] = (),
    ) -> Outcome:
        """Run *cell* for *seconds* on the server at *host*; MeasureError if it does not end well.

        It is kept on the logical *processors*, if any are given.
        """
        argv = [
            *self._base(host, database, cell.scenario.scale),
            f"--db-ps-mode={_PS_MODES[cell.scenario.protocol]}",
            # 0 would be the time of day
            *(f"--rand-seed={max(1, seed)}", f"--threads={cell.clients}", f"--time={seconds}"),
            *("--report-interval=1", "--percentile=99", "--histogram=on", "run"),
        ]
        timeout = seconds + GRACE_SECONDS
        done = self._run(argv, cwd=scratch, timeout=timeout, processors=processors)
        if done.status != 0:
            raise _failed(f"{SYSBENCH} was aborted", done)
        return Outcome(
            argv=tuple(argv),
            sample=parse_report(done.stdout, clients=cell.clients),
            series=parse_seconds(done.stdout),
            stderr=last_lines(_messages(done), MOST_MESSAGES),
            cpu_seconds=done.cpu_seconds,
        )

    def _base(self, host: Path, database: str, scale: int) -> list[str]:
        return [
            shutil.which(SYSBENCH) or SYSBENCH,
            self.mode.script,
            "--db-driver=pgsql",
            f"--pgsql-host={host}",
            f"--pgsql-port={PORT}",
            f"--pgsql-user={SUPERUSER}",
            f"--pgsql-db={database}",
            *OPTIONS,
            f"--table-size={scale * ROWS_PER_SCALE}",
        ]

    def _run(
        self, argv: list[str], *, cwd: Path, timeout: float, processors: Sequence[int] = ()
    ) -> ClientResult:
        return run_client(
            argv,
            environment=_ENVIRONMENT,
            account=self.account,
            cwd=cwd,
            timeout=timeout,
            processors=processors,
        )


def _messages(done: ClientResult) -> str:
    return "\n".join(filter(None, (complaints(done.stdout), done.stderr.strip())))


def _failed(message: str, done: ClientResult) -> LandspeedError:
    said = _messages(done)
    # https://github.com/akopytov/sysbench/issues/391
    if done.status == -signal.SIGSEGV:
        said = f"{said}\n{_LOST}".strip()
    return done.failed(message, said)
