"""Parse what pgbench prints and logs."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from benchmarks.clients.client import report_field, transactions_in
from benchmarks.records.record import SampleFacts, SeriesFacts

_PROGRESS = re.compile(
    r"progress: (?P<second>[\d.]+) s, (?P<tps>[\d.]+) tps, lat (?P<latency>[\d.]+|nan) ms "
    r"stddev (?P<stddev>[\d.]+|nan)(?:, (?P<failed>\d+) failed)?"
)
# what -r adds to the report: ms, failures, retries where there may be any, the command
_STATEMENTS = "statement latencies in milliseconds"
_STATEMENT = re.compile(r" +(?P<ms>[\d.]+) +\d+(?: +\d+)? (?P<text>\S.*)")
_LEVELS = (50, 95, 99)
_TIME_COLUMN = 2  # client, transaction, time in µs or why there is none, script, epoch, µs


def parse_summary(
    stdout: str, latencies_us: npt.NDArray[np.float64], *, clients: int
) -> SampleFacts:
    """Return the numbers in pgbench's final report; raises MeasureError for one without them.

    Percentiles are those of *latencies_us*, None if there are no latencies.
    """

    def field(pattern: str) -> str:
        return report_field("pgbench", stdout, pattern)

    pattern = r"number of transactions actually processed: (\d+)"
    transactions = transactions_in("pgbench", stdout, pattern)
    # with -C connecting is part of each transaction
    tps = float(field(r"tps = ([\d.]+) \((?:without initial |including re)connection times?\)"))
    stddev = re.search(r"latency stddev = ([\d.]+) ms", stdout)
    percentiles: list[float | None] = [None, None, None]
    if len(latencies_us):
        percentiles = [round(float(one) / 1000, 4) for one in np.percentile(latencies_us, _LEVELS)]
    return SampleFacts(
        latency_ms=round(1000 * clients / tps, 6),
        latency_stddev_ms=float(stddev[1]) if stddev else None,
        latency_p50_ms=percentiles[0],
        latency_p95_ms=percentiles[1],
        latency_p99_ms=percentiles[2],
        tps=tps,
        transactions=transactions,
        failed=int(field(r"number of failed transactions: (\d+)")),
        connection_ms=float(field(r"(?:initial|average) connection time = ([\d.]+) ms")),
        measured_seconds=round(transactions / tps, 6),
    )


def parse_progress(stderr: str) -> tuple[SeriesFacts, str]:
    """Return the per-second series in pgbench's stderr, and all its other lines."""
    points, others = [], []
    for line in stderr.splitlines():
        match = _PROGRESS.fullmatch(line.strip())
        if match is None:
            others.append(line)
        else:
            points.append(match)
    series = SeriesFacts(
        seconds=tuple(float(point["second"]) for point in points),
        tps=tuple(float(point["tps"]) for point in points),
        latency_ms=tuple(_latency(point["latency"], point) for point in points),
        latency_stddev_ms=tuple(_latency(point["stddev"], point) for point in points),
        failed=tuple(int(point["failed"] or 0) for point in points),
    )
    return series, "\n".join(others)


def parse_statements(stdout: str) -> tuple[tuple[str, float], ...]:
    """Return each SQL statement of the script with its mean latency in ms; none without ``-r``.

    Commands of pgbench itself (``\\set``) are left out.
    """
    _, header, listed = stdout.partition(_STATEMENTS)
    found = map(_STATEMENT.fullmatch, listed.splitlines()) if header else ()
    return tuple(
        (match["text"], float(match["ms"]))
        for match in found
        if match and not match["text"].startswith("\\")
    )


def parse_log(logs: Iterable[bytes]) -> npt.NDArray[np.float64]:
    """Return the latencies in µs in pgbench's logs; failed and skipped transactions have none."""
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
