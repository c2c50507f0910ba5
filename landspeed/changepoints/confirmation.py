"""What fresh samples said of a changepoint; kept as notes beside the records. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus
from landspeed.compare.verdict import Finding, Verdict

DECIDED = (ChangepointStatus.CONFIRMED, ChangepointStatus.REFUTED)
"""The statuses that need no further samples."""


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
        """Return the confirmation that a note holds."""
        return cls(
            changepoint=Changepoint.parse(facts["nomination"]),
            status=ChangepointStatus(facts["fate"]),
            time=facts["time"],
            comparison=facts["comparison"],
            finding=facts["finding"],
            reason=facts["reason"],
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


def newest(notes: Iterable[Mapping[str, Any]]) -> dict[str, Confirmation]:
    """Return the newest confirmation in *notes* of each changepoint, by its key."""
    found = sorted(map(Confirmation.parse, notes), key=lambda one: one.time)
    return {one.changepoint.key: one for one in found}


def decided(notes: Iterable[Mapping[str, Any]]) -> dict[str, ChangepointStatus]:
    """Return the status of each changepoint that the newest of *notes* decides, by its key."""
    known = newest(notes).items()
    return {key: one.status for key, one in known if one.status in DECIDED}


def status_counts(confirmations: Iterable[Confirmation]) -> dict[str, int]:
    """Return how many of *confirmations* have each status that fresh samples can give."""
    counts = Counter(one.status for one in confirmations)
    return {status.value: counts[status] for status in (*DECIDED, ChangepointStatus.UNDECIDED)}


def status_counts_text(confirmations: Iterable[Confirmation]) -> str:
    """Return the counts of *confirmations* by status as one line."""
    counts = status_counts(confirmations)
    return "changepoints tested so far: " + ", ".join(f"{n} {name}" for name, n in counts.items())
