"""The one client: pgbench of one version, run against servers of every version."""

from __future__ import annotations

import pwd
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import ClassVar

from base.build import Build
from base.errors import LandspeedError, UsageError, last_lines
from base.files import write_atomic
from benchmarks.clients.client import (
    GRACE_SECONDS,
    MOST_MESSAGES,
    ClientResult,
    Outcome,
    run_client,
)
from benchmarks.clients.pgbench_output import (
    parse_log,
    parse_progress,
    parse_statements,
    parse_summary,
)
from benchmarks.machine.spawn import CLEAN_ENVIRONMENT
from benchmarks.server.endpoint import DATABASE, SUPERUSER, load_seconds
from benchmarks.server.home import PORT, ServerHome
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.scenario import AnyMode, Cell, Mode, Scenario

SEED = 7
"""The random seed of `Pgbench.transact`: every server gets the same transactions."""

_SCRIPTS: Mapping[AnyMode, str] = {
    Mode.READ_ONLY: "-S",
    Mode.READ_WRITE: "-N",
    Mode.TPCB_LIKE: "-btpcb-like",
}
# The share of transactions pgbench logs, from which p50, p95 and p99 are read. A logged
# line costs the client about 1 µs. A read takes some 20 µs of CPU in all, so one in 20
# is 0.3 % of it and still thousands of lines in a 2 s run. A transaction that waits for
# a disk is rare and long: every second one is logged, or p99 would rest on a handful.
_READ_SAMPLING, _WRITE_SAMPLING = 0.05, 0.5
# A server under valgrind is some fifty times slower, and the machine may be loaded.
_COUNTED_SECONDS = 600.0
_LOG_PREFIX = "transactions"
_BEGUN = "landspeed_begun"


@dataclass(frozen=True)
class Pgbench:
    """The pgbench that measures all servers; its build fixes its version.

    It runs as the user ``account``; None for the current user.
    """

    build: Build
    account: pwd.struct_passwd | None = None

    name: ClassVar[str] = "pgbench"

    def at_home(self, home: ServerHome) -> Pgbench:
        """Return this client as the servers' user runs it, who can reach it."""
        return Pgbench(build=home.reachable(self.build), account=home.user)

    @property
    def version(self) -> str:
        """Its version, which is in every record."""
        return str(self.build.version)

    def facts(self) -> dict[str, str]:
        """Return the raw record's ``pgbench``."""
        return {"version": self.version, "build": self.build.identifier}

    def require_scripts(self, modes: Iterable[AnyMode]) -> None:
        """UsageError, in pgbench's words, if it does not understand a script among *modes*.

        It reads its scripts before it looks for a server; there is none.
        """
        for mode in modes:
            if not isinstance(mode, Script):
                continue
            with TemporaryDirectory() as here:
                argv = [*self._base(Path(here)), "-n", *_files(_parts(mode), Path(here))]
                said = self._run(argv, cwd=Path(here), timeout=GRACE_SECONDS).stderr
            if re.search(rf"{mode.name}(-\d+)?\.sql", said):
                raise UsageError(
                    f'pgbench does not understand script "{mode.name}"',
                    detail=said.strip().replace("pgbench: error: ", ""),
                )

    def initialise(self, host: Path, *, scale: int) -> None:
        """Make and fill pgbench's tables; MeasureError if that fails.

        Rows are made inside the server (step G), which every version can.
        """
        argv = [*self._base(host), "-i", "-I", "dtGvp", "-s", str(scale), "-q", DATABASE]
        done = self._run(argv, cwd=host.parent, timeout=load_seconds(scale))
        if done.status != 0:
            raise _failed(f"pgbench could not load scale {scale}", done)

    def run(
        self,
        host: Path,
        *,
        database: str,
        cell: Cell,
        cores: int,
        seconds: int,
        seed: int,
        scratch: Path,
        statements: bool = False,
        processors: Sequence[int] = (),
    ) -> Outcome:
        """Run *cell* for *seconds* on the server at *host*; MeasureError if it does not end well.

        It is kept on the logical *processors*, if any are given.
        The transaction logs go to directory *scratch*, its own to write in, and are removed.
        With *statements* each statement's latency is told, where a transaction has several.
        """
        scenario = cell.scenario
        options = [*scripts_of(scenario, scratch), *self._options(cell, cores, seconds, seed)]
        told = ["-r"] if statements and scenario.mode.writes else []
        mode, user = scenario.mode, SUPERUSER
        if isinstance(mode, Workload) and mode.connects:
            told, user = [*told, "-C"], mode.role
        argv = [*self._base(host, user), "-n", *options, *told, database]
        done = self._run(argv, cwd=scratch, timeout=seconds + GRACE_SECONDS, processors=processors)
        if done.status != 0:
            raise _failed("pgbench was aborted", done)
        series, messages = parse_progress(done.stderr)
        # measured code may have put a link or a pipe there
        found = scratch.glob(f"{_LOG_PREFIX}.*")
        logs = sorted(one for one in found if one.is_file() and not one.is_symlink())
        latencies = parse_log(path.read_bytes() for path in logs)
        for path in logs:
            path.unlink()
        return Outcome(
            argv=tuple(argv),
            sample=parse_summary(done.stdout, latencies, clients=cell.clients),
            series=series,
            stderr=last_lines(messages, MOST_MESSAGES),
            cpu_seconds=done.cpu_seconds,
            statements=parse_statements(done.stdout),
        )

    def transact(
        self,
        host: Path,
        *,
        database: str,
        scenario: Scenario,
        transactions: int,
        script: Path,
        variables: Mapping[str, str] = MappingProxyType({}),
        user: str = SUPERUSER,
        connect: bool = False,
    ) -> tuple[str, ...]:
        """Run *script* so many times in one client, with the same random numbers each time.

        *variables* are set at its start, and with *connect* each execution has a session of its
        own. Return the command line. MeasureError if a transaction fails.
        """
        argv = [
            *self._base(host, user),
            "-n",
            # pgbench asks the server for the scale only where it runs a script of its own
            *("-f", str(script), "-s", str(scenario.scale)),
            *("-M", scenario.protocol.value, "-c", "1", "-j", "1", "-t", str(transactions)),
            f"--random-seed={SEED}",
            *(["-C"] if connect else []),
            *(word for name, value in variables.items() for word in ("-D", f"{name}={value}")),
            database,
        ]
        done = self._run(argv, cwd=host.parent, timeout=_COUNTED_SECONDS)
        whole = f"transactions actually processed: {transactions}/{transactions}\n"
        if done.status != 0 or whole not in done.stdout:
            raise _failed("pgbench was aborted", done)
        return tuple(argv)

    def _base(self, host: Path, user: str = SUPERUSER) -> list[str]:
        return [str(self.build.program("pgbench")), "-h", str(host), "-p", str(PORT), "-U", user]

    def _options(self, cell: Cell, cores: int, seconds: int, seed: int) -> list[str]:
        scenario = cell.scenario
        sampling = _WRITE_SAMPLING if scenario.mode.writes else _READ_SAMPLING
        return [
            *(
                "-M",
                scenario.protocol.value,
                "-c",
                str(cell.clients),
                "-j",
                str(cell.threads(cores)),
            ),
            *("-T", str(seconds), "-P", "1", f"--random-seed={seed}", "--failures-detailed"),
            *("--log", f"--log-prefix={_LOG_PREFIX}", f"--sampling-rate={sampling}"),
        ]

    def _run(
        self, argv: list[str], *, cwd: Path, timeout: float, processors: Sequence[int] = ()
    ) -> ClientResult:
        return run_client(
            argv,
            environment={**CLEAN_ENVIRONMENT, **self.build.environment()},
            account=self.account,
            cwd=cwd,
            timeout=timeout,
            processors=processors,
        )


