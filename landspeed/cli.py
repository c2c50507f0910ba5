"""The command line: verbs, their help, and the one place where an error becomes an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from base.build import Build, Variant
from base.errors import LandspeedError, UsageError
from base.paths import Paths
from benchmarks.profiles import Profile
from benchmarks.scenarios import PRESETS, Mode, Preset, Protocol, parse_scales, preset_named
from builders.recipe import BuildSystem
from landspeed import build_verbs, explain_verb
from landspeed import doctor as doctor_
from landspeed.campaign import Campaign, Request, failed, summary
from landspeed.compare_verb import compare_
from landspeed.confirm_verb import confirm_
from landspeed.ledger_verb import ledger_
from landspeed.listing import listing, render_listing
from landspeed.options import (
    INSTRUCTIONS,
    emit,
    emit_json,
    jobs_option,
    json_option,
    metric_option,
    system_option,
    variant_options,
)
from landspeed.plan import plan_cells_facts, plan_recipe_facts, render_plan
from landspeed.point_query import SPELLING, parse_point
from landspeed.preview import serving
from landspeed.progress import say
from landspeed.sandbox_options import (
    chosen_sandbox,
    compiled_by,
    runs_here,
    sandbox_options,
)
from landspeed.show import as_text, details, find_points, overview
from landspeed.site import update_site
from landspeed.steps_verb import steps_
from landspeed.target import parse_targets, require_sources
from landspeed.workshop import Workshop, build_failure

_INTERRUPTED = 130  # what a shell calls a command that SIGINT ended


def preset_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What to measure: a preset, and what to change in it."""
    options = (
        click.option("--preset", type=click.Choice(list(PRESETS)), help="What to measure."),
        click.option(
            "--scale",
            "scales",
            multiple=True,
            metavar="TIER=N",
            help="Scale factor of a tier, like small=100.",
        ),
        click.option(
            "--mode",
            "modes",
            multiple=True,
            type=click.Choice([m.value for m in Mode]),
            help="May be repeated.",
        ),
        click.option(
            "--protocol", "protocols", multiple=True, type=click.Choice([p.value for p in Protocol])
        ),
        click.option(
            "--clients",
            multiple=True,
            type=click.IntRange(1),
            help="Clients of a rung; may be repeated.",
        ),
        click.option(
            "--profile", "profiles", multiple=True, help="Profile: default, tuned; may be repeated."
        ),
        click.option("--samples", type=click.IntRange(1), help="Runs of each point."),
        click.option("--seconds", type=click.IntRange(1), help="Seconds of each run."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def chosen_preset(name: str, **changes: Any) -> Preset:
    """The preset *name* with what the options change."""
    preset = preset_named(name)
    given: dict[str, Any] = {
        "modes": tuple(map(Mode, changes["modes"])),
        "protocols": tuple(map(Protocol, changes["protocols"])),
        "rungs": changes["clients"],
        "profiles": tuple(Profile.named(n).name for n in changes["profiles"]),
        "samples": changes["samples"],
        "seconds": changes["seconds"],
    }
    return replace(preset, **{field: value for field, value in given.items() if value})


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Every verb has examples: landspeed VERB --help. REF is a major (18), a release "
    "(17.11), a tag, or with a git upstream a branch or commit; REF:VARIANT adds a build "
    "variant (18:bs4).",
)
@click.version_option(package_name="landspeed")
def cli() -> None:
    """Measure the land speed of an elephant: performance trends of PostgreSQL, 8.3 to current."""


@cli.command("list")
@json_option
def list_(as_json: bool) -> None:
    """What is known, what is built, what is measured.

    \b
    Examples:
      landspeed list
      landspeed list --json
    """
    rows = listing(Workshop.open())
    if as_json:
        emit_json([row.facts() for row in rows])
    else:
        emit(render_listing(rows))


@cli.command()
@click.argument("refs", nargs=-1, metavar="[REF[:VARIANT]]...")
@variant_options
@system_option
@preset_options
@metric_option
@json_option
def plan(
    *,
    refs: tuple[str, ...],
    variant: Variant,
    build_system: str | None,
    preset: str | None,
    scales: tuple[str, ...],
    metric: str,
    as_json: bool,
    **changes: Any,
) -> None:
    """Print how REF would be built and what would be measured; run nothing.

    \b
    Examples:
      landspeed plan 18 --blocksize 4
      landspeed plan --preset regular
      landspeed plan 13 18:bs4 --preset quick --json
    """
    if not refs and preset is None:
        raise UsageError("nothing to plan", hint="Name a REF, a --preset, or both.")
    targets = parse_targets(refs, variant)
    require_sources(targets)
    workshop = Workshop.open()
    system = BuildSystem(build_system) if build_system else None
    facts: dict[str, Any] = {
        "recipes": [plan_recipe_facts(workshop, target, system) for target in targets]
    }
    if preset is not None:
        facts["measurements"] = plan_cells_facts(
            workshop,
            chosen_preset(preset, **changes),
            parse_scales(scales),
            max(1, len(targets)),
            counted=metric == INSTRUCTIONS,
        )
    if as_json:
        emit_json(facts)
    else:
        emit(render_plan(facts))


@cli.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF[:VARIANT]...")
@variant_options
@system_option
@jobs_option
@sandbox_options
@json_option
def build(
    *,
    refs: tuple[str, ...],
    variant: Variant,
    build_system: str | None,
    jobs: int | None,
    as_json: bool,
    **sandbox: Any,
) -> None:
    """Build every REF and print its install prefix; at once if it is in the store.

    Several are built side by side on all cores. One that fails keeps no other from being built.

    \b
    Examples:
      landspeed build 18
      landspeed build 13 17.11 --blocksize 2
      landspeed build 18:bs4 18:bs8-wal16 --json
      landspeed build 17 --compiler clang --flags O3-lto
      landspeed build 13 --in docker --toolchain bookworm-clang-14 --memory 2g --cpus 2
    """
    targets = parse_targets(refs, compiled_by(variant, **sandbox))
    require_sources(targets)
    workshop = Workshop.open(chosen_sandbox(**sandbox))
    system = BuildSystem(build_system) if build_system else None
    outcomes = workshop.build_all(targets, system, jobs=jobs)
    builds = [outcome for outcome in outcomes.values() if isinstance(outcome, Build)]
    runs = [runs_here(one) for one in builds]
    if as_json:
        pairs = zip(builds, runs, strict=True)
        emit_json([{"prefix": str(b.prefix), "runs_here": r, **b.facts()} for b, r in pairs])
    for one in () if as_json else builds:
        emit(str(one.prefix))
    error = build_failure(list(outcomes.values()))
    if error is not None:
        raise error


@cli.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF[:VARIANT]...")
@variant_options
@preset_options
@metric_option
@click.option("--publish", "publish_too", is_flag=True, help="Publish the site as results come.")
@json_option
def run(
    *,
    refs: tuple[str, ...],
    variant: Variant,
    preset: str | None,
    scales: tuple[str, ...],
    metric: str,
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
    """
    targets = parse_targets(refs, variant)
    request = Request(
        targets=targets,
        preset=chosen_preset(preset or "quick", **changes),
        scales=parse_scales(scales),
        counted=metric == INSTRUCTIONS,
    )
    workshop = Workshop.open()
    refresh = (lambda: _publish(workshop)) if publish_too else None
    tally = Campaign(workshop=workshop, request=request, publish=refresh).run()
    say(summary(tally))
    if as_json:
        emit_json(tally.facts())
    if publish_too:
        _where(workshop.paths)
    error = failed(tally)
    if error is not None:
        raise error


@cli.command()
def publish() -> None:
    """Derive asv's result files from the records and publish the site, in one step.

    \b
    Examples:
      landspeed publish
    """
    workshop = Workshop.open()
    workshop.records.seal()
    _publish(workshop)
    _where(workshop.paths)


def _publish(workshop: Workshop) -> None:
    site, derived = update_site(workshop)
    say(f"published {derived.points} points at {site / 'index.html'}")


def _where(paths: Paths) -> None:
    say('to see it: "make preview" (landspeed preview)')
    emit(str(paths.site / "index.html"))


@cli.command()
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


@cli.command(epilog=f"POINT is {SPELLING}, an address of the site, or run:ID.")
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
    shown = details(points[0], next(iter(records))) if len(points) == 1 else overview(points)
    emit(as_text(shown))


@cli.command()
@json_option
def doctor(as_json: bool) -> None:
    """Is this machine fit to measure: what was seen, what it means, how to mend it.

    \b
    Examples:
      landspeed doctor
      landspeed doctor --json
    """
    seen = doctor_.checks(Paths.find())
    if as_json:
        emit_json([check.facts() for check in seen])
    else:
        emit(doctor_.render(seen))
    sys.exit(doctor_.exit_code(seen))


for verb in (
    build_verbs.matrix,
    build_verbs.register,
    build_verbs.verify,
    compare_,
    confirm_,
    explain_verb.explain,
    ledger_,
    steps_,
):
    cli.add_command(verb)


def _terminated(number: int, frame: object) -> None:
    # a service manager's SIGTERM is Ctrl-C by another name: clusters stop, state stays whole
    del frame
    raise KeyboardInterrupt(signal.Signals(number).name)


def main() -> None:
    """The console script: runs a verb, ends with its exit code."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        cli(standalone_mode=False)
    except LandspeedError as error:
        say(str(error))
        sys.exit(error.exit_code)
    except click.ClickException as error:
        say(str(_as_usage_error(error)))
        sys.exit(UsageError.exit_code)
    except (KeyboardInterrupt, click.Abort):
        say("interrupted: what was built and measured is kept, the same command goes on from here")
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        # the reader of our stdout left: nobody to tell, and Python must not try at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _as_usage_error(error: click.ClickException) -> UsageError:
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "landspeed"
    message = error.format_message().rstrip(".")
    return UsageError(message[:1].lower() + message[1:], hint=f'Try "{path} --help".')


if __name__ == "__main__":
    main()
