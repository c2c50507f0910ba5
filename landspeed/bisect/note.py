"""Notes of finished bisections, which the results hold beside the records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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

    @property
    def culprit(self) -> str | None:
        """The full hash of the commit, or the release, that was found; None if none was."""
        return self.report.culprit.ref if self.report.culprit else None


def newest(notes: Iterable[BisectionNote]) -> list[BisectionNote]:
    """Return the newest note of each changepoint."""
    last = {note.nomination: note for note in sorted(notes, key=lambda one: one.time)}
    return list(last.values())
