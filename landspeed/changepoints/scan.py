"""Find the changepoints in a project's own records."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from base.build import Origin
from benchmarks.records.identical_builds import IdenticalBuild
from benchmarks.workloads.metrics import metric_named
from builders.source import Position
from landspeed.changepoints.cache import TraceCache
from landspeed.changepoints.changepoint import Confirmation, decided
from landspeed.changepoints.detect import FLAGGED, ChangepointScan, detect
from landspeed.results.arrays import distinct
from landspeed.results.points import Dots
from landspeed.results.series import RELEASES_LINE, PlaceOf
from landspeed.session.session import Session


@dataclass(frozen=True, kw_only=True)
class PlacedDots:
    """Points of all records, and the place in history of every origin in the records.

    ``commits`` are the upstream commits among the origins.
    """

    dots: Dots
    place_of: PlaceOf
    commits: frozenset[str]

    @classmethod
    def of(cls, session: Session) -> PlacedDots:
        """Read the records of *session*."""
        table = session.records.table()
        twins = session.records.identical_builds.read(IdenticalBuild)
        # A comparison's runs are not drawn, but their commits need a place all the same.
        columns = ["release", "commit"]
        origins = [*distinct(table, columns), *(vars(twin.origin) for twin in twins)]
        commits = frozenset(
            row["commit"] for row in origins if row["commit"] and not row["release"]
        )
        return cls(dots=Dots(table, twins), place_of=_place_of(session, commits), commits=commits)


def _place_of(session: Session, commits: Collection[str]) -> PlaceOf:
    """Return the function from an origin to its place: of releases, and of each of *commits*."""
    sources = session.builder.sources
    releases = {name: i for i, name in enumerate(sources.releases_branch())}
    # A machine that only publishes has not yet fetched the commits that others measured.
    sources.fetch_missing(commits)
    found = sources.positions(commits)

    def place_of(origin: Origin) -> Position | None:
        if origin.release in releases:
            return Position(branch=RELEASES_LINE, position=releases[origin.release])
        return found.get(origin.commit or "") if origin.release is None else None

    return place_of


def scan_records(
    session: Session, metric: str | None = None, *, placed: PlacedDots | None = None
) -> ChangepointScan:
    """Return the changepoints of *metric*, or of all flagged metrics, in the records of *session*.

    *placed* saves reading the records where that was done already.
    """
    placed = placed or PlacedDots.of(session)
    cache = TraceCache.of(session.paths)
    traces = cache.load()
    before = dict(traces)
    found = detect(
        placed.dots,
        placed.place_of,
        metrics=[metric_named(metric)] if metric else FLAGGED,
        statuses=decided(session.records.confirmations.read(Confirmation)),
        traces=traces,
    )
    if traces != before:
        cache.save(traces)
    return found
