"""The Survey of a project's own records, its origins placed in the history of its sources."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from base.build import Origin
from benchmarks.workloads.metrics import metric_named
from builders.source import Position
from landspeed.changepoints.cache import Traces
from landspeed.changepoints.changepoint import (
    FLAGGED,
    Changepoint,
    ChangepointScan,
    VerdictOf,
    survey,
)
from landspeed.changepoints.nomination import ConfirmationStatus, Nomination, newest
from landspeed.results.arrays import distinct
from landspeed.results.points import Dots, dots
from landspeed.results.series import RELEASES_LINE, PlaceOf
from landspeed.session.session import Session


def _placer(session: Session, commits: Collection[str]) -> PlaceOf:
    """Where releases and each of *commits* are in history."""
    sources = session.builder.sources
    releases = {name: i for i, name in enumerate(sources.releases_branch())}
    # a machine that only publishes has not seen yet what was measured elsewhere
    sources.know(commits)
    found = sources.places(commits)

    def place_of(origin: Origin) -> Position | None:
        if origin.release in releases:
            return Position(line=RELEASES_LINE, position=releases[origin.release])
        return found.get(origin.commit or "") if origin.release is None else None

    return place_of


def told(notes: Iterable[Mapping[str, Any]]) -> VerdictOf:
    """What the newest of *notes* (RecordStore.confirmations) on a Step says, if it decides."""
    fates = {key: one.fate for key, one in newest(notes).items()}

    def verdict_of(step: Changepoint) -> str | None:
        fate = fates.get(Nomination.parse(step.facts()).key)
        return (
            fate.value
            if fate in (ConfirmationStatus.CONFIRMED, ConfirmationStatus.REFUTED)
            else None
        )

    return verdict_of


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A Chart is the Dots of all records, and where in history all is that the records speak of.

    ``commits`` are those of upstream.
    """

    dots: Dots
    place_of: PlaceOf
    commits: frozenset[str]

    @classmethod
    def of(cls, session: Session) -> Chart:
        """The Chart of the records of *session*."""
        table, twins = session.records.table(), session.records.twins.all()
        # of what only a comparison asked for there is no Dot, and yet it has its place
        columns = ["release", "commit"]
        origins = [*distinct(table, columns), *(vars(twin.origin) for twin in twins)]
        commits = frozenset(
            row["commit"] for row in origins if row["commit"] and not row["release"]
        )
        return cls(dots=dots(table, twins), place_of=_placer(session, commits), commits=commits)


def survey_records(
    session: Session, metric: str | None = None, *, chart: Chart | None = None
) -> ChangepointScan:
    """The Survey of all records of *session*, of one *metric* or of those that flag.

    *chart* is their Chart, where it is at hand.
    """
    chart = chart or Chart.of(session)
    traces = Traces.of(session.paths)
    memory = traces.load()
    before = dict(memory)
    found = survey(
        chart.dots,
        chart.place_of,
        metrics=[metric_named(metric)] if metric else FLAGGED,
        verdict_of=told(session.records.confirmations.all()),
        memory=memory,
    )
    if memory != before:
        traces.save(memory)
    return found
