"""Find the changepoints in the series that the records make, false discoveries controlled. Pure.

A changepoint found here is only nominated: fresh samples of its two sides are worth taking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.workloads.metrics import METRICS, Metric
from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus
from landspeed.results.points import Dots
from landspeed.results.series import RELEASES_LINE, PlaceOf, Series, series_of
from landspeed.stats.changepoint_online import (
    SHORTEST,
    Jump,
    NoiseModel,
    Scan,
    Trace,
    scan_points,
)
from landspeed.stats.changepoint_short import SAMPLES_NEEDED, scan_exact, scan_samples
from landspeed.stats.multiple_testing import RATE, discovery_limit

FLAGGED = tuple(metric for metric in METRICS if not metric.higher_is_better)
"""The metrics that are scanned by default. TPS is left out: it mirrors latency."""

Traces = dict[str, Trace]
"""The state of the detector after each series, by the name of the series."""

Statuses = Mapping[str, ChangepointStatus]
"""The statuses that fresh samples gave to changepoints, by their keys."""


@dataclass(frozen=True, kw_only=True)
class ChangepointScan:
    """Changepoints of all series, the largest change first, and how many series were judged.

    ``short`` counts the series with too few points to judge.
    """

    changepoints: tuple[Changepoint, ...]
    judged: int
    short: int

    def nominated(self) -> list[Changepoint]:
        """Return the changepoints that are not doubtful."""
        return [one for one in self.changepoints if one.status is not ChangepointStatus.DOUBTFUL]


def detect(
    dots: Dots,
    place_of: PlaceOf,
    *,
    metrics: Sequence[Metric] = FLAGGED,
    statuses: Statuses | None = None,
    traces: Traces | None = None,
) -> ChangepointScan:
    """Return every changepoint of *metrics* in *dots*.

    A series of 200 commits without a change shows one with probability LEVEL. Of the series with a
    nominated changepoint, an expected share of at most RATE has no change. Scores in *traces*, from
    an earlier scan, are not computed again; *traces* is updated.
    """
    series = series_of(dots, metrics, place_of)
    scans = _scans(series, {} if traces is None else traces)
    tested = [s for s in scans if s.basis in (NoiseModel.POINTS, NoiseModel.SAMPLES)]
    p_values = [[j.p_value for j in s.jumps if j.p_value is not None] for s in tested]
    limit = discovery_limit([min(some, default=1.0) for some in p_values], RATE)
    found = [
        _changepoint(one, jump, scan.basis, limit, statuses or {})
        for one, scan in zip(series, scans, strict=True)
        for jump in scan.jumps
    ]
    short = sum(s.basis is NoiseModel.NONE for s in scans)
    return ChangepointScan(
        changepoints=tuple(sorted(found, key=lambda one: -max(one.ratio, 1 / one.ratio))),
        judged=len(scans) - short,
        short=short,
    )


def _scans(series: Sequence[Series], traces: Traces) -> list[Scan]:
    """Scan each of *series* by the noise model that fits.

    Much changes between releases, so their level never settles; their runs tell the noise.
    Little changes between commits, and only many points show what varies from day to day.
    """
    scans: dict[int, Scan] = {}
    by_points: list[int] = []
    for number, one in enumerate(series):
        if one.metric.exact:
            scans[number] = scan_exact(one.numbers)
        elif _is_long(one):
            by_points.append(number)
        else:
            scans[number] = scan_samples(one.samples)
    names = [series[number].name for number in by_points]
    numbers = [series[number].numbers for number in by_points]
    found = scan_points(numbers, traces=[traces.get(name) for name in names])
    traces |= {n: one.trace for n, one in zip(names, found, strict=True) if one.trace}
    scans |= dict(zip(by_points, found, strict=True))
    return [scans[number] for number in range(len(series))]


def _is_long(one: Series) -> bool:
    if len(one) < SHORTEST:
        return False
    return one.line != RELEASES_LINE or all(len(s) < SAMPLES_NEEDED for s in one.samples)


def _changepoint(
    series: Series, jump: Jump, basis: NoiseModel, limit: float, statuses: Statuses
) -> Changepoint:
    before, after, seen = (series.dot(n) for n in (jump.previous, jump.at, jump.seen))
    is_doubtful = jump.p_value is not None and jump.p_value > limit
    found = Changepoint(
        machine=after.machine,
        before=series.last_origin(jump.previous),
        after=after.origin,
        variant=series.variant,
        mode=series.mode,
        params=series.params,
        metric=series.metric.name,
        ratio=jump.ratio,
        interval=(jump.low, jump.high),
        line=series.line,
        levels=(jump.before, jump.after),
        p_value=jump.p_value,
        basis=basis,
        seen=seen.origin,
        time=seen.last_time,
        digests=(before.digest, after.digest),
        status=ChangepointStatus.DOUBTFUL if is_doubtful else ChangepointStatus.NOMINATED,
    )
    status = statuses.get(found.key)
    return replace(found, status=status) if status else found
