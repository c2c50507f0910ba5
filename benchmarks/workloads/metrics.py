"""The metrics, and the names of their benchmarks in asv."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from base.errors import UsageError
from benchmarks.workloads.catalog import FAMILIES, workloads
from benchmarks.workloads.scenario import CacheState, Mode

BENCHMARK_VERSION = "1"
"""Set by hand: asv's default, a hash of the code, would hide all history at every edit."""

LATENCY, INSTRUCTIONS = "latency", "instructions"
"""The two metrics that a person chooses between: take the time, or count."""

PARAM_NAMES = ("protocol", "scale", "clients", "profile")
FAMILY_PARAM_NAMES = ("workload", *PARAM_NAMES[1:])
"""The parameters of a family's benchmark: a workload of the catalog implies its protocol."""

VARIANT_NAMES = ("blocksize", "wal_blocksize", "build")
"""The axes that builds are told apart by: the keys of ``Variant.axes``."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One number of a sample, drawn by asv; ``column`` names it in records and their columns.

    Runs that were stored before records had the column have no value. The name of a metric that is
    counted in a cold cache ends in ``_cold``: the site's scripts tell it by that.

    With ``buffers`` it is counted in that cache state, and exact: it needs no second measurement.
    It is then the slope of the sum of ``counters`` (fields of PassFacts) over transactions.
    Without ``buffers`` it is of timed runs.
    """

    name: str
    column: str
    unit: str
    meaning: str
    higher_is_better: bool = False
    buffers: CacheState | None = None
    counters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that a counted metric has counters: without, every count would seem to repeat."""
        if self.exact != bool(self.counters):
            raise ValueError(f"{self.name}: a counted metric has counters, and no other has")

    @property
    def exact(self) -> bool:
        """Whether it is counted, and so the same again whatever else the machine does."""
        return self.buffers is not None


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
    Metric(
        name="instructions",
        column="instructions",
        unit="instructions/tx",
        meaning="instructions a backend executes for a transaction, every page in shared buffers",
        buffers=CacheState.WARM,
        counters=("instructions",),
    ),
    Metric(
        name="instructions_cold",
        column="instructions",
        unit="instructions/tx",
        meaning="instructions a backend executes for a transaction whose pages must be read in",
        buffers=CacheState.COLD,
        counters=("instructions",),
    ),
    Metric(
        name="wal_bytes",
        column="wal_bytes_tx",
        unit="bytes/tx",
        meaning="bytes of WAL a transaction writes, without images of whole pages",
        buffers=CacheState.WARM,
        counters=("wal_bytes",),
    ),
    Metric(
        name="blocks",
        column="blocks_tx",
        unit="blocks/tx",
        meaning="shared blocks a transaction looks at, those read in included",
        buffers=CacheState.WARM,
        counters=("blocks_hit", "blocks_read"),
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


def metrics_of(buffers: str | None) -> tuple[Metric, ...]:
    """The metrics that runs with these *buffers* have; None is of timed ones."""
    return tuple(metric for metric in METRICS if metric.buffers == buffers)


def metric_of(benchmark: str) -> Metric | None:
    """The metric that asv's *benchmark* name is about; None if it is not one of ours."""
    name = benchmark.rpartition(".track_")[2]
    return next((metric for metric in METRICS if metric.name == name), None)


def group_of(mode: str) -> str:
    """The family of *mode* if it is a workload of the catalog, else *mode* itself.

    pgbench's own modes are groups of their own, whatever the catalog says of them.
    """
    return _families().get(mode, mode)


@cache
def _families() -> dict[str, str]:
    return {one.name: one.family for one in workloads() if one.name not in set(Mode)}


def param_names(group: str) -> tuple[str, ...]:
    """The names of the parameters of the benchmarks of *group*: see ``group_of``."""
    return FAMILY_PARAM_NAMES if group in FAMILIES else PARAM_NAMES


def benchmark_name(group: str, metric: Metric) -> str:
    """asv's name for *metric* of *group*: ``read_only.track_latency``."""
    # asv runs only what is called track_…, also where a benchmark_name says something else
    return f"{group.replace('-', '_')}.track_{metric.name}"


def mode_of(benchmark: str) -> str | None:
    """The mode that asv's *benchmark* name is about; None if it is of a family."""
    group = benchmark.partition(".")[0].replace("_", "-")
    return None if group in FAMILIES else group


def scale_param(tier: str, scale: int) -> str:
    """How a scale is spelled as a parameter: ``small-5``."""
    return f"{tier}-{scale}"
