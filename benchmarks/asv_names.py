"""The names asv knows our measurements by; the suite and the derived files both go by them."""

from __future__ import annotations

from dataclasses import dataclass

from base.errors import UsageError

BENCHMARK_VERSION = "1"
"""Set by hand: asv's default, a hash of the code, would hide all history at every edit."""

PARAM_NAMES = ("protocol", "scale", "clients", "profile")
VARIANT_NAMES = ("blocksize", "wal_blocksize")


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A Metric is one number of a sample that asv draws: ``column`` is the record's scalar.

    One that is ``exact`` needs no second measurement: how well it repeats is said with it.
    """

    name: str
    column: str
    unit: str
    meaning: str
    higher_is_better: bool = False
    exact: bool = False


METRICS = (
    Metric(
        name="latency",
        column="latency_ms",
        unit="ms",
        meaning="average latency of a transaction as pgbench reports it; lower is better",
    ),
    Metric(
        name="tps",
        column="tps",
        unit="tx/s",
        meaning="transactions per second without connection time; higher is better, never flagged",
        higher_is_better=True,
    ),
)


def metric_named(name: str) -> Metric:
    """The Metric called *name*; UsageError if there is none."""
    for metric in METRICS:
        if metric.name == name:
            return metric
    raise UsageError(
        f'metric "{name}" does not exist',
        hint=f"There are: {', '.join(metric.name for metric in METRICS)}.",
    )


def benchmark_name(mode: str, metric: Metric) -> str:
    """asv's name for *metric* of *mode*: ``read_only.track_latency``."""
    # asv runs only what is called track_…, also where a benchmark_name says something else
    return f"{mode.replace('-', '_')}.track_{metric.name}"


def mode_of(benchmark: str) -> str:
    """The mode that asv's *benchmark* name is about: the inverse of ``benchmark_name``."""
    return benchmark.partition(".")[0].replace("_", "-")


def scale_param(tier: str, scale: int) -> str:
    """How a scale is spelled as a parameter: ``small-5``."""
    return f"{tier}-{scale}"
