"""A server against its double, for the ledger: which, and when a comparison makes way for the next.

The comparison is the one that ``landspeed compare`` carries out, to the same end: it cannot
know that it is of a server with itself.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import pyarrow.compute as pc

from base.build import Build
from benchmarks.clients.pgbench import Pgbench
from benchmarks.workloads.metrics import METRICS
from benchmarks.workloads.points import Point, PointKey, count_samples
from benchmarks.workloads.scenario import Cell, Mode, Protocol, Scenario, Tier
from landspeed.compare.aa_copy import doubled
from landspeed.compare.prepare import cells_of
from landspeed.compare.side import Question
from landspeed.compare.timed import ComparePlan, CompareSide, CompareState, compare, recorded
from landspeed.compare.verdict import StoppingRule
from landspeed.console.progress import say
from landspeed.session.session import Session

PRESET = "ledger"
BLOCKS = 60
"""The most blocks of one comparison of a server with itself; then the next one begins."""

RUNS_A_BLOCK = 50
"""``landspeed run`` adds one block (two Runs) for so many Runs of its own: 4 %."""

_GOAL = StoppingRule()
_LATENCY = METRICS[0]


def is_finished(course: CompareState) -> bool:
    """Whether the comparison is over, so that the next one is to begin."""
    return course.comparison.is_settled or len(course.comparison.blocks) >= BLOCKS


def compare_with_itself(
    session: Session,
    pgbench: Pgbench,
    point: Point,
    *,
    seconds: int,
    blocks: int = BLOCKS,
) -> CompareState:
    """Go on with the comparison of *point*'s server with its double, by up to *blocks*.

    One that is finished makes way for a new one.
    """
    with ExitStack() as held:
        double = held.enter_context(doubled(point.build, 1, session.paths))
        contest = _contest(point, double, pgbench, seconds, budget=0.0)
        course = recorded(contest, session.records, session.machine)
        fresh = is_finished(course)
        before = 0 if fresh else len(course.comparison.blocks)
        # what compare() may spend is all its blocks, so those that are there count again
        each = course.each or contest.guess
        spent = 0.0 if fresh else course.spent
        more = min(blocks, BLOCKS - before)
        contest = _contest(point, double, pgbench, seconds, budget=spent + (more + 0.5) * each)
        say(f"ledger: {point.label} against a copy of itself, {before} blocks recorded already")
        return compare(session, contest, fresh=fresh)


def _contest(
    point: Point, double: Build, pgbench: Pgbench, seconds: int, *, budget: float
) -> ComparePlan:
    def contender(label: str, build: Build) -> CompareSide:
        return CompareSide(label=label, build=build, original=point.build.digest, cell=point.cell)

    return ComparePlan(
        contenders=(
            contender(point.build.label, point.build),
            contender(f"{point.build.label} (copy)", double),
        ),
        pgbench=pgbench,
        metric=_LATENCY,
        goal=_GOAL,
        seconds=seconds,
        budget=budget,
        preset=PRESET,
    )


def point_due(session: Session, builds: Sequence[Build], cells: Sequence[Cell]) -> Point | None:
    """The Point whose comparison with itself is to go on: one that has begun, else any.

    Only of what loads in seconds, the small tier, in pgbench's own modes; None if there is none.
    """
    points = [
        Point(build=build, cell=cell)
        for build in builds
        for cell in cells
        if cell.scenario.tier is Tier.SMALL and isinstance(cell.scenario.mode, Mode)
    ]
    if not points:
        return None
    here = (pc.field("preset") == PRESET) & _here(session)
    have = count_samples(session.records.table().filter(here))
    random.SystemRandom().shuffle(points)
    return max(points, key=lambda point: have[point.key] % BLOCKS)


def least_tried(session: Session, newest: Build) -> tuple[Point, int]:
    """The Point, of those measured here and still built, with the fewest comparisons with itself.

    And the seconds of its Runs. Where nothing is measured yet, *newest* in the usual cell.
    """
    table = session.records.table().filter(_here(session))
    known = {one.identifier: one for one in session.foreigners.all()}
    points: dict[PointKey, tuple[Point, int]] = {}
    tried: Counter[PointKey] = Counter()
    seen: set[tuple[str, PointKey]] = set()
    for row in table.to_pylist():
        build = known.get(row["build"]) or session.builder.store.find(row["build"])
        if build is None or row["tier"] != Tier.SMALL or row["mode"] not in list(Mode):
            continue  # a script's text is its study's, not the record's
        known[row["build"]] = build
        point = Point(build=build, cell=_cell(row))
        points.setdefault(point.key, (point, int(row["seconds"])))
        if row["preset"] == PRESET and (row["comparison"], point.key) not in seen:
            seen.add((row["comparison"], point.key))
            tried[point.key] += 1
    if not points:
        question = Question()
        cell = cells_of(session, question, [question.profile])[question.profile]
        return Point(build=newest, cell=cell), question.seconds
    return points[min(points, key=lambda key: tried[key])]


def _here(session: Session) -> pc.Expression:
    machine = session.machine
    return (pc.field("machine") == machine.name) & (pc.field("epoch") == machine.epoch.identifier)


def _cell(row: Mapping[str, Any]) -> Cell:
    return Cell(
        scenario=Scenario(
            mode=Mode(row["mode"]),
            protocol=Protocol(row["protocol"]),
            tier=Tier(row["tier"]),
            scale=row["scale"],
        ),
        clients=row["clients"],
        profile=row["profile"],
    )
