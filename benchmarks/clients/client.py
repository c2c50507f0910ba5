"""Run a client (pgbench or sysbench) against a server, and what a finished run reported."""

from __future__ import annotations

import pwd
import re
import resource
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from base.errors import LandspeedError, MeasureError, last_lines
from benchmarks.machine.spawn import disk_full, guarded, is_disk_full
from benchmarks.records.record import SampleFacts, SeriesFacts

# A client's own time limit ends it; one that is still there this much later is stuck.
GRACE_SECONDS = 120.0
MOST_MESSAGES = 50
"""Lines of what a client said that are kept: a script may cause a notice in each transaction."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one finished run of a client reported, and its command line.

    The mean latency in ``sample`` is clients × time / transactions, which is how pgbench itself
    defines it without ``-P``: the one that it prints with ``-P`` is rounded to 1 µs, 1 % of a
    short read. What a client does not report is None. ``stderr`` has the last lines that do not
    show progress. ``cpu_seconds`` were used by all threads of the client; ``statements`` have mean
    latencies in ms, where they were asked for.
    """

    argv: tuple[str, ...]
    sample: SampleFacts
    series: SeriesFacts
    stderr: str
    cpu_seconds: float
    statements: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, kw_only=True)
class ClientResult:
    """Output, exit status and CPU seconds of a client that has ended."""

    program: str
    stdout: str
    stderr: str
    status: int
    cpu_seconds: float

    def failed(self, message: str, said: str) -> LandspeedError:
        """Return the error *message*, with the last lines of what the client *said*."""
        detail = last_lines(said)
        if is_disk_full(said):
            return disk_full(message, detail)
        return MeasureError(f"{message} (exit status {self.status})", detail=detail)


def run_client(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    account: pwd.struct_passwd | None,
    cwd: Path,
    timeout: float,
    processors: Sequence[int] = (),
) -> ClientResult:
    """Run a client as *account* (None: as us) until it ends; MeasureError if it does not.

    It sees *environment* and nothing else, is kept on the logical *processors*, if any are given,
    and ends when we do. *timeout* is in seconds.
    """
    program, before = Path(argv[0]).name, _children_seconds()
    try:
        done = subprocess.run(
            guarded(argv, death=signal.SIGKILL, user=account, processors=processors),
            env=dict(environment),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise MeasureError(
            f"{program} did not end", detail=f"It was killed after {timeout:.0f} s."
        ) from error
    return ClientResult(
        program=program,
        stdout=done.stdout,
        stderr=done.stderr,
        status=done.returncode,
        cpu_seconds=round(_children_seconds() - before, 3),
    )


def report_field(program: str, report: str, pattern: str) -> str:
    """Return the group of *pattern* in *program*'s final report; raises MeasureError if none."""
    match = re.search(pattern, report)
    if match is None:
        raise MeasureError(
            f"could not understand {program}'s report",
            detail=f"There is no line like {pattern} in:\n{report.strip()}",
        )
    return match[1]


def transactions_in(program: str, report: str, pattern: str) -> int:
    """Return the number of transactions in *program*'s report; raises MeasureError if 0."""
    transactions = int(report_field(program, report, pattern))
    if transactions == 0:
        raise MeasureError(
            f"{program} finished no transaction",
            detail=report.strip(),
            hint="Run it for more seconds, or with fewer clients.",
        )
    return transactions


def _children_seconds() -> float:
    """Return the CPU seconds of our children that have ended: in a run that is the client."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
