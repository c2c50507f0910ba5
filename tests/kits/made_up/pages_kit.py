"""A made-up history for tests of the pages: releases, builds, commits, changepoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import product
from typing import Any

import pyarrow as pa

from base.build import Origin
from benchmarks.records.columns import scalars
from builders.source import Position
from builders.source.history import Commit
from landspeed.bisect.note import BisectionNote
from landspeed.changepoints.changepoint import ChangepointStatus, Confirmation
from landspeed.changepoints.detect import ChangepointScan, detect
from landspeed.results.points import Dots
from landspeed.results.series import RELEASES_LINE
from landspeed.site.pages.data import PageInputs, page_files
from tests.kits.made_up.results_kit import bisection, candidate, span
from tests.kits.made_up.synthetic import RELEASES, START, Point, record

Records = Iterable[Mapping[str, Any]]

HOSTILE = "<img src=x onerror=alert(1)>"
AUTHORS = ("Grace Hopper", f"{HOSTILE} Mallory", "Edgar Codd")
SUBJECTS = ("Speed up sequential scans", f"<script>alert(1)</script>{HOSTILE}\u202e", "Fix a typo")


def hash_of(number: int) -> str:
    return f"{number + 0xABC000:010x}{'5' * 30}"


def commits(count: int) -> dict[str, Commit]:
    """Return *count* upstream commits by hash; some have hostile subjects and authors."""
    return {
        hash_of(number): Commit(
            hash=hash_of(number),
            date="2026-01-01",
            author=AUTHORS[number % 3],
            email="a@example.org",
            authored="2026-01-01",
            subject=SUBJECTS[number % 3],
        )
        for number in range(count)
    }


def place_of(origin: Origin) -> Position | None:
    """Releases in the order of RELEASES, commits of ``hash_of`` on master by their number."""
    if origin.release in RELEASES:
        return Position(branch=RELEASES_LINE, position=list(RELEASES).index(str(origin.release)))
    if origin.commit is None or origin.release is not None:
        return None
    return Position(branch="master", position=int(origin.commit[:10], 16) - 0xABC000)


def runs(
    origins: Iterable[Mapping[str, Any]],
    *,
    at: timedelta = timedelta(),
    count: int = 3,
    clients: Sequence[int] = (1, 4),
    modes: Sequence[str] = ("read-only", "read-write"),
    **point: Any,
) -> list[dict[str, Any]]:
    """*count* records of each cell of each of *origins* (fields of a Point)."""
    made, moment = [], START + at
    for origin, rung, mode, number in product(origins, clients, modes, range(count)):
        moment += timedelta(seconds=7)
        facts = {"clients": rung, "mode": mode, **point, **origin}
        made.append(record(Point(**facts), number=number, at=moment))
    return made


def releases(**levels: float) -> list[dict[str, Any]]:
    """A Point's fields for each of RELEASES, older ones slower."""
    return [
        {"release": name, "date": date, "latency_ms": 0.1 * (1 + 0.05 * age)}
        for age, (name, date) in enumerate(reversed(RELEASES.items()))
    ]


def commit_points(count: int, *, latency_ms: float = 0.1) -> list[dict[str, Any]]:
    """A Point's fields for each of the commits 0 … *count* - 1."""
    return [
        {
            "release": None,
            "commit": hash_of(number),
            "date": f"202{5 + number // 30}-01-{number % 30 + 1:02}T10:00:00+00:00",
            "latency_ms": latency_ms,
        }
        for number in range(count)
    ]


def table_of(*records: Records) -> pa.Table:
    """What RecordStore.table() would be, had it these records."""
    return scalars(sorted((one for some in records for one in some), key=lambda one: one["id"]))


def whole_table(commits_: int = 3) -> pa.Table:
    """Releases at 8 kB, the newest at 4 kB too, and some commits."""
    return table_of(
        runs(releases()),
        runs(releases()[:1], at=timedelta(hours=1), blocksize=4),
        runs(commit_points(commits_), at=timedelta(hours=2), count=2, modes=("read-only",)),
    )


def files_of(table: pa.Table, inputs: PageInputs | None = None) -> dict[str, str]:
    return page_files(Dots(table), place_of, inputs or PageInputs(commits=commits(40)))


def stepped() -> ChangepointScan:
    """Scan a history whose releases got slower at 17.6, and 4 clients also faster."""
    points = [
        {**one, "latency_ms": 0.12 if one["release"] in ("17.6", "18.1") else 0.1}
        for one in releases()
    ]
    table = table_of(runs(points, count=8, modes=("read-only",)))
    return detect(Dots(table), place_of)


def confirmed(step: Any, fate: ChangepointStatus, *, ratio: float = 1.2) -> Confirmation:
    """The note that fresh samples of *step* had this *fate*."""
    return Confirmation(
        changepoint=step,
        status=fate,
        time="2026-02-01T00:00:00Z",
        comparison="abc",
        finding={"ratio": ratio, "interval": [ratio - 0.02, ratio + 0.02], "blocks": 30},
    )


def bisected(
    step: Any, *, answer: str = "culprit", ref: str | None = None, count: int = 1, **changes: Any
) -> BisectionNote:
    """The note that *step* was bisected to *ref* or *count* commits up to it.

    *changes* are made to its report.
    """
    culprit = {
        "name": (ref or hash_of(1))[:10],
        "ref": ref or hash_of(1),
        "date": "2025-01-02",
        "subject": SUBJECTS[1],
        "author": AUTHORS[1],
        "email": "a@example.org",
        "parent": candidate(0) | {"name": hash_of(0)[:10]},
        "steps": span(1) | {"count": count},
    }
    facts = {
        "answer": answer,
        "confidence": 0.993,
        "variant": step.variant.name,
        "metric": step.metric,
        "machine": {"name": step.machine, "cpu": "", "cores": 2},
        "culprit": culprit if answer in ("culprit", "range", "refuted") else None,
    }
    return bisection(step.key, **facts | changes)
