"""``landspeed build``: servers made, in the store or as an archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from base.build import Build, Variant
from base.errors import BuildError, LandspeedError, UsageError
from builders.recipe import BuildSystem
from landspeed.cli.options.common import (
    emit,
    emit_json,
    jobs_option,
    json_option,
    system_option,
    variant_options,
)
from landspeed.cli.options.sandbox import chosen_sandbox, compiled_by, runs_here, sandbox_options
from landspeed.console.progress import say
from landspeed.farm.build_archive import BuildArchive
from landspeed.session.session import Session, build_failure
from landspeed.session.target import Target, parse_targets, require_sources


@click.command("build")
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
def build_(
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
    session = Session.open(chosen_sandbox(**sandbox))
    archived = _archived(session, targets, archive)
    system = BuildSystem(build_system) if build_system else None
    outcomes = session.build_all(targets, system, jobs=jobs)
    builds = [outcome for outcome in outcomes.values() if isinstance(outcome, Build)]
    if archive is not None and builds and builds[0].identifier != archived:
        BuildArchive(file=archive).write(builds[0])
    if archive is not None:
        _note_failures(session, outcomes)
    runs = [runs_here(one) for one in builds]
    if as_json:
        pairs = zip(builds, runs, strict=True)
        emit_json([{"prefix": str(b.prefix), "runs_here": r, **b.facts()} for b, r in pairs])
    for one in () if as_json else builds:
        emit(str(one.prefix))
    error = build_failure(list(outcomes.values()))
    if error is not None:
        raise error


def _archived(session: Session, targets: Sequence[Target], file: Path | None) -> str | None:
    """The identifier of the build that *file* holds already, which is then in the store."""
    if file is None:
        return None
    if len(targets) != 1 or not BuildArchive.is_one(file.name):
        raise UsageError(
            "an archive is one build in one FILE.tar.gz",
            hint="Give one REF, and a FILE that ends in .tar.gz.",
        )
    if not file.exists():
        return None
    try:
        return BuildArchive(file=file).register(session.builder.store).identifier
    except UsageError as error:
        say(f"made anew: {error.message}")
        return None


def _note_failures(session: Session, outcomes: Mapping[Target, Build | LandspeedError]) -> None:
    """Keep with the records that a source does not build, so that nobody tries for ever."""
    for target, outcome in outcomes.items():
        if isinstance(outcome, BuildError):
            source = session.builder.sources.resolve(target.ref)
            note = {
                "origin": asdict(source.origin),
                "variant": target.variant.name,
                "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "message": outcome.message,
            }
            session.records.failures.add(note)
