"""What sysbench prints, read: pure functions from its text to numbers."""

from __future__ import annotations

import re

from base.errors import MeasureError
from benchmarks.clients.client import Sample, SecondSeries

_SECOND = re.compile(
    r"\[ (?P<second>\d+)s \] thds: (?P<clients>\d+) tps: (?P<tps>[\d.]+) .*"
    r"err/s: (?P<errors>[\d.]+) reconn/s: (?P<reconnects>[\d.]+)"
)
_BUCKET = re.compile(r" *(?P<ms>\d+\.\d+) \|\**\s+(?P<count>\d+)")
_COMPLAINT = re.compile(r"(FATAL|ALERT|WARNING): ")


def parse_report(stdout: str, *, clients: int) -> Sample:
    """The Sample in the final report of sysbench with *clients*; MeasureError if it is not there.

    Percentiles are of its histogram: steps of 1.8 %, told to 1 µs. It tells no deviation, and not
    how long connecting took, which it leaves out. What it had to do again has failed.
    """
    transactions = int(_field(stdout, r" transactions: +(\d+) "))
    if transactions == 0:
        raise MeasureError(
            "sysbench finished no transaction",
            detail=stdout.strip(),
            hint="Run it for more seconds, or with fewer clients.",
        )
    seconds = float(_field(stdout, r" total time: +([\d.]+)s"))
    found = map(_BUCKET.fullmatch, stdout.splitlines())
    buckets = [(float(one["ms"]), int(one["count"])) for one in found if one]
    return Sample(
        latency_ms=round(1000 * clients * seconds / transactions, 6),
        latency_stddev_ms=None,
        latency_p50_ms=_percentile(buckets, 50),
        latency_p95_ms=_percentile(buckets, 95),
        latency_p99_ms=_percentile(buckets, 99),
        tps=round(transactions / seconds, 6),
        transactions=transactions,
        failed=sum(int(_field(stdout, rf" {what}: +(\d+) ")) for what in _AGAIN),
        connection_ms=None,
        measured_seconds=seconds,
    )


_AGAIN = ("ignored errors", "reconnects")


def parse_seconds(stdout: str) -> SecondSeries:
    """The per-second series in what sysbench printed; it does not report the last second.

    It tells a percentile of each second and no mean: that is clients × time / transactions.
    """
    found = [match for line in stdout.splitlines() if (match := _SECOND.match(line))]
    return SecondSeries(
        seconds=tuple(float(one["second"]) for one in found),
        tps=tuple(float(one["tps"]) for one in found),
        latency_ms=tuple(_mean_ms(int(one["clients"]), float(one["tps"])) for one in found),
        latency_stddev_ms=(None,) * len(found),
        failed=tuple(round(float(one["errors"]) + float(one["reconnects"])) for one in found),
    )


def complaints(printed: str) -> str:
    """What sysbench, all threads of it, complained of: each once. It does so on stdout, too."""
    lines = [line for line in printed.splitlines() if _COMPLAINT.match(line)]
    return "\n".join(dict.fromkeys(lines))


def _mean_ms(clients: int, tps: float) -> float | None:
    return round(1000 * clients / tps, 4) if tps > 0 else None


def _percentile(buckets: list[tuple[float, int]], per_cent: int) -> float | None:
    """The value of the bucket that the percentile is in; None where there are no buckets."""
    left = sum(count for _, count in buckets) * per_cent / 100
    for value, count in buckets:
        left -= count
        if left <= 0:
            return value
    return None


def _field(stdout: str, pattern: str) -> str:
    match = re.search(pattern, stdout)
    if match is None:
        raise MeasureError(
            "could not understand sysbench's report",
            detail=f"There is no line like {pattern} in:\n{stdout.strip()}",
        )
    return match[1]
