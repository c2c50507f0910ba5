"""Steps: changes of level in the Series that the records make, and how sure they are.

A Step nominates and no more: what it says is that fresh samples of its two sides are worth taking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from base.build import Origin, Variant
from benchmarks.workloads.metrics import METRICS, Metric
from landspeed.results.params import Params
from landspeed.results.points import Dots
from landspeed.results.series import RELEASES_LINE, PlaceOf, Series, series_of
from landspeed.stats.changepoint_online import (
    LEVEL,
    SHORTEST,
    Jump,
    NoiseModel,
    Scan,
    Trace,
    scan_points,
)
from landspeed.stats.changepoint_short import SAMPLES_NEEDED, scan_exact, scan_samples
from landspeed.stats.multiple_testing import RATE, discovery_limit

NOMINATED = "nominated"
DOUBTFUL = "doubtful"

FLAGGED = tuple(metric for metric in METRICS if not metric.higher_is_better)
"""The metrics that are looked at unless one is asked for: TPS is latency seen from behind."""


@dataclass(frozen=True, kw_only=True)
class Changepoint:
    """A Step is a change of level in a Series, between two neighbours of its line of history.

    ``ratio`` is the level from ``after`` on by the level up to ``before``, ``interval`` what it
    may be (95 %). ``p_value`` is the probability that noise alone shows as much anywhere in the
    Series, None for an exact metric; ``seen`` is the origin whose samples made it seen, ``time``
    when they were taken (ISO 8601), ``digests`` are the two servers. ``status`` is NOMINATED, or
    DOUBTFUL: among so many series noise shows as much; or what fresh samples have said of it.
    """

    machine: str
    before: Origin
    after: Origin
    seen: Origin
    time: str
    line: str
    variant: Variant
    mode: str
    params: Params
    metric: str
    unit: str
    levels: tuple[float, float]
    ratio: float
    interval: tuple[float, float]
    p_value: float | None
    basis: NoiseModel
    worse: bool
    digests: tuple[str, str]
    status: str = NOMINATED

    def facts(self) -> dict[str, Any]:
        """The Step as JSON can hold it."""
        facts = asdict(self)
        facts["basis"] = self.basis.value
        facts["variant"] = self.variant.facts()
        for pair in ("levels", "interval", "digests"):
            facts[pair] = list(facts[pair])
        return facts

    @property
    def scenario(self) -> str:
        """The cell without machine and variant, as ``landspeed show`` spells it."""
        params = self.params
        return "/".join(
            (self.mode, params.protocol, params.scale, f"c{params.clients}", params.profile)
        )


VerdictOf = Callable[[Changepoint], str | None]
"""What fresh samples have said of a Step, ``confirmed`` or ``refuted``; None if nothing yet."""


Memory = dict[str, Trace]
"""What has been read of Series, by their names."""


def unconfirmed(step: Changepoint) -> None:
    """A VerdictOf where nothing was put to the test."""
    del step


@dataclass(frozen=True, kw_only=True)
class ChangepointScan:
    """A Survey is what all series were found to show: Steps, and how many series were judged.

    ``short`` series have too few points to say anything, ``judged`` had enough. ``steps`` are in
    the order of size, the largest first, the doubtful ones too.
    """

    steps: tuple[Changepoint, ...]
    judged: int
    short: int

    def nominated(self) -> list[Changepoint]:
        """The Steps that are not DOUBTFUL."""
        return [step for step in self.steps if step.status != DOUBTFUL]


def survey(
    found: Dots,
    place_of: PlaceOf,
    *,
    metrics: Sequence[Metric] = FLAGGED,
    verdict_of: VerdictOf = unconfirmed,
    memory: Memory | None = None,
) -> ChangepointScan:
    """Every Step of *metrics* in the dots *found*, false discoveries controlled.

    What *memory* has of a Series from another time is not reckoned again; it then has all.
    """
    return survey_series(
        series_of(found, metrics, place_of),
        verdict_of=verdict_of,
        memory=memory,
    )


def survey_series(
    series: Sequence[Series],
    *,
    level: float = LEVEL,
    rate: float = RATE,
    verdict_of: VerdictOf = unconfirmed,
    memory: Memory | None = None,
) -> ChangepointScan:
    """Every Step in *series*.

    Of a series without a step a Step is seen with probability *level* in 200 commits; of the
    series whose Steps are NOMINATED a share of *rate* at most has none, in the mean.
    """
    scans = scan(series, level, memory)
    family = [s for s in scans if s.basis in (NoiseModel.POINTS, NoiseModel.SAMPLES)]
    limit = discovery_limit(
        [min((_p(jump) for jump in s.jumps), default=1.0) for s in family], rate
    )
    steps = [
        _with_status(_step(one, jump, found.basis), limit, verdict_of)
        for one, found in zip(series, scans, strict=True)
        for jump in found.jumps
    ]
    short = sum(s.basis is NoiseModel.NONE for s in scans)
    return ChangepointScan(
        steps=tuple(sorted(steps, key=lambda step: -max(step.ratio, 1 / step.ratio))),
        judged=len(scans) - short,
        short=short,
    )


def scan(
    series: Sequence[Series], level: float = LEVEL, memory: Memory | None = None
) -> list[Scan]:
    """What each of *series* shows, by the Basis that fits it.

    Between releases much changes, so their level never settles; they are judged by their Runs.
    Between commits little does, and what else varies from day to day shows in many points only.
    """
    scans: dict[int, Scan] = {}
    by_points: list[int] = []
    for number, one in enumerate(series):
        if one.metric.exact:
            scans[number] = scan_exact(one.numbers)
        elif _by_points(one):
            by_points.append(number)
        else:
            scans[number] = scan_samples(one.samples, level)
    memory = {} if memory is None else memory
    names = [series[number].name for number in by_points]
    lines = [series[number].numbers for number in by_points]
    found = scan_points(lines, level, [memory.get(name) for name in names])
    memory |= {n: one.trace for n, one in zip(names, found, strict=True) if one.trace}
    scans |= dict(zip(by_points, found, strict=True))
    return [scans[number] for number in range(len(series))]


def _by_points(one: Series) -> bool:
    if len(one.dots) < SHORTEST:
        return False
    return one.line != RELEASES_LINE or all(len(s) < SAMPLES_NEEDED for s in one.samples)


def _p(jump: Jump) -> float:
    return 1.0 if jump.p_value is None else jump.p_value


def _step(series: Series, jump: Jump, basis: NoiseModel) -> Changepoint:
    before, after = series.dots[jump.previous], series.dots[jump.at]
    return Changepoint(
        machine=after.machine,
        before=series.lasts[jump.previous],
        after=after.origin,
        seen=series.dots[jump.seen].origin,
        time=series.dots[jump.seen].last_time,
        line=series.line,
        variant=series.variant,
        mode=series.mode,
        params=series.params,
        metric=series.metric.name,
        unit=series.metric.unit,
        levels=(jump.before, jump.after),
        ratio=jump.ratio,
        interval=(jump.low, jump.high),
        p_value=jump.p_value,
        basis=basis,
        worse=(jump.ratio > 1) != series.metric.higher_is_better,
        digests=(before.digest, after.digest),
    )


def _with_status(step: Changepoint, limit: float, verdict_of: VerdictOf) -> Changepoint:
    verdict = verdict_of(step)
    if verdict is not None:
        return replace(step, status=verdict)
    doubtful = step.p_value is not None and step.p_value > limit
    return replace(step, status=DOUBTFUL if doubtful else NOMINATED)
