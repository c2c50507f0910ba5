"""What a trend nominates, and what became of it: confirmed on fresh samples, or refuted. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Self

from base.build import Origin, Variant
from base.errors import UsageError, VariantError
from base.files import canonical_json, digest_text
from landspeed.compare.verdict import Finding, Verdict
from landspeed.results.params import Params

_LEAST_PRECISION = 0.002


@dataclass(frozen=True, kw_only=True)
class Nomination:
    """A Nomination is a Step that a trend shows between two origins, and that may be noise.

    ``ratio`` is the metric's level after the step by that before, ``interval`` the ratios that
    the trend leaves possible.
    """

    machine: str
    before: Origin
    after: Origin
    variant: Variant
    mode: str
    params: Params
    metric: str
    ratio: float
    interval: tuple[float, float] | None = None

    @property
    def key(self) -> str:
        """What is nominated, in 16 hex digits; not how large it seemed."""
        facts = self.facts()
        del facts["ratio"], facts["interval"]
        for side in ("before", "after"):
            facts[side] = getattr(self, side).name
        return digest_text(canonical_json(facts))[:16]

    @property
    def precision(self) -> float:
        """How near to 1 the ratio must be shown to be to refute it: half of the step, as a share.

        At least the 0.2 % below which nothing is told.
        """
        larger = max(self.ratio, 1 / self.ratio)
        return max(_LEAST_PRECISION, (larger - 1) / 2)

    def facts(self) -> dict[str, Any]:
        """The Nomination as JSON can hold it."""
        return {
            "machine": self.machine,
            "before": asdict(self.before),
            "after": asdict(self.after),
            "variant": self.variant.facts(),
            "mode": self.mode,
            "params": asdict(self.params),
            "metric": self.metric,
            "ratio": self.ratio,
            "interval": list(self.interval) if self.interval else None,
        }

    @classmethod
    def parse(cls, facts: Mapping[str, Any]) -> Self:
        """The Nomination that *facts* tell; UsageError if they tell none."""
        try:
            interval = facts.get("interval")
            found = cls(
                machine=str(facts["machine"]),
                before=Origin(**facts["before"]),
                after=Origin(**facts["after"]),
                variant=Variant.of(facts["variant"]),
                mode=str(facts["mode"]),
                params=Params(**facts["params"]),
                metric=str(facts["metric"]),
                ratio=float(facts["ratio"]),
                interval=(float(interval[0]), float(interval[1])) if interval else None,
            )
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, VariantError) as error:
            raise UsageError(
                "this is not a step",
                detail=repr(error),
                hint='"landspeed steps --json" prints steps as they are understood.',
            ) from error
        if found.ratio <= 0:
            raise UsageError("this is not a step", detail=f"Its ratio is {found.ratio}.")
        return found

    def __str__(self) -> str:
        cell = "/".join((self.mode, self.params.protocol, self.params.scale))
        return (
            f"{self.before.name} → {self.after.name} {self.variant} {cell}"
            f"/c{self.params.clients}/{self.params.profile} {self.metric} × {self.ratio:.4g}"
        )


class ConfirmationStatus(StrEnum):
    """A Fate is what became of a Nomination."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    NOMINATED = "nominated"


def fate_of(nomination: Nomination, finding: Finding) -> ConfirmationStatus:
    """What the comparison of its two sides says: a change that way, none of note, or nothing yet.

    A proven change the other way refutes it too.
    """
    match finding.verdict:
        case Verdict.UNDECIDED:
            return ConfirmationStatus.UNDECIDED
        case Verdict.SAME:
            return ConfirmationStatus.REFUTED
        case Verdict.FASTER | Verdict.SLOWER:
            same_way = finding.ratio is not None and (finding.ratio > 1) == (nomination.ratio > 1)
            return ConfirmationStatus.CONFIRMED if same_way else ConfirmationStatus.REFUTED


@dataclass(frozen=True, kw_only=True)
class Confirmation:
    """A Confirmation is a Nomination and what fresh samples say of it; kept as a note.

    ``comparison`` names the runs, ``finding`` is Finding.facts(); both None where no run was
    needed: ``reason`` says why. ``time`` is ISO 8601.
    """

    nomination: Nomination
    fate: ConfirmationStatus
    time: str
    comparison: str | None = None
    finding: Mapping[str, Any] | None = None
    reason: str = ""

    def facts(self) -> dict[str, Any]:
        """The Confirmation as JSON can hold it."""
        return {
            "nomination": self.nomination.facts(),
            "fate": self.fate.value,
            "time": self.time,
            "comparison": self.comparison,
            "finding": dict(self.finding) if self.finding else None,
            "reason": self.reason,
        }

    @classmethod
    def parse(cls, facts: Mapping[str, Any]) -> Self:
        """The Confirmation that *facts*, a note, tell."""
        return cls(
            nomination=Nomination.parse(facts["nomination"]),
            fate=ConfirmationStatus(facts["fate"]),
            time=facts["time"],
            comparison=facts["comparison"],
            finding=facts["finding"],
            reason=facts["reason"],
        )


def newest(notes: Iterable[Mapping[str, Any]]) -> dict[str, Confirmation]:
    """The newest Confirmation of each Nomination in *notes*, by the Nomination's key."""
    found = sorted(map(Confirmation.parse, notes), key=lambda one: one.time)
    return {one.nomination.key: one for one in found}


def counted(confirmations: Iterable[Confirmation]) -> dict[str, int]:
    """How many Nominations stand how."""
    counts = Counter(one.fate for one in confirmations)
    kinds = (ConfirmationStatus.CONFIRMED, ConfirmationStatus.REFUTED, ConfirmationStatus.UNDECIDED)
    return {kind.value: counts[kind] for kind in kinds}


def counts_line(confirmations: Iterable[Confirmation]) -> str:
    """How many Nominations were confirmed and refuted so far, in words."""
    counts = counted(confirmations)
    return "steps put to the test so far: " + ", ".join(f"{n} {fate}" for fate, n in counts.items())
