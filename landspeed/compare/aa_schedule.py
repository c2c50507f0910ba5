"""Which server to compare with a copy of itself, and when one such A/A comparison is complete.

The code that compares a server with its copy is that of ``landspeed compare``, with the same
stopping rule: it cannot know that both sides are the same server.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow.compute as pc

from base.build import Build
from benchmarks.clients.pgbench import Pgbench
from benchmarks.workloads.metrics import METRICS
from benchmarks.workloads.points import Point, PointKey, count_samples
from benchmarks.workloads.scenario import Cell, Mode, Protocol, Scenario, Tier
from landspeed.compare.aa_copy import AA_PRESET, aa_copy
from landspeed.compare.plan import ComparePlan, CompareSide, CompareState
from landspeed.compare.prepare import cell_of
from landspeed.compare.side import CompareScenario
from landspeed.compare.timed import compare_timed, recorded_state
from landspeed.compare.verdict import StoppingRule
from landspeed.console.format import counted
from landspeed.console.progress import say
from landspeed.results.arrays import distinct
from landspeed.session.session import Session

BLOCKS = 60
"""The most blocks of one A/A comparison; then the next one begins."""

RUNS_PER_BLOCK = 50
"""``landspeed run`` adds one A/A block (two runs) for so many runs of its own: 4 %."""

_LATENCY = METRICS[0]
_COMPARED = (
    *("build", "mode", "protocol", "tier", "scale", "clients", "profile", "seconds"),
    *("preset", "comparison"),
)


def compare_with_itself(
    session: Session, pgbench: Pgbench, point: Point, *, seconds: int, blocks: int = BLOCKS
) -> CompareState:
    """Continue the A/A comparison of *point* by up to *blocks*; begin a new one after the last."""
    with aa_copy(point.build, 1, session.paths) as copy:
        original = CompareSide.of(point.build, point.cell)
        plan = ComparePlan(
            sides=(original, replace(original, label=f"{original.label} (copy)", build=copy)),
            pgbench=pgbench,
            metric=_LATENCY,
            rule=StoppingRule(),
            seconds=seconds,
            budget=0.0,
            preset=AA_PRESET,
        )
        state = recorded_state(session, plan)
        done, spent = len(state.comparison.blocks), state.spent
        fresh = state.comparison.is_settled or done >= BLOCKS
        if fresh:
            done, spent = 0, 0.0
        # The budget is for all blocks of a comparison, so those that are recorded count again.
        each = state.block_seconds or plan.block_estimate
        budget = spent + (min(blocks, BLOCKS - done) + 0.5) * each
        say(f"A/A: {point.label} against a copy of itself, {counted(done, 'block')} recorded")
        return compare_timed(session, replace(plan, budget=budget), fresh=fresh)


def point_due(session: Session, builds: Sequence[Build], cells: Sequence[Cell]) -> Point | None:
    """Return the point whose A/A comparison to continue: one that has begun, else any.

    Only cells of the small tier, which load in seconds, in pgbench's own modes. None if there
    is none.
    """
    points = [
        Point(build=build, cell=cell)
        for build in builds
        for cell in cells
        if cell.scenario.tier is Tier.SMALL and isinstance(cell.scenario.mode, Mode)
    ]
    if not points:
        return None
    here = (pc.field("preset") == AA_PRESET) & _here(session)
    have = count_samples(session.records.table().filter(here))
    random.SystemRandom().shuffle(points)
    return max(points, key=lambda point: have[point.key] % BLOCKS)


def least_compared(session: Session, newest: Build) -> tuple[Point, int]:
    """Return the point with the fewest A/A comparisons, and the seconds of its runs.

    It is among those that were measured on this machine and whose build exists. Where nothing
    is measured yet it is *newest* in the default scenario.
    """
    # there may be a million runs
    rows = distinct(session.records.table().filter(_here(session)), _COMPARED)
    known = {one.identifier: one for one in session.external_servers.all()}
    points: dict[PointKey, tuple[Point, int]] = {}
    comparisons: dict[PointKey, set[str]] = defaultdict(set)
    for row in rows:
        build = known.get(row["build"]) or session.builder.store.find(row["build"])
        # The text of a script is in its study, not in the record.
        if build is None or row["tier"] != Tier.SMALL or row["mode"] not in list(Mode):
            continue
        known[row["build"]] = build
        point = Point(build=build, cell=_cell(row))
        points.setdefault(point.key, (point, int(row["seconds"])))
        if row["preset"] == AA_PRESET:
            comparisons[point.key].add(row["comparison"])
    if not points:
        scenario = CompareScenario()
        return Point(build=newest, cell=cell_of(session, scenario)), scenario.seconds
    return points[min(points, key=lambda key: len(comparisons[key]))]


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
