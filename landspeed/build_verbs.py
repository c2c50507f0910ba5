"""The verbs that build: what is known, what would be done, builds, and whether they serve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from base.build import Build, Variant
from base.errors import BuildError, LandspeedError, UsageError
from base.files import canonical_json
from benchmarks.scenarios import parse_scales
from builders.recipe import BuildSystem
from landspeed.farm.archive import Archive
from landspeed.listing import listing, render_listing
from landspeed.matrix import matrix_facts, matrix_targets
from landspeed.memory_option import memory_option
from landspeed.options import (
    INSTRUCTIONS,
    emit,
    emit_json,
    jobs_option,
    json_option,
    metric_option,
    system_option,
    variant_options,
    variants_options,
)
from landspeed.plan import plan_cells_facts, plan_recipe_facts, render_plan
from landspeed.preset_options import chosen_preset, preset_options
from landspeed.progress import say
from landspeed.register import register as register_
from landspeed.sandbox_options import (
    chosen_sandbox,
    compiled_by,
    runs_here,
    sandbox_options,
)
from landspeed.show import as_text
from landspeed.systems import Pair, compare_systems, systems_failure, systems_table
from landspeed.target import Target, parse_targets, require_sources
from landspeed.verify import Verified, verify_failure, verify_table
from landspeed.verify import verify as verify_
from landspeed.workshop import Workshop, build_failure


@click.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF[:VARIANT]...")
@variant_options
@click.option(
    "--build-systems",
    is_flag=True,
    help="Compare instead what configure and meson build of it (16 on): are they one server?",
)
@jobs_option
@json_option
def verify(
    *, refs: tuple[str, ...], variant: Variant, build_systems: bool, jobs: int | None, as_json: bool
) -> None:
    """Build every REF and have it serve: initdb, start, sizes, psycopg, stop, all pgbench modes.

    Servers and clients run as a user other than root; nothing is recorded. One that fails keeps
    no other from being tried.

    \b
    Examples:
      landspeed verify 18
      landspeed verify 13 17.11 18:bs4 --json
      landspeed verify 16 17 18 --build-systems
    """
    targets = parse_targets(refs, variant)
    if build_systems:
        require_sources(targets)
        pairs = compare_systems(Workshop.open(), targets, jobs)
        _told(pairs, systems_table(pairs), systems_failure(pairs), as_json=as_json)
    else:
        rows = verify_(Workshop.open(), targets, jobs)
        _told(rows, verify_table(rows), verify_failure(rows), as_json=as_json)


def _told(
    rows: Sequence[Verified] | Sequence[Pair],
    table: Table,
    error: LandspeedError | None,
    *,
    as_json: bool,
) -> None:
    if as_json:
        emit_json([row.facts() for row in rows])
    else:
        emit(as_text(table))
    if error is not None:
        raise error


@click.command()
@click.argument("foreign", nargs=-1, required=True, metavar="PG_CONFIG | ARCHIVE...")
@click.option("--name", help="Call it this; by default its version.")
@json_option
def register(*, foreign: tuple[str, ...], name: str | None, as_json: bool) -> None:
    """Take a server that was built elsewhere for measuring, by its pg_config; print its name.

    It stays where it is. "landspeed run", "verify" and "show" take it as @NAME. What
    "landspeed build --archive" wrote elsewhere (FILE.tar.gz, or a DIRECTORY/ with such files) is
    put into the store instead, as if it had been built here.

    \b
    Examples:
      landspeed register /usr/lib/postgresql/15/bin/pg_config --name debian15
      landspeed run @debian15 15 --preset quick
      landspeed register builds/
    """
    builds = _registered(Workshop.open(), foreign, name)
    if as_json:
        facts = [{"prefix": str(build.prefix), **build.facts()} for build in builds]
        emit_json(facts[0] if len(facts) == 1 else facts)
    elif not builds:
        say("no archive is there")
    for build in () if as_json else builds:
        emit(str(build.prefix) if build.foreign is None else build.origin.name)


def _archives(word: str) -> list[Path]:
    if not word.endswith("/"):
        return [Path(word)]
    found = (path for path in sorted(Path(word).rglob("*")) if path.is_file())
    return [path for path in found if Archive.is_one(path.name)]


def _registered(workshop: Workshop, given: Sequence[str], name: str | None) -> list[Build]:
    if all(one.endswith("/") or Archive.is_one(one) for one in given):
        if name is not None:
            raise UsageError("an archive has its name", hint="Leave out --name.")
        files = [file for one in given for file in _archives(one)]
        return [Archive(file=file).register(workshop.builder.store) for file in files]
    if len(given) > 1:
        raise UsageError(
            "one server at a time", hint="Register each PG_CONFIG by a command of its own."
        )
    return [register_(workshop, given[0], name)]


@click.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF[:VARIANT]...")
@variants_options
def matrix(*, refs: tuple[str, ...], variants: list[Variant]) -> None:
    """Print a set of builds as one line of JSON, the matrix of a GitHub Actions job.

    \b
    Examples:
      landspeed matrix 13 18 --blocksize 2 --blocksize 8
      landspeed matrix 18 --compiler gcc --compiler clang --flags O2 --flags O3-lto
      echo "matrix=$(landspeed matrix 17 18:bs4)" >> "$GITHUB_OUTPUT"
    """
    targets = matrix_targets(refs, variants)
    emit(canonical_json(matrix_facts(Workshop.open(), targets)))


@click.command("list")
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


@click.command()
@click.argument("refs", nargs=-1, metavar="[REF[:VARIANT]]...")
@variant_options
@system_option
@preset_options
@metric_option
@memory_option
@json_option
def plan(
    *,
    refs: tuple[str, ...],
    variant: Variant,
    build_system: str | None,
    preset: str | None,
    scales: tuple[str, ...],
    metric: str,
    memory: int | None,
    as_json: bool,
    **changes: Any,
) -> None:
    """Print how REF would be built and what would be measured; run nothing.

    \b
    Examples:
      landspeed plan 18 --blocksize 4
      landspeed plan --preset regular
      landspeed plan 13 18:bs4 --preset quick --json
      landspeed plan --preset archaeology --memory 1g
    """
    if not refs and preset is None:
        raise UsageError("nothing to plan", hint="Name a REF, a --preset, or both.")
    targets = parse_targets(refs, variant)
    require_sources(targets)
    workshop = Workshop.open(memory=memory)
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


@click.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF[:VARIANT]...")
@variant_options
@system_option
@jobs_option
@sandbox_options
@click.option(
    "--archive",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the build of one REF to FILE.tar.gz; if it holds that very build, take it.",
)
@json_option
def build(
    *,
    refs: tuple[str, ...],
    variant: Variant,
    build_system: str | None,
    jobs: int | None,
    archive: Path | None,
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
      landspeed build 18:bs4 --archive builds/18-bs4.tar.gz
    """
    targets = parse_targets(refs, compiled_by(variant, **sandbox))
    require_sources(targets)
    workshop = Workshop.open(chosen_sandbox(**sandbox))
    archived = _archived(workshop, targets, archive)
    system = BuildSystem(build_system) if build_system else None
    outcomes = workshop.build_all(targets, system, jobs=jobs)
    builds = [outcome for outcome in outcomes.values() if isinstance(outcome, Build)]
    if archive is not None and builds and builds[0].identifier != archived:
        Archive(file=archive).write(builds[0])
    if archive is not None:
        _note_failures(workshop, outcomes)
    runs = [runs_here(one) for one in builds]
    if as_json:
        pairs = zip(builds, runs, strict=True)
        emit_json([{"prefix": str(b.prefix), "runs_here": r, **b.facts()} for b, r in pairs])
    for one in () if as_json else builds:
        emit(str(one.prefix))
    error = build_failure(list(outcomes.values()))
    if error is not None:
        raise error


def _archived(workshop: Workshop, targets: Sequence[Target], file: Path | None) -> str | None:
    """The identifier of the build that *file* holds already, which is then in the store."""
    if file is None:
        return None
    if len(targets) != 1 or not Archive.is_one(file.name):
        raise UsageError(
            "an archive is one build in one FILE.tar.gz",
            hint="Give one REF, and a FILE that ends in .tar.gz.",
        )
    if not file.exists():
        return None
    try:
        return Archive(file=file).register(workshop.builder.store).identifier
    except UsageError as error:
        say(f"made anew: {error.message}")
        return None


def _note_failures(workshop: Workshop, outcomes: Mapping[Target, Build | LandspeedError]) -> None:
    """Keep with the records that a source does not build, so that nobody tries for ever."""
    for target, outcome in outcomes.items():
        if isinstance(outcome, BuildError):
            source = workshop.builder.sources.resolve(target.ref)
            note = {
                "origin": asdict(source.origin),
                "variant": target.variant.name,
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "message": outcome.message,
            }
            workshop.records.failures.add(note)
