"""Regressions: what confirmed steps amount to, one for each thing that happened. Pure.

One commit makes several series step at once: instructions warm and cold, read-only and
read-write, on each machine. What lies at the same place of the same line is one Regression.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.workloads.metrics import metric_named
from builders.source import Position
from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus
from landspeed.results.series import PlaceOf

_EXACT_LEFT = 1.002  # what exact steps may leave of a regression that is called gone
Facts = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Span:
    """A Span is where on a line something happened: after ``before``, up to ``last`` at most.

    Both are names that hold for ever, a release or a full commit hash; ``first`` and ``end`` are
    the positions from which and up to which, so that two Spans can be held together.
    """

    line: str
    before: str
    last: str
    first: int
    end: int

    @property
    def count(self) -> int:
        """How many commits or releases it may have been."""
        return self.end - self.first + 1

    def meets(self, other: Span) -> bool:
        """Whether it may be one thing that happened in both."""
        return self.line == other.line and self.first <= other.end and other.first <= self.end

    def within(self, other: Span) -> Span:
        """Where both are, of two that meet."""
        begin = self if self.first >= other.first else other
        end = self if self.end <= other.end else other
        return Span(
            line=self.line, before=begin.before, last=end.last, first=begin.first, end=end.end
        )


@dataclass(kw_only=True)
class Regression:
    """A Regression is what happened in one Span: confirmed Steps for the worse, the largest first.

    ``repairs`` are the Steps for the better that undid each of them, if all are undone;
    ``bisections`` are the reports (bisect.report.report_facts) of those that were bisected.
    """

    span: Span
    steps: list[Changepoint]
    repairs: list[Changepoint] = field(default_factory=list)
    bisections: list[Facts] = field(default_factory=list)

    @property
    def is_gone(self) -> bool:
        """Whether what it cost is no longer paid anywhere."""
        return bool(self.repairs)


def regressions(
    steps: Iterable[Changepoint], place_of: PlaceOf, bisections: Iterable[Facts] = ()
) -> list[Regression]:
    """The Regressions that the confirmed among *steps* amount to, by line and place."""
    confirmed = [step for step in steps if step.status is ChangepointStatus.CONFIRMED]
    spans = {id(step): span_of(step, place_of) for step in confirmed}
    placed = [step for step in confirmed if spans[id(step)] is not None]
    found: list[Regression] = []
    # the narrowest first: it tells where those that are wide happened
    for step in sorted(placed, key=lambda one: _span(spans, one).count):
        if not step.worse:
            continue
        span = _span(spans, step)
        home = next((one for one in found if one.span.meets(span)), None)
        if home is None:
            found.append(Regression(span=span, steps=[step]))
        else:
            home.steps.append(step)
            home.span = home.span.within(span)
    for one in found:
        one.steps.sort(key=lambda step: -step.ratio)
        one.repairs = _repairs(one, placed, place_of)
        one.bisections = _of(one, bisections)
    return sorted(found, key=lambda one: (one.span.line, one.span.first))


def _span(spans: Mapping[int, Span | None], step: Changepoint) -> Span:
    span = spans[id(step)]
    assert span is not None  # noqa: S101  those without were left out
    return span


def span_of(step: Changepoint, place_of: PlaceOf) -> Span | None:
    """Where *step* happened; None where its two sides are not on its line any more."""
    before, after = place_of(step.before), place_of(step.after)
    if before is None or after is None or after.branch != step.line:
        return None
    first = before.position + 1 if before.branch == after.branch else after.position
    return Span(
        line=step.line,
        before=step.before.release or step.before.commit or "",
        last=step.after.release or step.after.commit or "",
        first=min(first, after.position),
        end=after.position,
    )


def _repairs(
    regression: Regression, steps: Sequence[Changepoint], place_of: PlaceOf
) -> list[Changepoint]:
    """For each of its Steps the one that undid it; empty unless all are undone."""
    found = [_undone(step, steps, place_of) for step in regression.steps]
    whole = [step for step in found if step is not None]
    return list(dict.fromkeys(whole)) if len(whole) == len(found) else []


def _undone(
    regressed: Changepoint, steps: Sequence[Changepoint], place_of: PlaceOf
) -> Changepoint | None:
    """The confirmed Step after which what *regressed* brought is gone; None if it is not.

    Ratios are multiplied, not levels compared: each is of one epoch, levels may not be.
    """
    exact = metric_named(regressed.metric).exact
    allowed = _EXACT_LEFT if exact else 1 + (regressed.ratio - 1) / 2
    begin = _position(place_of(regressed.after))
    later = [
        (place.position, step)
        for step in steps
        if _series(step) == _series(regressed)
        and (place := place_of(step.after)) is not None
        and place.position > begin
    ]
    left = regressed.ratio
    for _, step in sorted(later, key=lambda pair: pair[0]):
        left *= step.ratio
        if left <= allowed and not step.worse:
            return step
    return None


def _position(place: Position | None) -> int:
    return place.position if place else -1


def _series(step: Changepoint) -> tuple[Any, ...]:
    return (step.machine, step.line, step.variant, step.mode, step.params, step.metric)


def _of(regression: Regression, bisections: Iterable[Facts]) -> list[Facts]:
    keys = {step.key for step in regression.steps}
    return [note for note in _newest(bisections) if _is_about(note, regression, keys)]


def _newest(bisections: Iterable[Facts]) -> Iterator[Facts]:
    last = {note["nomination"]: note for note in sorted(bisections, key=lambda one: one["time"])}
    yield from last.values()


def _is_about(note: Facts, regression: Regression, keys: set[str]) -> bool:
    # what a bisection found moves the step to the culprit, where it has another key
    culprit = (note["report"].get("culprit") or {}).get("ref")
    return note["nomination"] in keys or culprit == regression.span.last
