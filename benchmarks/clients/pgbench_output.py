"""What pgbench prints, read: pure functions from its text to numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from base.errors import MeasureError
from benchmarks.clients.client import Sample, SecondSeries

_PROGRESS = re.compile(
    r"progress: (?P<second>[\d.]+) s, (?P<tps>[\d.]+) tps, lat (?P<latency>[\d.]+|nan) ms "
    r"stddev (?P<stddev>[\d.]+|nan)(?:, (?P<failed>\d+) failed)?"
)
# what -r adds to the report: ms, failures, retries where there may be any, the command
_STATEMENTS = "statement latencies in milliseconds"
_STATEMENT = re.compile(r" +(?P<ms>[\d.]+) +\d+(?: +\d+)? (?P<text>\S.*)")
_TIME_COLUMN = 2  # client, transaction, time in µs or why there is none, script, epoch, µs


def parse_summary(stdout: str, latencies_us: npt.NDArray[np.float64], *, clients: int) -> Sample:
    """The Sample in the final report of pgbench with *clients*; MeasureError if it is not there."""
    transactions = int(_field(stdout, r"number of transactions actually processed: (\d+)"))
    if transactions == 0:
        raise MeasureError(
            "pgbench finished no transaction",
            detail=stdout.strip(),
            hint="Run it for more seconds, or with fewer clients.",
        )
    tps = float(_field(stdout, r"tps = ([\d.]+) \(without initial connection time\)"))
    stddev = re.search(r"latency stddev = ([\d.]+) ms", stdout)
    p50, p95, p99 = _percentiles_ms(latencies_us)
    return Sample(
        latency_ms=round(1000 * clients / tps, 6),
        latency_stddev_ms=float(stddev[1]) if stddev else None,
        latency_p50_ms=p50,
        latency_p95_ms=p95,
        latency_p99_ms=p99,
        tps=tps,
        transactions=transactions,
        failed=int(_field(stdout, r"number of failed transactions: (\d+)")),
        connection_ms=float(_field(stdout, r"initial connection time = ([\d.]+) ms")),
        measured_seconds=round(transactions / tps, 6),
    )


def parse_progress(stderr: str) -> tuple[SecondSeries, str]:
    """The per-second series in pgbench's stderr, and all its other lines."""
    points, others = [], []
    for line in stderr.splitlines():
        match = _PROGRESS.fullmatch(line.strip())
        if match is None:
            others.append(line)
        else:
            points.append(match)
    series = SecondSeries(
        seconds=tuple(float(point["second"]) for point in points),
        tps=tuple(float(point["tps"]) for point in points),
        latency_ms=tuple(_latency(point["latency"], point) for point in points),
        latency_stddev_ms=tuple(_latency(point["stddev"], point) for point in points),
        failed=tuple(int(point["failed"] or 0) for point in points),
    )
    return series, "\n".join(others)


def parse_statements(stdout: str) -> tuple[tuple[str, float], ...]:
    """Each SQL statement of the script with its mean latency in ms; none without ``-r``.

    What pgbench does itself (``\\set``) is left out.
    """
    _, header, listed = stdout.partition(_STATEMENTS)
    found = map(_STATEMENT.fullmatch, listed.splitlines()) if header else ()
    return tuple(
        (match["text"], float(match["ms"]))
        for match in found
        if match and not match["text"].startswith("\\")
    )


def parse_log(logs: Iterable[bytes]) -> npt.NDArray[np.float64]:
    """The latencies, in µs, in pgbench's transaction logs; failed and skipped ones have none."""
    return np.array(
        [
            float(fields[_TIME_COLUMN])
            for log in logs
            for line in log.splitlines()
            if len(fields := line.split(maxsplit=3)) > _TIME_COLUMN
            and fields[_TIME_COLUMN].isdigit()
        ],
        dtype=np.float64,
    )


def _latency(text: str, point: re.Match[str]) -> float | None:
    return float(text) if float(point["tps"]) > 0 and text != "nan" else None


def _percentiles_ms(
    latencies_us: npt.NDArray[np.float64],
) -> tuple[float | None, float | None, float | None]:
    if len(latencies_us) == 0:
        return None, None, None
    p50, p95, p99 = np.percentile(latencies_us, (50, 95, 99)) / 1000
    return round(float(p50), 4), round(float(p95), 4), round(float(p99), 4)


def _field(stdout: str, pattern: str) -> str:
    match = re.search(pattern, stdout)
    if match is None:
        raise MeasureError(
            "could not understand pgbench's report",
            detail=f"There is no line like {pattern} in:\n{stdout.strip()}",
        )
    return match[1]