def scripts_of(scenario: Scenario, scratch: Path) -> list[str]:
    """Return the options that say what a transaction does; writes a Script's files to *scratch*."""
    if isinstance(scenario.mode, Workload):
        text = _with_session(scenario.mode)
        return ["-D", f"{_BEGUN}=0", *_files({scenario.mode.name: (text, 1)}, scratch)]
    if not isinstance(scenario.mode, Script):
        return [_SCRIPTS[scenario.mode]]
    # pgbench asks the server for the scale only where it runs a script of its own
    return ["-s", str(scenario.scale), *_files(_parts(scenario.mode), scratch)]


def _with_session(workload: Workload) -> str:
    """Return the script of *workload*, which begins each session with the statements for that."""
    session = "".join(f"{statement};\n" for statement in workload.session)
    if session and not workload.connects:
        session = f"\\if :{_BEGUN} = 0\n{session}\\set {_BEGUN} 1\n\\endif\n"
    return session + workload.script


def _parts(script: Script) -> dict[str, tuple[str, int]]:
    """Return the parts of *script*, text and weight, by the names of their files."""
    several = len(script.parts) > 1
    return {
        f"{script.name}-{number}" if several else script.name: part
        for number, part in enumerate(script.parts, start=1)
    }


def _files(parts: Mapping[str, tuple[str, int]], scratch: Path) -> list[str]:
    """Write files with *parts* of a script to *scratch*; return the options that name them."""
    options = []
    for stem, (text, weight) in parts.items():
        name = f"{stem}.sql"
        # pgbench 18 reads past a variable at the very end of a file
        write_atomic(scratch / name, f"{text}\n", durable=False)
        options += ["-f", f"{name}@{weight}"]
    return options


def _failed(message: str, done: ClientResult) -> LandspeedError:
    _, messages = parse_progress(done.stderr)
    return done.failed(message, messages)
