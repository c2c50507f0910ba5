"""``landspeed farm plan``: what to measure of the commits and releases that are new upstream."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click

from builders.config import CONFIG_NAME
from landspeed.changepoints.scan import scan_records
from landspeed.cli.options.kinds import budget_option, flag
from landspeed.cli.options.output import as_json, emit, emit_json, json_option
from landspeed.console.github_log import put_outputs, put_summary
from landspeed.console.markdown import code, markdown_table, plain
from landspeed.console.params import spell_duration
from landspeed.console.progress import duration, say
from landspeed.farm.jobs import track_outputs
from landspeed.farm.plan import Assignment, MeasureKind, TrackingPlan, tracking_plan
from landspeed.results.queue import Queue
from landspeed.session.session import Session
from landspeed.session.target import Target
from landspeed.session.tracking_config import TrackingConfig


@click.command("plan")
@click.option(
    "--branch",
    "branches",
    multiple=True,
    metavar="PATTERN",
    help="Watch this branch, or the branches of a pattern such as REL_*_STABLE; may be repeated.",
)
@click.option(
    "--measure",
    type=click.Choice([kind.value for kind in MeasureKind]),
    help="Plan only what is counted, or only what is timed; by default both.",
)
@budget_option(None, "Time for everything on each machine; by default that of [track]")
@click.option(
    "--outputs",
    "outputs_to",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Append the matrices of a workflow to FILE, by default to $GITHUB_OUTPUT.",
)
@flag("--note", "Keep what each machine has left to measure in results/, for the page Status.")
@json_option
def plan_(
    *,
    branches: tuple[str, ...],
    measure: str | None,
    budget: float | None,
    outputs_to: Path | None,
    note: bool,
) -> None:
    """Plan what to measure of the commits and releases that are new upstream.

    Fetches from upstream, then looks for commits of the watched branches and for release tags
    without records. The newest comes first, then always the middle of the largest gap, until the
    budget is full. The section [track] of landspeed.toml says what to watch.

    \b
    Examples:
      landspeed farm plan
      landspeed farm plan --branch master --branch 'REL_*_STABLE' --budget 4h
      landspeed farm plan --json
    """
    session = Session()
    track = TrackingConfig.load(
        session.paths.project / CONFIG_NAME,
        branches=branches,
        budget=None if budget is None else spell_duration(budget),
    )
    session.builder.sources.refresh()
    plan = tracking_plan(session, track, scan_records(session))
    waiting = [one for one in plan.assignments if one.due]
    for one in waiting if note else ():
        time, targets = datetime.now(UTC).isoformat(timespec="seconds"), map(str, one.targets)
        queue = Queue(machine=one.machine, time=time, targets=tuple(targets), due=one.due)
        session.records.queues.add(queue)
    if measure:
        plan = plan.limited_to(MeasureKind(measure))
    told = track_outputs(session, track, plan)
    told["waiting"] = " ".join(one.machine for one in waiting)
    put_outputs(told, outputs_to)
    put_summary("\n".join(_markdown(plan)))
    emit_json(told)
    for line in () if as_json() else _lines(plan):
        emit(line)
    say(_said(plan))


def _lines(plan: TrackingPlan) -> Iterator[str]:
    for target in plan.targets:
        one = plan.revisions[target.ref]
        how = ", ".join(_how(plan, target))
        yield f"{target.short}  {one.line}  {plain(one.subject, longest=60)}  ({how})"


def _how(plan: TrackingPlan, target: Target) -> list[str]:
    timed = [f"time on {share.machine}" for share in plan.timed if target in share.targets]
    return [*(["count"] if target in plan.counted.targets else []), *timed]


def _said(plan: TrackingPlan) -> str:
    parts = [_share_said(share) for share in plan.assignments if share.due]
    if not parts:
        parts = ["nothing new: everything tracked is measured"]
    if plan.broken:
        parts.append(f"{plan.broken} skipped: they do not build")
    if plan.unconfirmed:
        parts.append(f"changepoints to confirm on {', '.join(plan.unconfirmed)}")
    return "; ".join(parts)


def _share_said(share: Assignment) -> str:
    chosen = len(share.targets)
    left = "" if chosen == share.due else f", {share.due - chosen} later"
    return f"{chosen} to measure on {share.machine} in about {duration(share.seconds)}{left}"


def _markdown(plan: TrackingPlan) -> Iterator[str]:
    yield f"**{_said(plan)}**"
    if not plan.targets:
        return
    rows = (
        (target.short, code(one.line), code(one.subject), ", ".join(_how(plan, target)))
        for target in plan.targets
        for one in [plan.revisions[target.ref]]
    )
    yield from ("", markdown_table(("commit", "branch", "subject", ""), rows))
