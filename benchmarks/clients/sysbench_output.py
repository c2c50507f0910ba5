"""Parse what sysbench prints."""

from __future__ import annotations

import re

from benchmarks.clients.client import report_field, transactions_in
from benchmarks.records.record import SampleFacts, SeriesFacts

_SECOND = re.compile(
    r"\[ (?P<second>\d+)s \] thds: (?P<clients>\d+) tps: (?P<tps>[\d.]+) .*"
    r"err/s: (?P<errors>[\d.]+) reconn/s: (?P<reconnects>[\d.]+)"
)
_BUCKET = re.compile(r" *(?P<ms>\d+\.\d+) \|\**\s+(?P<count>\d+)")
_COMPLAINT = re.compile(r"(FATAL|ALERT|WARNING): ")


def parse_report(stdout: str, *, clients: int) -> SampleFacts:
    """Return the numbers in sysbench's final report; raises MeasureError for one without them.

    Percentiles come from its histogram, with steps of 1.8 % and a resolution of 1 µs. It reports
    no deviation, and its times leave out connecting. Transactions that were repeated count as
    failed.
    """
    transactions = transactions_in("sysbench", stdout, r" transactions: +(\d+) ")
    seconds = float(report_field("sysbench", stdout, r" total time: +([\d.]+)s"))
    found = map(_BUCKET.fullmatch, stdout.splitlines())
    buckets = [(float(one["ms"]), int(one["count"])) for one in found if one]
    again = [rf" {what}: +(\d+) " for what in ("ignored errors", "reconnects")]
    return SampleFacts(
        latency_ms=round(1000 * clients * seconds / transactions, 6),
        latency_p50_ms=_percentile(buckets, 50),
        latency_p95_ms=_percentile(buckets, 95),
        latency_p99_ms=_percentile(buckets, 99),
        tps=round(transactions / seconds, 6),
        transactions=transactions,
        failed=sum(int(report_field("sysbench", stdout, pattern)) for pattern in again),
        measured_seconds=seconds,
    )


def parse_seconds(stdout: str) -> SeriesFacts:
    """Return the per-second series in what sysbench printed, which lacks the last second.

    It prints a percentile of each second and no mean: that is clients × time / transactions.
    """
    found = [match for line in stdout.splitlines() if (match := _SECOND.match(line))]
    return SeriesFacts(
        seconds=tuple(float(one["second"]) for one in found),
        tps=tuple(float(one["tps"]) for one in found),
        latency_ms=tuple(_mean_ms(int(one["clients"]), float(one["tps"])) for one in found),
        latency_stddev_ms=(None,) * len(found),
        failed=tuple(round(float(one["errors"]) + float(one["reconnects"])) for one in found),
    )


def complaints(printed: str) -> str:
    """Return the errors and warnings that sysbench *printed*, each once."""
    lines = [line for line in printed.splitlines() if _COMPLAINT.match(line)]
    return "\n".join(dict.fromkeys(lines))


def _mean_ms(clients: int, tps: float) -> float | None:
    return round(1000 * clients / tps, 4) if tps > 0 else None


def _percentile(buckets: list[tuple[float, int]], per_cent: int) -> float | None:
    """Return the value of the bucket that the percentile is in; None without buckets."""
    left = sum(count for _, count in buckets) * per_cent / 100
    for value, count in buckets:
        left -= count
        if left <= 0:
            return value
    return None
