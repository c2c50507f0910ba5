"""Notes of finished bisections, which the results hold beside the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from base.errors import RecordError
from landspeed.bisect.report import BisectReport


@dataclass(frozen=True, kw_only=True)
class BisectionNote:
    """The report of a bisection, and the changepoint it explains.

    ``nomination``: The key of the changepoint.
    ``time``: When the bisection ended, ISO 8601, UTC.
    ``report``: The report itself.
    """

    nomination: str
    time: str
    report: BisectReport

    @classmethod
    def parse(cls, note: Mapping[str, Any]) -> Self:
        """Read a stored note; RecordError if it is none of a bisection."""
        try:
            return cls(
                nomination=str(note["nomination"]),
                time=str(note["time"]),
                report=BisectReport.parse(note["report"]),
            )
        except (KeyError, TypeError, RecordError) as error:
            detail = error.detail if isinstance(error, RecordError) else repr(error)
            raise RecordError("a note of a bisection is damaged", detail=detail) from error

    @property
    def culprit(self) -> str | None:
        """The full hash of the commit, or the release, that was found; None if none was."""
        return self.report.culprit.ref if self.report.culprit else None

    def facts(self) -> dict[str, Any]:
        """Return the note as it is stored."""
        return {"nomination": self.nomination, "time": self.time, "report": self.report.facts()}


def newest(notes: Iterable[BisectionNote]) -> list[BisectionNote]:
    """Return the newest note of each changepoint."""
    last = {note.nomination: note for note in sorted(notes, key=lambda one: one.time)}
    return list(last.values())
