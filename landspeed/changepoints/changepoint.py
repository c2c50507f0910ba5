"""A changepoint: a change of level in one series, and what fresh samples said of it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import inf
from typing import Annotated, Any, Self

from annotated_types import Gt
from pydantic import BaseModel, FiniteFloat, TypeAdapter

from base.build import Origin, Variant
from base.errors import UsageError, VariantError
from base.files import canonical_json, digest_text
from benchmarks.workloads.cell_name import CellName
from benchmarks.workloads.metrics import Metric, metric_named
from landspeed.compare.verdict import Finding, Verdict
from landspeed.results.params import Params
from landspeed.stats.changepoint_online import NoiseModel

_LEAST_PRECISION = 0.002
_PARAMS = TypeAdapter(Params)


class ChangepointStatus(StrEnum):
    """How certain a changepoint is, the most certain first.

    A series nominates a changepoint; it is doubtful where noise shows as much among so many
    series. Fresh samples confirm it, refute it, or leave it undecided. A bisection finds the
    commit.
    """

    BISECTED = "bisected"
    CONFIRMED = "confirmed"
    NOMINATED = "nominated"
    UNDECIDED = "undecided"
    REFUTED = "refuted"
    DOUBTFUL = "doubtful"


@dataclass(frozen=True, kw_only=True)
class Changepoint:
    """Change of level in a series between two neighbours of a line of history.

    ``ratio`` is the level from ``after`` on divided by the level up to ``before``, ``interval`` its
    95 % interval. The fields from ``line`` on are known where a scan of the series found the
    changepoint, not where a note or a file names it: ``levels`` are in the metric's unit.
    ``p_value`` is the probability that noise alone shows as much anywhere in the series, None for
    an exact metric. ``seen`` is the origin whose samples revealed the changepoint, ``time`` when
    they were taken (ISO 8601). ``digests`` are those of the two servers.
    """

    machine: str
    before: Origin
    after: Origin
    variant: Variant
    mode: str
    params: Params
    metric: str
    ratio: float
    interval: tuple[float, ...] = ()
    line: str = ""
    levels: tuple[float, ...] = ()
    p_value: float | None = None
    basis: NoiseModel = NoiseModel.NONE
    seen: Origin | None = None
    time: str = ""
    digests: tuple[str, ...] = ()
    status: ChangepointStatus = ChangepointStatus.NOMINATED

    @property
    def key(self) -> str:
        """What changed, as 16 hex digits; they do not depend on how large the change seems."""
        facts = self.note()
        del facts["ratio"], facts["interval"]
        for side in ("before", "after"):
            facts[side] = getattr(self, side).name
        return digest_text(canonical_json(facts))[:16]

    @property
    def worse(self) -> bool:
        """Whether the metric got worse."""
        return (self.ratio > 1) != self._metric.higher_is_better

    @property
    def unit(self) -> str:
        """The unit of the metric."""
        return self._metric.unit

    @property
    def precision(self) -> float:
        """How close to 1 the ratio must be proven to refute the change: half of it, as a share.

        It is at least 0.2 %; smaller changes are not reported.
        """
        return max(_LEAST_PRECISION, (max(self.ratio, 1 / self.ratio) - 1) / 2)

    @property
    def scenario(self) -> str:
        """The cell without machine and variant, as ``landspeed show`` takes it."""
        return str(self.cell)

    @property
    def cell(self) -> CellName:
        """The name of the cell, without its buffers, which the metric tells."""
        params = self.params
        return CellName(
            mode=self.mode,
            protocol=params.protocol,
            scale=params.scale,
            clients=params.clients,
            configuration=params.profile,
        )

    @property
    def _metric(self) -> Metric:
        return metric_named(self.metric)

    def note(self) -> dict[str, Any]:
        """Return what notes keep of the changepoint: what changed, and by how much."""
        return {
            "machine": self.machine,
            "before": asdict(self.before),
            "after": asdict(self.after),
            "variant": self.variant.facts(),
            "mode": self.mode,
            "params": asdict(self.params),
            "metric": self.metric,
            "ratio": self.ratio,
            "interval": list(self.interval) or None,
        }

    def facts(self) -> dict[str, Any]:
        """Return everything known of the changepoint as JSON can hold it."""
        names = ("line", "unit", "levels", "p_value", "basis", "worse", "time", "digests", "status")
        seen = asdict(self.seen) if self.seen else None
        return {**self.note(), **{name: getattr(self, name) for name in names}, "seen": seen}

    @classmethod
    def parse(cls, facts: Mapping[str, Any]) -> Self:
        """Return the changepoint that a note, or an entry of a file of changes, describes.

        UsageError if it describes none.
        """
        try:
            interval = facts.get("interval")
            found = cls(
                machine=str(facts["machine"]),
                before=Origin.parse(facts["before"]),
                after=Origin.parse(facts["after"]),
                variant=Variant.of(facts["variant"]),
                mode=str(facts["mode"]),
                params=_PARAMS.validate_python(facts["params"]),
                metric=metric_named(facts["metric"]).name,
                ratio=float(facts["ratio"]),
                interval=(float(interval[0]), float(interval[1])) if interval else (),
            )
            if not all(0 < one < inf for one in (found.ratio, *found.interval)):
                raise ValueError(f"its ratio is {found.ratio}, {found.interval}")
        except (
            *(AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError),
            *(UsageError, VariantError),
        ) as error:
            raise UsageError(
                "this is not a changepoint",
                detail=repr(error),
                hint='"landspeed changes --json" prints changepoints in the expected form.',
            ) from error
        return found

    def __str__(self) -> str:
        return (
            f"{self.before.name} → {self.after.name} {self.variant} {self.scenario} "
            f"{self.metric} × {self.ratio:.4g}"
        )


DECIDED = (ChangepointStatus.CONFIRMED, ChangepointStatus.REFUTED)
"""The statuses that need no further samples."""


class _Finding(BaseModel):
    """The facts of a Finding, of which older notes lack some."""

    verdict: Verdict = Verdict.UNDECIDED
    ratio: Annotated[FiniteFloat, Gt(0)] | None = None
    interval: tuple[FiniteFloat, FiniteFloat] | None = None
    interval_95: tuple[FiniteFloat, FiniteFloat] | None = None
    blocks: int | None = None
    further_blocks: int | None = None


class _Note(BaseModel):
    time: str
    comparison: str | None
    finding: _Finding | None
    reason: str


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """Result of measuring both sides of a changepoint again.

    ``comparison`` names the runs, ``finding`` is Finding.facts(). Both are None where no run was
    needed; ``reason`` then says why. ``time`` is ISO 8601.
    """

    changepoint: Changepoint
    status: ChangepointStatus
    time: str
    comparison: str | None = None
    finding: Mapping[str, Any] | None = None
    reason: str = ""

    def facts(self) -> dict[str, Any]:
        """Return the note that is kept."""
        return {
            "nomination": self.changepoint.note(),
            "fate": self.status.value,
            "time": self.time,
            "comparison": self.comparison,
            "finding": dict(self.finding) if self.finding else None,
            "reason": self.reason,
        }

    @classmethod
    def parse(cls, facts: Mapping[str, Any]) -> Self:
        """Return the confirmation that a note holds; ValueError or KeyError if it holds none."""
        note = _Note.model_validate(facts)
        return cls(
            changepoint=Changepoint.parse(facts["nomination"]),
            status=ChangepointStatus(facts["fate"]),
            time=note.time,
            comparison=note.comparison,
            finding=facts["finding"],
            reason=note.reason,
        )


def status_of(changepoint: Changepoint, finding: Finding) -> ChangepointStatus:
    """Return what the comparison of both sides says of *changepoint*.

    A proven change in the other direction refutes it, too.
    """
    match finding.verdict:
        case Verdict.UNDECIDED:
            return ChangepointStatus.UNDECIDED
        case Verdict.SAME:
            return ChangepointStatus.REFUTED
        case Verdict.FASTER | Verdict.SLOWER:
            same_way = finding.ratio is not None and (finding.ratio > 1) == (changepoint.ratio > 1)
            return ChangepointStatus.CONFIRMED if same_way else ChangepointStatus.REFUTED


def newest(confirmations: Iterable[Confirmation]) -> dict[str, Confirmation]:
    """Return the newest of *confirmations* of each changepoint, by its key."""
    found = sorted(confirmations, key=lambda one: one.time)
    return {one.changepoint.key: one for one in found}


def decided(confirmations: Iterable[Confirmation]) -> dict[str, ChangepointStatus]:
    """Return the status of each changepoint that the newest of *confirmations* decides, by key."""
    known = newest(confirmations).items()
    return {key: one.status for key, one in known if one.status in DECIDED}


def status_counts(confirmations: Iterable[Confirmation]) -> dict[str, int]:
    """Return how many of *confirmations* have each status that fresh samples can give."""
    counts = Counter(one.status for one in confirmations)
    return {status.value: counts[status] for status in (*DECIDED, ChangepointStatus.UNDECIDED)}


def status_counts_text(confirmations: Iterable[Confirmation]) -> str:
    """Return the counts of *confirmations* by status as one line."""
    counts = status_counts(confirmations)
    return "changepoints tested so far: " + ", ".join(f"{n} {name}" for name, n in counts.items())
