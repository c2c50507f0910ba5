"""``landspeed register``: servers that were built elsewhere, taken for measuring."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from base.build import Build
from base.errors import UsageError
from landspeed.cli.options.common import emit, emit_json, json_option
from landspeed.console.progress import say
from landspeed.farm.build_archive import BuildArchive
from landspeed.session.external import register
from landspeed.session.session import Session


@click.command("register")
@click.argument("foreign", nargs=-1, required=True, metavar="PG_CONFIG | ARCHIVE...")
@click.option("--name", help="Call it this; by default its version.")
@json_option
def register_(*, foreign: tuple[str, ...], name: str | None, as_json: bool) -> None:
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
    builds = _registered(Session.open(), foreign, name)
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
    # a directory that may not be read, or is gone meanwhile, has none
    found = (Path(root, name) for root, _, names in os.walk(word) for name in names)
    return sorted(path for path in found if BuildArchive.is_one(path.name) and path.is_file())


def _registered(session: Session, given: Sequence[str], name: str | None) -> list[Build]:
    if all(one.endswith("/") or BuildArchive.is_one(one) for one in given):
        if name is not None:
            raise UsageError("an archive has its name", hint="Leave out --name.")
        files = [file for one in given for file in _archives(one)]
        return [BuildArchive(file=file).register(session.builder.store) for file in files]
    if len(given) > 1:
        raise UsageError(
            "one server at a time", hint="Register each PG_CONFIG by a command of its own."
        )
    return [register(session, given[0], name)]
