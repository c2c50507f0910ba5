"""How a client (pgbench or sysbench) is run against a server, and what a finished run said."""

from __future__ import annotations

import pwd
import resource
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from base.errors import LandspeedError, MeasureError
from benchmarks.machine.spawn import disk_full, guarded, is_disk_full

# A client's own time limit ends it; one that is still there this much later is stuck.
GRACE_SECONDS = 120.0
_LAST_LINES = 10


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The numbers of one run of a client; times in ms, ``measured_seconds`` in s.

    ``latency_ms`` is the mean: clients × time / transactions, which is how pgbench itself
    defines it without ``-P``. The one it prints with ``-P`` is rounded to 1 µs, 1 % of
    a short read. Percentiles are None where the client told of no single transaction.
    ``tps`` leaves out the time to connect; ``measured_seconds`` is what it is counted over.
    What a client does not tell is None.
    """

    latency_ms: float
    latency_stddev_ms: float | None
    latency_p50_ms: float | None
    latency_p95_ms: float | None
    latency_p99_ms: float | None
    tps: float
    transactions: int
    failed: int
    connection_ms: float | None
    measured_seconds: float


@dataclass(frozen=True, kw_only=True)
class SecondSeries:
    """A run second by second; a second without a transaction has no latency."""

    seconds: tuple[float, ...]
    tps: tuple[float, ...]
    latency_ms: tuple[float | None, ...]
    latency_stddev_ms: tuple[float | None, ...]
    failed: tuple[int, ...]

    def facts(self) -> dict[str, list[float | int | None]]:
        """What the raw record says of it."""
        return {name: list(values) for name, values in asdict(self).items()}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one finished run of a client reported, and its command line.

    ``stderr`` is without the progress lines. ``cpu_seconds`` are what the client itself used, all
    of its threads; ``statements`` have mean latencies in ms, where they were asked for.
    """

    argv: tuple[str, ...]
    sample: Sample
    series: SecondSeries
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
        """The error that it did not do what it should; *said* are its messages."""
        detail = "\n".join(said.splitlines()[-_LAST_LINES:])
        if is_disk_full(said):
            return disk_full(message, detail)
        return MeasureError(f"{message} (exit status {self.status})", detail=detail)


def run_client(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str],
    account: pwd.struct_passwd | None,
    cwd: Path,
    timeout: float | None,
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


def version_line(program: str) -> str:
    """What *program* says of its version; empty if it says nothing."""
    done = subprocess.run(
        [program, "--version"], capture_output=True, text=True, errors="replace", check=False
    )
    return done.stdout.strip()


def _children_seconds() -> float:
    """The CPU seconds of our children that have ended: the client is the one that ends in a Run."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
