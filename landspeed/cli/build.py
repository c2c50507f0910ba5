"""``landspeed build``: build servers, take servers built elsewhere, and check that they work."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from base.build import Build, Variant
from base.errors import BuildError, LandspeedError, UsageError, raise_if
from base.files import warn_set_aside
from benchmarks.records.identical_builds import FailedBuild
from benchmarks.smoke import built_variant
from builders.external import inspect
from builders.recipe_table import BuildSystem
from landspeed.campaign.plan import BuildPlan
from landspeed.campaign.smoke import check_builds, check_failure, check_table
from landspeed.cli.options.common import jobs_option, system_option, variant_options
from landspeed.cli.options.kinds import flag
from landspeed.cli.options.output import as_json, dry_run_option, emit_either, json_option
from landspeed.cli.options.sandbox import chosen_sandbox, compiled_by, runs_here, sandbox_options
from landspeed.cli.plan import show_plan
from landspeed.console.progress import say
from landspeed.farm.build_archive import is_archive, register_archive, write_archive
from landspeed.session.session import Session, build_failure
from landspeed.session.target import Target, parse_targets, require_sources


@click.command("build")
@click.argument("refs", nargs=-1, metavar="[REF[:VARIANT]]...")
@variant_options
@system_option
@jobs_option
@sandbox_options
@flag(
    "--check",
    "Start each server and try it: initdb, block sizes, psycopg and all pgbench modes. "
    "Records nothing. REF may be the @NAME of a registered server.",
)
@click.option(
    "--from",
    "external",
    multiple=True,
    metavar="PG_CONFIG|ARCHIVE|DIRECTORY/",
    help="Build nothing. Register the server of PG_CONFIG, which stays where it is; or put an "
    "ARCHIVE that --archive wrote, or all archives in DIRECTORY/, into the store. In DIRECTORY/, "
    "what is damaged is set aside with a warning.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="With --from PG_CONFIG: the server's name; by default its version.",
)
@click.option(
    "--archive",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the build of one REF to FILE.tar.gz. If FILE holds that build already, use it.",
)
@dry_run_option
@json_option
def build_(
    *,
    refs: tuple[str, ...],
    variant: Variant,
    build_system: str | None,
    jobs: int | None,
    check: bool,
    external: tuple[str, ...],
    name: str | None,
    archive: Path | None,
    dry_run: bool,
    **sandbox: Any,
) -> None:
    """Build each REF and print its install prefix.

    A build that is in the store already is not made again. Several REFs are built side by side
    on all cores. A failed build does not stop the others.

    \b
    Examples:
      landspeed build 18
      landspeed build 13 17.11 --blocksize 2
      landspeed build 18:bs4 18:bs8-wal16 --json
      landspeed build 17 --compiler clang --flags O3-lto
      landspeed build 13 --in docker --toolchain bookworm-clang-14 --memory 2g --cpus 2
      landspeed build 13 --in docker --dry-run
      landspeed build 13 17.11 18:bs4 --check
      landspeed build 18:bs4 --archive builds/18-bs4.tar.gz
      landspeed build --from builds/
      landspeed build --from /usr/lib/postgresql/15/bin/pg_config --name debian15
    """
    _require_one_task(refs, external, name, check=check, alone=(build_system, archive, dry_run))
    if external:
        found = _registered(Session(), external, name)
        facts = list(map(_facts, found))
        if not found:
            say("no archive found")
        _show(found, facts[0] if len(facts) == 1 else facts)
        return
    targets = parse_targets(refs, compiled_by(variant, **sandbox))
    if check:
        rows = check_builds(Session(sandbox=chosen_sandbox(**sandbox)), targets, jobs)
        emit_either(check_table(rows), [row.facts() for row in rows])
        return raise_if(check_failure(rows))
    require_sources(targets)
    session = Session(sandbox=chosen_sandbox(**sandbox), only_counts=True)
    system = BuildSystem(build_system) if build_system else None
    if dry_run:
        return show_plan([BuildPlan.of(session.builder, one, system) for one in targets])
    archived = _archived(session, targets, archive)
    outcomes = session.build_all(targets, system, jobs=jobs)
    builds = [outcome for outcome in outcomes.values() if isinstance(outcome, Build)]
    if archive is not None:
        if builds and builds[0].identifier != archived:
            write_archive(archive, builds[0])
        _note_failures(session, outcomes)
    facts = [{**_facts(one), "runs_here": runs_here(one)} for one in builds]
    _show(builds, facts)
    raise_if(build_failure(list(outcomes.values())))


def _require_one_task(
    refs: Sequence[str],
    external: Sequence[str],
    name: str | None,
    *,
    check: bool,
    alone: Sequence[object],
) -> None:
    if not refs and not external:
        raise UsageError("nothing to build", hint="Name a REF, or give --from PG_CONFIG.")
    if external and (refs or check or any(alone)):
        raise UsageError("--from builds nothing", hint="Give only --name and --json with --from.")
    if check and any(alone):
        raise UsageError("--check takes no --archive, --build-system or --dry-run")
    if name is not None and not external:
        raise UsageError("--name needs --from", hint="Add --from PG_CONFIG, or leave out --name.")


def _show(builds: Sequence[Build], facts: Any) -> None:
    """Print the prefixes of *builds*, or the names of those built elsewhere; or *facts* as JSON."""
    lines = [str(one.prefix) if one.external is None else one.origin.name for one in builds]
    if lines or as_json():
        emit_either("\n".join(lines), facts)


def _facts(build: Build) -> dict[str, Any]:
    return {"prefix": str(build.prefix), **build.facts()}


def _taken_in(session: Session, word: str) -> Iterator[Build]:
    """Put the archive at *word*, or all good ones in a directory, into the store."""
    if not word.endswith("/"):
        yield register_archive(Path(word), session.builder.store)
        return
    # os.walk skips a directory that cannot be read or has vanished meanwhile
    found = (Path(root, name) for root, _, names in os.walk(word) for name in names)
    for path in sorted(path for path in found if is_archive(path.name)):
        try:
            yield register_archive(path, session.builder.store)
        except UsageError as error:
            warn_set_aside(path, error)


def _registered(session: Session, given: Sequence[str], name: str | None) -> list[Build]:
    if all(one.endswith("/") or is_archive(one) for one in given):
        if name is not None:
            raise UsageError("an archive keeps its own name", hint="Leave out --name.")
        return [build for one in given for build in _taken_in(session, one)]
    if len(given) > 1:
        raise UsageError(
            "only one server can be registered at a time", hint="Give --from PG_CONFIG once."
        )
    return [register(session, given[0], name)]


def register(session: Session, pg_config: str, name: str | None) -> Build:
    """Register the server of *pg_config* under *name*, by default its version.

    Its block sizes are those of a cluster that is made and removed.
    """
    found = inspect(pg_config, name)
    variant = built_variant(found, session.paths)
    return session.external_servers.put(replace(found, variant=variant))


def _archived(session: Session, targets: Sequence[Target], file: Path | None) -> str | None:
    """Return the identifier of the build that *file* holds already, now in the store too."""
    if file is None:
        return None
    if len(targets) != 1 or not is_archive(file.name):
        raise UsageError(
            "an archive holds one build in one FILE.tar.gz",
            hint="Give one REF, and a FILE that ends in .tar.gz.",
        )
    if not file.exists():
        return None
    try:
        return register_archive(file, session.builder.store).identifier
    except UsageError as error:
        say(f"writing the archive anew: {error.message}")
        return None


def _note_failures(session: Session, outcomes: Mapping[Target, Build | LandspeedError]) -> None:
    """Record which sources do not build, so that other jobs do not try them again."""
    for target, outcome in outcomes.items():
        if isinstance(outcome, BuildError):
            source = session.builder.sources.resolve(target.ref)
            note = FailedBuild(
                origin=source.origin,
                variant=target.variant,
                time=datetime.now(UTC).isoformat(timespec="milliseconds"),
                message=outcome.message,
            )
            session.records.failures.add(note)
