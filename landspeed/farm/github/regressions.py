"""Regressions: confirmed changepoints for the worse, grouped by what caused them. Pure.

One commit shifts several series at once: instructions warm and cold, read-only and read-write, on
each machine. Changepoints that may be of the same commit are one regression.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.workloads.metrics import metric_named
from landspeed.bisect.note import BisectionNote, newest
from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus
from landspeed.results.series import PlaceOf

# An exact metric may stay this much above its old level when its regression counts as repaired.
_EXACT_REMAINDER = 1.002


@dataclass(frozen=True, kw_only=True)
class Span:
    """A range of commits or releases of which one caused a change.

    ``line``: The line of history: a branch, or ``releases``.
    ``before``: The last one that did not cause it: a release or a full commit hash.
    ``last``: The last one that may have caused it.
    ``first``: The position on the line of the first one that may have caused it.
    ``end``: The position of ``last``.
    """

    line: str
    before: str
    last: str
    first: int
    end: int

    @property
    def count(self) -> int:
        """The number of commits or releases that may have caused it."""
        return self.end - self.first + 1

    def meets(self, other: Span) -> bool:
        """Return whether one commit may have caused both changes."""
        return self.line == other.line and self.first <= other.end and other.first <= self.end

    def within(self, other: Span) -> Span:
        """Return the intersection with a span that this one meets."""
        begin = self if self.first >= other.first else other
        end = self if self.end <= other.end else other
        return replace(begin, last=end.last, end=end.end)


@dataclass(kw_only=True)
class Regression:
    """The confirmed changepoints for the worse that one commit or release caused.

    ``changepoints``: The largest first.
    ``repairs``: The changepoints that undid them; empty unless all of them are undone.
    """

    span: Span
    changepoints: list[Changepoint]
    repairs: list[Changepoint] = field(default_factory=list)
    bisections: list[BisectionNote] = field(default_factory=list)

    @property
    def is_repaired(self) -> bool:
        """Whether a later revision undid the regression in every series."""
        return bool(self.repairs)


def regressions(
    changepoints: Iterable[Changepoint],
    place_of: PlaceOf,
    bisections: Iterable[BisectionNote] = (),
) -> list[Regression]:
    """Group the confirmed of *changepoints* to regressions, in the order of line and position."""
    placed = [
        (span, one)
        for one in changepoints
        if one.status is ChangepointStatus.CONFIRMED and (span := span_of(one, place_of))
    ]
    found: list[Regression] = []
    # The narrowest first: it locates the wider ones.
    for span, one in sorted(placed, key=lambda pair: pair[0].count):
        if not one.worse:
            continue
        home = next((known for known in found if known.span.meets(span)), None)
        if home is None:
            found.append(Regression(span=span, changepoints=[one]))
        else:
            home.changepoints.append(one)
            home.span = home.span.within(span)
    notes, confirmed = newest(bisections), [one for _, one in placed]
    for known in found:
        known.changepoints.sort(key=lambda one: -one.ratio)
        repairs = [_repair(one, confirmed, place_of) for one in known.changepoints]
        undone = [one for one in repairs if one is not None]
        known.repairs = list(dict.fromkeys(undone)) if len(undone) == len(repairs) else []
        keys = {one.key for one in known.changepoints}
        # A bisection moves the changepoint to its culprit, where it has another key.
        known.bisections = [
            note for note in notes if note.nomination in keys or note.culprit == known.span.last
        ]
    return sorted(found, key=lambda known: (known.span.line, known.span.first))


def span_of(changepoint: Changepoint, place_of: PlaceOf) -> Span | None:
    """Return where *changepoint* happened; None if its line does not have both sides any more."""
    before, after = place_of(changepoint.before), place_of(changepoint.after)
    if before is None or after is None or after.branch != changepoint.line:
        return None
    first = before.position + 1 if before.branch == after.branch else after.position
    return Span(
        line=changepoint.line,
        before=changepoint.before.ref,
        last=changepoint.after.ref,
        first=min(first, after.position),
        end=after.position,
    )


def _repair(
    regressed: Changepoint, confirmed: Sequence[Changepoint], place_of: PlaceOf
) -> Changepoint | None:
    """Return the changepoint after which the series is back at its old level; None if it is not.

    Ratios are multiplied rather than levels compared: a ratio is of one epoch, levels may not be.
    """
    exact = metric_named(regressed.metric).exact
    allowed = _EXACT_REMAINDER if exact else 1 + (regressed.ratio - 1) / 2
    place = place_of(regressed.after)
    begin = place.position if place else -1
    later = [
        (place.position, one)
        for one in confirmed
        if _series(one) == _series(regressed)
        and (place := place_of(one.after)) is not None
        and place.position > begin
    ]
    level = regressed.ratio
    for _, one in sorted(later, key=lambda pair: pair[0]):
        level *= one.ratio
        if level <= allowed and not one.worse:
            return one
    return None


def _series(one: Changepoint) -> tuple[object, ...]:
    return (one.machine, one.line, one.variant, one.mode, one.params, one.metric)
