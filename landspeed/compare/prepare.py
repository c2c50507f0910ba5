"""From the sides that are asked for to a ComparePlan: built, in their Cells, and told apart."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from base.build import Build
from base.errors import NotApplicableError, UsageError
from benchmarks.applicability import counted_cells, planned_cells
from benchmarks.clients.pgbench import Pgbench
from benchmarks.workloads.metrics import Metric
from benchmarks.workloads.scenario import CacheState, Cell, Tier
from landspeed.compare.aa_copy import doubled
from landspeed.compare.side import Question, Side
from landspeed.compare.timed import ComparePlan, CompareSide
from landspeed.session.session import Session, build_failure


def built_sides(session: Session, sides: Sequence[Side]) -> list[Build]:
    """The Build of every one of *sides*; the error that they end with if one cannot be made."""
    targets = list(dict.fromkeys(side.target for side in sides))
    outcomes = session.build_all(targets, jobs=None)
    error = build_failure(list(outcomes.values()))
    if error is not None:
        raise error
    found = [outcomes[side.target] for side in sides]
    return [build for build in found if isinstance(build, Build)]


def cells_of(
    session: Session,
    question: Question,
    profiles: Sequence[str],
    buffers: CacheState | None = None,
) -> dict[str, Cell]:
    """The Cell that *question* is under each of *profiles*; NotApplicableError if one cannot be.

    With *buffers* the one in which it is counted; UsageError if it is none that is counted.
    """
    if buffers and (question.clients != 1 or question.tier is not Tier.SMALL):
        raise UsageError(
            "what is exact is counted with one client, on data that fits shared_buffers",
            hint="Leave out --clients and --scale, or choose --metric latency.",
        )
    cells = counted_cells if buffers else planned_cells
    every = cells(
        question.preset(tuple(dict.fromkeys(profiles))),
        session.machine,
        session.paths.server_root,
        question.scales,
    )
    planned = [one for one in every if one.cell.buffers == buffers]
    for one in planned:
        if one.reason is not None:
            raise NotApplicableError(
                "this cannot be measured on this machine",
                detail=one.reason,
                hint="Choose a smaller --scale or fewer --clients.",
            )
    return {one.cell.profile: one.cell for one in planned}


def contenders_of(
    session: Session,
    sides: Sequence[Side],
    question: Question,
    buffers: CacheState | None = None,
) -> list[CompareSide]:
    """*sides*, built, each in the Cell of *question*; the one with *buffers* if it is counted."""
    builds = built_sides(session, sides)
    cells = cells_of(session, question, [side.profile for side in sides], buffers)
    several = len(cells) > 1
    return [
        CompareSide(
            label=f"{build.label} {side.profile}" if several else build.label,
            build=build,
            original=build.digest,
            cell=cells[side.profile],
        )
        for side, build in zip(sides, builds, strict=True)
    ]


def with_doubles(
    session: Session, contenders: Sequence[CompareSide], held: ExitStack
) -> list[CompareSide]:
    """*contenders*, where what was there before is replaced by a double of it."""
    seen: dict[tuple[str, str], int] = {}
    found = []
    for one in contenders:
        number = seen.get(one.key, 0)
        seen[one.key] = number + 1
        if number:
            double = held.enter_context(doubled(one.build, number, session.paths))
            label = f"{one.label} (copy{'' if number == 1 else f' {number}'})"
            found.append(replace(one, label=label, build=double))
        else:
            found.append(one)
    return found


def _require_different(contenders: Sequence[CompareSide]) -> None:
    seen: dict[tuple[str, str], CompareSide] = {}
    for one in contenders:
        other = seen.setdefault(one.key, one)
        if other is not one:
            raise UsageError(
                f"{other.label} and {one.label} are the same server",
                detail=f"They installed the very same files, sha256 {one.build.digest[:16]}…, "
                f"and run under profile {one.cell.profile}.",
                hint="With --aa it is compared with a copy of itself: what differs then is noise.",
            )


def prepare_contest(
    session: Session,
    sides: Sequence[Side],
    question: Question,
    *,
    aa: bool,
    held: ExitStack,
    metric: Metric,
    **how: Any,
) -> ComparePlan:
    """The ComparePlan of *sides*, all of them built; with *aa* copies take the place of what recurs."""
    contenders = contenders_of(session, sides, question, metric.buffers)
    if aa:
        contenders = with_doubles(session, contenders, held)
    else:
        _require_different(contenders)
    same = len({(one.original, one.cell.profile) for one in contenders}) == 1
    return ComparePlan(
        contenders=tuple(contenders),
        pgbench=Pgbench(build=session.pgbench_build()),
        seconds=question.seconds,
        metric=metric,
        preset="ledger" if same else "compare",
        **how,
    )
