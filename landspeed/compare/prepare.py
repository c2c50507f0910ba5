"""From the sides that are asked for to the plan of their comparison: built, each in its cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from base.errors import NotApplicableError, UsageError
from benchmarks.applicability import counted_cells, planned_cells
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.valgrind import require_countable
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.metrics import Metric
from benchmarks.workloads.scenario import CacheState, Cell, Tier
from landspeed.compare.aa_copy import AA_PRESET, aa_copy
from landspeed.compare.plan import ComparePlan, CompareSide
from landspeed.compare.side import CompareScenario, Side
from landspeed.compare.verdict import StoppingRule
from landspeed.sampling.sampler import Sampler
from landspeed.session.session import Session, built

_RULE = StoppingRule()


def plan_comparison(
    session: Session,
    sides: Sequence[Side],
    scenario: CompareScenario,
    *,
    metric: Metric,
    budget: float,
    preset: str = "compare",
    rule: StoppingRule = _RULE,
    copies: ExitStack | None = None,
) -> ComparePlan:
    """Build *sides* and return the plan of their comparison in *scenario*.

    With *copies*, a server that is named again is replaced by an A/A copy of itself, which is
    removed when *copies* is closed. Raises the error of a build that failed, NotApplicableError
    if the machine cannot run the scenario.
    """
    _require_script(session, scenario)
    builds = built(session, list(dict.fromkeys(side.target for side in sides)))
    cells = cells_of(session, scenario, [side.profile for side in sides], metric.buffers)
    planned = []
    for side in sides:
        build, cell = builds[side.target], cells[side.profile]
        label = f"{build.label} {side.profile}" if len(cells) > 1 else build.label
        planned.append(CompareSide(label=label, build=build, cell=cell))
        if not cell.scenario.runs_on(build.version):
            raise NotApplicableError(f"{label} does not have {cell.scenario.mode}")
    if copies is not None:
        if len({one.key for one in planned}) == 1:
            preset = AA_PRESET
        planned = _with_copies(session, planned, copies)
    return ComparePlan(
        sides=tuple(planned),
        pgbench=_pgbench(session, scenario),
        metric=metric,
        rule=rule.of(metric),
        seconds=scenario.seconds,
        budget=budget,
        preset=preset,
    )


def cells_of(
    session: Session,
    scenario: CompareScenario,
    profiles: Sequence[str],
    cache: CacheState | None = None,
) -> dict[str, Cell]:
    """Return the cell of *scenario* under each of *profiles*.

    With *cache* it is the counted cell; UsageError if the scenario cannot be counted.
    NotApplicableError if a cell cannot run on this machine.
    """
    if cache and (scenario.clients != 1 or scenario.tier is not Tier.SMALL):
        raise UsageError(
            "a counted metric needs one client and data that fits in shared_buffers",
            hint="Leave out the clients and the scale, or measure latency instead.",
        )
    every = (counted_cells if cache else planned_cells)(
        scenario.preset(tuple(dict.fromkeys(profiles))),
        session.machine,
        session.paths.server_root,
        scenario.scales,
    )
    planned = [one for one in every if one.cell.buffers == cache]
    for one in planned:
        if one.reason is not None:
            raise NotApplicableError(
                "this machine cannot run the scenario",
                detail=one.reason,
                hint="Choose a smaller --scale or fewer --clients.",
            )
    if not planned:
        raise UsageError(
            f"{scenario.mode} is counted with warm buffers only",
            hint="Give --metric instructions, or leave out /cold.",
        )
    return {one.cell.profile: one.cell for one in planned}


def cell_of(session: Session, scenario: CompareScenario, cache: CacheState | None = None) -> Cell:
    """Return the cell of *scenario* under its own profile (see `cells_of`)."""
    return cells_of(session, scenario, [scenario.profile], cache)[scenario.profile]


def sampler_of(session: Session, scenario: CompareScenario, metric: Metric) -> Sampler:
    """Return what measures *metric* in the cell of *scenario* (see `cells_of`)."""
    if metric.exact:
        require_countable()  # before the first build
    _require_script(session, scenario)
    return Sampler(
        session=session,
        cell=cell_of(session, scenario, metric.buffers),
        metric=metric,
        pgbench=_pgbench(session, scenario),
        seconds=scenario.seconds,
    )


def _require_script(session: Session, scenario: CompareScenario) -> None:
    """UsageError, before anything else is built, if pgbench does not understand a script."""
    if isinstance(scenario.mode, Script):
        _pgbench(session, scenario).require_scripts([scenario.mode])


def _pgbench(session: Session, scenario: CompareScenario) -> Pgbench:
    is_script = isinstance(scenario.mode, Script)
    return Pgbench(build=session.pgbench_build(with_server=is_script))


def _with_copies(
    session: Session, sides: Sequence[CompareSide], copies: ExitStack
) -> list[CompareSide]:
    """Return *sides*, each server that recurs replaced by a copy of it."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for one in sides:
        number = seen[one.key]
        seen[one.key] += 1
        if number:
            copy = copies.enter_context(aa_copy(one.build, number, session.paths))
            label = f"{one.label} (copy{'' if number == 1 else f' {number}'})"
            found.append(replace(one, label=label, build=copy))
        else:
            found.append(one)
    return found
