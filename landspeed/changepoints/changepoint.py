"""A changepoint: a change of level in one series, and what fresh samples said of it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Self

from annotated_types import Gt
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    FiniteFloat,
    PlainSerializer,
    PlainValidator,
)

from base.build import AnyVariant, Origin
from base.errors import UsageError, VariantError
from base.files import canonical_json, digest_text
from base.typed import from_json, to_json
from benchmarks.workloads.cell_name import CellName
from benchmarks.workloads.metrics import Metric, metric_named
from landspeed.compare.verdict import COUNTED_DIFFERENCE, Finding, Verdict
from landspeed.results.params import Params
from landspeed.stats.changepoint_online import NoiseModel

_Ratio = Annotated[FiniteFloat, Gt(0)]
_NOTED = ("machine", "before", "after", "variant", "mode", "params", "metric", "ratio", "interval")
"""The fields that notes keep of a changepoint: what changed, and by how much."""


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
    variant: AnyVariant
    mode: str
    params: Params
    metric: Annotated[str, AfterValidator(lambda name: metric_named(name).name)]
    ratio: _Ratio
    interval: Annotated[
        tuple[_Ratio, _Ratio] | tuple[()],
        BeforeValidator(lambda value: value or ()),
        PlainSerializer(lambda value: list(value) or None),
    ] = ()
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
        return max(COUNTED_DIFFERENCE, (max(self.ratio, 1 / self.ratio) - 1) / 2)

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
        facts = to_json(self)
        return {name: facts[name] for name in _NOTED}

    def facts(self) -> dict[str, Any]:
        """Return everything known of the changepoint as JSON can hold it."""
        return {**to_json(self), "unit": self.unit, "worse": self.worse}

    @classmethod
    def parse(cls, facts: Mapping[str, Any]) -> Self:
        """Return the changepoint that a note, or an entry of a file of changes, describes.

        UsageError if it describes none.
        """
        try:
            noted = {name: facts[name] for name in _NOTED if name in facts}
            return from_json(cls, noted)
        except (TypeError, ValueError, UsageError, VariantError) as error:
            raise UsageError(
                "this is not a changepoint",
                detail=repr(error),
                hint='"landspeed changes --json" prints changepoints in the expected form.',
            ) from error

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


def _checked(facts: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return *facts* as they are: a note is written as it was read."""
    if facts is not None:
        _Finding.model_validate(facts)
    return facts


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """Result of measuring both sides of a changepoint again.

    ``comparison`` names the runs, ``finding`` is Finding.facts(). Both are None where no run was
    needed; ``reason`` then says why. ``time`` is ISO 8601.
    """

    changepoint: Annotated[
        Changepoint,
        Field(alias="nomination"),
        PlainValidator(Changepoint.parse),
        PlainSerializer(Changepoint.note),
    ]
    status: Annotated[ChangepointStatus, Field(alias="fate")]
    time: str
    comparison: str | None = None
    finding: Annotated[dict[str, Any] | None, AfterValidator(_checked)] = None
    reason: str = ""


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
