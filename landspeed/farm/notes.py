"""Notes of finished bisections, which the results hold beside the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from base.errors import RecordError


@dataclass(frozen=True, kw_only=True)
class BisectionNote:
    """The report of a bisection, and the changepoint it explains.

    ``nomination``: The key of the changepoint.
    ``time``: When the bisection ended, ISO 8601, UTC.
    ``report``: As landspeed.bisect.report writes it.
    """

    nomination: str
    time: str
    report: Mapping[str, Any]

    @classmethod
    def parse(cls, note: Mapping[str, Any]) -> Self:
        """Read a stored note; RecordError if it is none of a bisection."""
        try:
            report = note["report"]
            return cls(
                nomination=str(note["nomination"]), time=str(note["time"]), report={**report}
            )
        except (KeyError, TypeError) as error:
            raise RecordError("a note of a bisection is damaged", detail=repr(error)) from error

    @property
    def culprit(self) -> str | None:
        """The full hash of the commit, or the release, that was found; None if none was."""
        found = self.report.get("culprit")
        return str(found["ref"]) if found else None

    def facts(self) -> dict[str, Any]:
        """Return the note as it is stored."""
        return {"nomination": self.nomination, "time": self.time, "report": dict(self.report)}


def newest(notes: Iterable[BisectionNote]) -> list[BisectionNote]:
    """Return the newest note of each changepoint."""
    last = {note.nomination: note for note in sorted(notes, key=lambda one: one.time)}
    return list(last.values())
