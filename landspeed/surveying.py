"""The Survey of a project's own records, its origins placed in the history of its sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from base.build import Origin
from benchmarks.asv_names import metric_named
from builders.source import Place
from landspeed.columns import distinct
from landspeed.nomination import Fate, Nomination, newest
from landspeed.points import Dots, dots
from landspeed.series import RELEASES_LINE, PlaceOf
from landspeed.steps import FLAGGED, Step, Survey, VerdictOf, survey
from landspeed.traces import Traces
from landspeed.workshop import Workshop


def placer(workshop: Workshop, origins: Iterable[Mapping[str, Any]]) -> PlaceOf:
    """Where each of *origins* (rows with ``release`` and ``commit``) is in history."""
    sources = workshop.builder.sources
    releases = {name: i for i, name in enumerate(sources.releases_branch())}
    commits = {row["commit"] for row in origins if row["commit"] and not row["release"]}
    sources.know(commits)
    found = sources.places(commits)

    def place_of(origin: Origin) -> Place | None:
        if origin.release in releases:
            return Place(line=RELEASES_LINE, position=releases[origin.release])
        return found.get(origin.commit or "") if origin.release is None else None

    return place_of


def told(notes: Iterable[Mapping[str, Any]]) -> VerdictOf:
    """What the newest of *notes* (RecordStore.confirmations) on a Step says, if it decides."""
    fates = {key: one.fate for key, one in newest(notes).items()}

    def verdict_of(step: Step) -> str | None:
        fate = fates.get(Nomination.parse(step.facts()).key)
        return fate.value if fate in (Fate.CONFIRMED, Fate.REFUTED) else None

    return verdict_of


def origins_of(workshop: Workshop) -> list[Mapping[str, Any]]:
    """Release and commit of all that the records speak of."""
    columns = ["release", "commit"]
    rows = distinct(workshop.records.table(columns), columns)
    return [*rows, *(vars(twin.origin) for twin in workshop.records.twins.all())]


def dots_of(workshop: Workshop) -> Dots:
    """The Dots of all records of *workshop*."""
    return dots(workshop.records.table(), workshop.records.twins.all())


def survey_records(
    workshop: Workshop, metric: str | None = None, *, drawn: Dots | None = None
) -> Survey:
    """The Survey of all records of *workshop*, of one *metric* or of those that flag.

    *drawn* are its Dots, where they are at hand.
    """
    traces = Traces.of(workshop.paths)
    memory = traces.load()
    before = dict(memory)
    found = survey(
        dots_of(workshop) if drawn is None else drawn,
        placer(workshop, origins_of(workshop)),
        metrics=[metric_named(metric)] if metric else FLAGGED,
        verdict_of=told(workshop.records.confirmations.all()),
        memory=memory,
    )
    if memory != before:
        traces.save(memory)
    return found
