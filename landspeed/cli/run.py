"""``landspeed run``: measure servers in interleaved order."""

from __future__ import annotations

from typing import Any

import click

from base.build import Variant
from benchmarks.workloads.metrics import INSTRUCTIONS
from benchmarks.workloads.scenario import parse_scales
from landspeed.campaign.campaign import Campaign, Request, failed, summary
from landspeed.campaign.plan import BuildPlan, MeasurementPlan
from landspeed.cli.options.common import emit_json, json_option, metric_option, variant_options
from landspeed.cli.options.dry_run import dry_run_option
from landspeed.cli.options.memory import memory_option, require_limit
from landspeed.cli.options.preset import chosen_preset, preset_options
from landspeed.cli.plan import show_plan
from landspeed.cli.publish import publish_now, tell_where
from landspeed.console.progress import say
from landspeed.session.session import Session
from landspeed.session.target import parse_targets


@click.command("run")
@click.argument(
    "refs", nargs=-1, required=True, metavar="REF[:VARIANT]...", envvar="LANDSPEED_RUN_REFS"
)
@variant_options
@preset_options
@metric_option
@memory_option
@click.option("--publish", "publish_too", is_flag=True, help="Publish the site as results arrive.")
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
    publish_too: bool,
    dry_run: bool,
    as_json: bool,
    **changes: Any,
) -> None:
    """Build each REF, then measure the builds in interleaved order.

    Runs that are recorded already are not repeated, so after Ctrl-C the same command resumes.

    With --metric instructions, landspeed counts the instructions, WAL bytes and blocks of one
    transaction, with warm and with cold buffers, for one client and each mode and protocol of the
    preset. Counts are exact on any machine.

    \b
    Examples:
      landspeed run 13 18 --preset quick --publish
      landspeed run 18 18:bs4 --preset regular --scale small=100
      landspeed run 17 18 --preset quick --mode read-only --clients 8 --samples 20
      landspeed run 13 18 --preset quick --metric instructions
      landspeed run 13 18 --preset archaeology --clients 8 --memory 1g
      landspeed run 18 18:bs4 --preset regular --dry-run
    """
    targets = parse_targets(refs, variant)
    request = Request(
        targets=targets,
        preset=chosen_preset(preset or "quick", **changes),
        scales=parse_scales(scales),
        counted=metric == INSTRUCTIONS,
    )
    require_limit(memory, counted=request.counted)
    session = Session.open(memory=memory)
    if dry_run:
        _show_plan(session, request, as_json=as_json)
        return
    refresh = (lambda: publish_now(session)) if publish_too else None
    tally = Campaign(session=session, requests=[request], publish=refresh).run()
    for warning in tally.warnings():
        say(str(warning))
    say(summary(tally))
    if as_json:
        emit_json(tally.facts())
    if publish_too:
        tell_where(session.paths)
    error = failed(tally)
    if error is not None:
        raise error


def _show_plan(session: Session, request: Request, *, as_json: bool) -> None:
    """Print the builds and runs of *request*, as if nothing were recorded yet."""
    for target in request.targets:
        if target.registered is not None:
            session.named(target)  # fails if no server is registered under that name
    measurements = MeasurementPlan.of(
        session.machine,
        session.paths.server_root,
        request.preset,
        request.scales,
        len(request.targets),
        counted=request.counted,
    )
    sources = [target for target in request.targets if target.registered is None]
    builds = [BuildPlan.of(session.builder, target, None) for target in sources]
    show_plan(builds, measurements, as_json=as_json)
