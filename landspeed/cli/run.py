"""``landspeed run``: measure servers in interleaved order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from base.build import Variant
from base.errors import raise_if
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.metrics import INSTRUCTIONS
from benchmarks.workloads.scenario import parse_scales
from landspeed.campaign.campaign import Campaign, Request, Tally, failed, summary
from landspeed.campaign.plan import BuildPlan, MeasurementPlan
from landspeed.campaign.workloads import count_workloads
from landspeed.cli.options.asked import open_session, require_limit, require_none_of
from landspeed.cli.options.common import memory_option, metric_option, variant_options
from landspeed.cli.options.kinds import flag
from landspeed.cli.options.output import dry_run_option, emit_either, emit_json, json_option
from landspeed.cli.options.preset import chosen_preset, preset_options
from landspeed.cli.options.workloads import catalog_table, workload_options
from landspeed.cli.plan import show_plan
from landspeed.cli.publish import publish_now, tell_where
from landspeed.console.format import counted
from landspeed.console.progress import say
from landspeed.session.session import Session
from landspeed.session.target import Target, parse_targets

# A workload of the catalog is counted once, in a cell of its own.
_NOT_COUNTED = (
    *("preset", "scales", "tiers", "modes", "protocols", "clients", "configurations", "samples"),
    *("seconds", "script", "load"),
)


@click.command("run")
@click.argument(
    "refs", nargs=-1, required=True, metavar="REF[:VARIANT]...", envvar="LANDSPEED_RUN_REFS"
)
@variant_options
@preset_options
@metric_option
@memory_option
@workload_options
@flag("--publish", "Publish the site as results arrive.", name="publish_too")
@dry_run_option
@json_option
def run_(
    *,
    refs: tuple[str, ...],
    variant: Variant,
    preset: str | None,
    scales: tuple[str, ...],
    metric: str,
    memory: int | None,
    workloads: list[Workload],
    publish_too: bool,
    dry_run: bool,
    **changes: Any,
) -> None:
    """Build each REF, then measure the builds in interleaved order.

    Runs that are recorded already are not repeated, so after Ctrl-C the same command resumes.

    With --metric instructions, landspeed counts the instructions, WAL bytes and blocks of one
    transaction, with warm and with cold buffers, for one client and each mode and protocol of the
    preset. Counts are exact on any machine. --workload and --suite measure workloads of the catalog
    instead of the preset's modes, see "landspeed list --workloads".

    \b
    Examples:
      landspeed run 13 18 --preset quick --publish
      landspeed run 18 18:bs4 --preset regular --scale small=100
      landspeed run 17 18 --preset quick --mode read-only --clients 8 --samples 20
      landspeed run 13 18 --preset quick --metric instructions
      landspeed run 13 18 --preset archaeology --clients 8 --memory 1g
      landspeed run 18 18:bs4 --preset regular --dry-run
      landspeed run 13 18 --workload 'sort-*' --metric instructions
      landspeed run 17 18 --suite small --metric instructions
      landspeed run 17 18 --workload sort-text --clients 4
      landspeed run 17 18 --script mine.sql --load mine-setup.sql --metric instructions
    """
    targets = parse_targets(refs, variant)
    if workloads and metric == INSTRUCTIONS:
        require_limit(memory, counted=True)
        require_none_of(_NOT_COUNTED, "--workload")
        _run_workloads(targets, workloads, publish_too, dry_run=dry_run)
        return
    request = Request(
        targets=targets,
        preset=chosen_preset(preset or "quick", workloads, **changes),
        scales=parse_scales(scales),
        counted=metric == INSTRUCTIONS,
    )
    session = open_session(memory, counted=request.counted)
    if dry_run:
        _show_plan(session, request)
        return
    refresh = (lambda: publish_now(session)) if publish_too else None
    tally = Campaign(session=session, requests=[request], publish=refresh).run()
    _finish(session, tally, publish_too=publish_too)


def _run_workloads(
    targets: Sequence[Target],
    workloads: list[Workload],
    publish_too: bool,
    *,
    dry_run: bool,
) -> None:
    """Count *workloads* of the catalog on *targets*."""
    if dry_run:
        facts = [one.facts() for one in workloads]
        emit_either(catalog_table(workloads), facts)
        say(f"{counted(len(workloads), 'workload')} on {counted(len(targets), 'target')}")
        return
    session = Session(only_counts=True)
    tally = count_workloads(session, targets, workloads)
    if publish_too:
        publish_now(session)
    _finish(session, tally, publish_too=publish_too)


def _finish(session: Session, tally: Tally, *, publish_too: bool) -> None:
    """Print what was measured, and raise the error if anything failed."""
    for warning in tally.warnings():
        say(str(warning))
    say(summary(tally))
    emit_json(tally.facts())
    if publish_too:
        tell_where(session.paths)
    raise_if(failed(tally))


def _show_plan(session: Session, request: Request) -> None:
    """Print the builds and runs of *request*, as if nothing were recorded yet."""
    for target in request.targets:
        if target.registered is not None:
            session.named(target)  # fails if no server is registered under that name
    measurements = MeasurementPlan(
        machine=session.machine,
        root=session.paths.server_root,
        preset=request.preset,
        scales=request.scales,
        builds=len(request.targets),
        counted=request.counted,
    )
    sources = [target for target in request.targets if target.registered is None]
    show_plan([BuildPlan.of(session.builder, target, None) for target in sources], measurements)
