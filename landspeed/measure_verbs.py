"""The verbs that measure and show: run, publish, preview, show and doctor."""

from __future__ import annotations

import sys
from typing import Any

import click

from base.build import Variant
from base.paths import Paths
from benchmarks.scenarios import parse_scales
from landspeed import doctor as doctor_
from landspeed.actions import put_outputs
from landspeed.campaign import Campaign, Request, failed, summary
from landspeed.fix_hints import fix_hints as fix_hints_
from landspeed.memory_option import memory_option, require_limit
from landspeed.options import (
    INSTRUCTIONS,
    emit,
    emit_json,
    json_option,
    metric_option,
    variant_options,
)
from landspeed.point_query import SPELLING, parse_point
from landspeed.preset_options import chosen_preset, preset_options
from landspeed.preview import serving
from landspeed.progress import say
from landspeed.show import as_text, details, find_points, overview
from landspeed.site import has_dots, update_site
from landspeed.target import parse_targets
from landspeed.workshop import Workshop


@click.command()
@click.argument(
    "refs", nargs=-1, required=True, metavar="REF[:VARIANT]...", envvar="LANDSPEED_RUN_REFS"
)
@variant_options
@preset_options
@metric_option
@memory_option
@click.option("--publish", "publish_too", is_flag=True, help="Publish the site as results come.")
@json_option
def run(
    *,
    refs: tuple[str, ...],
    variant: Variant,
    preset: str | None,
    scales: tuple[str, ...],
    metric: str,
    memory: int | None,
    publish_too: bool,
    as_json: bool,
    **changes: Any,
) -> None:
    """Build every REF, then measure them interleaved; what is recorded is not measured again.

    With --metric instructions the instructions, WAL bytes and blocks of a transaction are
    counted, warm and cold, one client, each mode and protocol of the preset: exact on any machine.

    Ctrl-C at any time: the same command goes on where it was.

    \b
    Examples:
      landspeed run 13 18 --preset quick --publish
      landspeed run 18 18:bs4 --preset regular --scale small=100
      landspeed run 17 18 --preset quick --mode read-only --clients 8 --samples 20
      landspeed run 13 18 --preset quick --metric instructions
      landspeed run 13 18 --preset archaeology --clients 8 --memory 1g
    """
    targets = parse_targets(refs, variant)
    request = Request(
        targets=targets,
        preset=chosen_preset(preset or "quick", **changes),
        scales=parse_scales(scales),
        counted=metric == INSTRUCTIONS,
    )
    require_limit(memory, counted=request.counted)
    workshop = Workshop.open(memory=memory)
    refresh = (lambda: _publish(workshop)) if publish_too else None
    tally = Campaign(workshop=workshop, requests=[request], publish=refresh).run()
    for caution in tally.cautions():
        say(str(caution))
    say(summary(tally))
    if as_json:
        emit_json(tally.facts())
    if publish_too:
        _where(workshop.paths)
    error = failed(tally)
    if error is not None:
        raise error


@click.command()
@click.option("--if-any", is_flag=True, help="If nothing was measured yet, say so: no error.")
def publish(*, if_any: bool) -> None:
    """Derive asv's result files from the records and publish the site, in one step.

    \b
    Examples:
      landspeed publish
    """
    workshop = Workshop.open()
    workshop.records.seal()
    if if_any and not has_dots(workshop):
        put_outputs({"published": "false"})
        say("nothing to publish yet")
        return
    _publish(workshop)
    put_outputs({"published": "true"})
    _where(workshop.paths)


def _publish(workshop: Workshop) -> None:
    site, derived = update_site(workshop)
    say(f"published {derived.points} points at {site / 'index.html'}")


def _where(paths: Paths) -> None:
    say('to see it: "make preview" (landspeed preview)')
    emit(str(paths.site / "index.html"))


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
def preview(port: int) -> None:
    """Serve the published site to this machine's browser, until Ctrl-C.

    \b
    Examples:
      landspeed preview
      landspeed preview --port 9000
    """
    with serving(Paths.find().site, port) as (address, server):
        emit(address)
        say("Ctrl-C ends it")
        server.serve_forever()


@click.command(epilog=f"POINT is {SPELLING}, an address of the site, or run:ID.")
@click.argument("point")
@json_option
def show(point: str, as_json: bool) -> None:
    """Go from a dot to its runs: numbers, raw records, provenance.

    \b
    Examples:
      landspeed show 18.6/read-only
      landspeed show 18.6:bs4/read-write/prepared/small/c4
      landspeed show '#read_only.track_latency?p-clients=4&blocksize=8' --json
    """
    workshop = Workshop.open()
    query = parse_point(point, workshop.builder.sources.release_at)
    points = find_points(workshop.records.table(), query, workshop.records.twins.all())
    records = workshop.records.records([run["id"] for p in points for run in p.runs])
    if as_json:
        by_id = {record["id"]: record for record in records}
        emit_json([p.facts() | {"records": [by_id[run["id"]] for run in p.runs]} for p in points])
        return
    shown = details(points[0], list(records)) if len(points) == 1 else overview(points)
    emit(as_text(shown))


@click.command()
@click.option(
    "--fix-hints", is_flag=True, help="Print instead a script for root that would mend it."
)
@json_option
def doctor(*, fix_hints: bool, as_json: bool) -> None:
    """Is this machine fit to measure: what was seen, what it means, how to mend it.

    \b
    Examples:
      landspeed doctor
      landspeed doctor --json
      landspeed doctor --fix-hints > mend.sh
    """
    seen = doctor_.checks(Paths.find())
    if fix_hints:
        emit(fix_hints_(seen))
        return
    if as_json:
        emit_json([check.facts() for check in seen])
    else:
        emit(doctor_.render(seen))
    sys.exit(doctor_.exit_code(seen))
