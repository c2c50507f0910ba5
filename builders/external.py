"""Servers that somebody else built: found by their pg_config, kept under a name, used in place.

The digest identifies such a build, too: if the server is replaced, for example by a package's
upgrade, it is refused until it is registered again.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from base.build import BUILD_JSON, Build, ExternalServer, Origin, Variant
from base.errors import RefError, StorageError, UsageError
from base.files import canonical_json, digest_file, digest_text, digest_tree, write_atomic
from base.version import Version
from builders.catalog import OLDEST, is_covered
from builders.sandbox import printed
from builders.store import builds_below

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_PROGRAMS = ("postgres", "initdb", "pg_controldata")
# Of pg_config's facts, those that say what built it.
_TOOLCHAIN = {"cc": "CC", "cflags": "CFLAGS", "configure": "CONFIGURE"}


def is_name(text: str) -> bool:
    """Whether a server can be registered under *text*."""
    return _NAME.fullmatch(text) is not None


def inspect(pg_config: str, name: str | None) -> Build:
    """Return the build of *pg_config*'s server, to be called *name*, by default its version.

    Only the running server can tell its block sizes: the variant is the default one for now.
    Raises UsageError if *pg_config* is not that of a server.
    """
    program = shutil.which(pg_config)
    if program is None:
        raise UsageError(
            f'"{pg_config}" is not a program',
            hint="Give the path of the server's pg_config, such as "
            "/usr/lib/postgresql/15/bin/pg_config.",
        )
    facts = _facts(Path(program).absolute())
    version = _version(facts["VERSION"])
    external = ExternalServer(
        pg_config=str(Path(program).absolute()),
        bindir=facts["BINDIR"],
        libdir=facts["LIBDIR"],
        pkglibdir=facts["PKGLIBDIR"],
        sharedir=facts["SHAREDIR"],
        said=facts["VERSION"],
    )
    chosen = str(version) if name is None else name
    if not is_name(chosen):
        raise UsageError(
            f'"{chosen}" is not a name for a server',
            hint="Names have letters, digits, dots, dashes, underscores and plus signs, "
            "at most 100.",
        )
    digest = _digest(external)
    made = (Path(external.bindir) / "postgres").stat().st_mtime
    return Build(
        prefix=Path(),
        identifier=f"foreign-{chosen}-{digest[:12]}",
        version=version,
        origin=Origin(
            release=None,
            commit=None,
            tree="",
            date=datetime.fromtimestamp(int(made), UTC).isoformat(),
            registered=chosen,
        ),
        variant=Variant(),
        build_system="foreign",
        quirks=(),
        toolchain={key: facts.get(fact, "") for key, fact in _TOOLCHAIN.items()},
        digest=digest,
        cpu_seconds=0.0,
        external=external,
    )


def _facts(program: Path) -> dict[str, str]:
    """Return what *program* says of its installation: ``NAME = value`` lines."""
    try:
        lines = printed(program).splitlines()
    except OSError as error:
        raise _no_server(program, str(error)) from error
    pairs = (line.partition(" = ") for line in lines)
    facts = {name: value.strip() for name, sign, value in pairs if sign}
    for needed in ("BINDIR", "LIBDIR", "PKGLIBDIR", "SHAREDIR", "VERSION"):
        if not facts.get(needed):
            raise _no_server(program, f"It says nothing of {needed}.")
    for name in _PROGRAMS:
        path = Path(facts["BINDIR"]) / name
        if not os.access(path, os.X_OK):
            raise _no_server(program, f'There is no program "{path}".')
    return facts


def _no_server(program: Path, detail: str) -> UsageError:
    return UsageError(
        f'"{program}" is not the pg_config of an installed server',
        detail=detail,
        hint="A package of client libraries has a pg_config too: give the server's own.",
    )


def _version(said: str) -> Version:
    try:
        version = Version.said_in(said)
    except ValueError as error:
        raise UsageError(f'"{said}" has no version that is understood') from error
    if not is_covered(version):
        raise UsageError(
            f"PostgreSQL {version} is too old",
            detail=f"landspeed deals with PostgreSQL {OLDEST.major_text} and later.",
        )
    return version


def _digest(external: ExternalServer) -> str:
    """Return a sha256 over what the server is made of; not over all of a bindir it may share."""
    programs = {name: digest_file(Path(external.bindir) / name) for name in _PROGRAMS}
    trees = [digest_tree(Path(path)) for path in (external.pkglibdir, external.sharedir)]
    return digest_text(canonical_json([programs, trees]))


@dataclass(frozen=True, kw_only=True)
class ExternalServers:
    """The servers registered on this machine that landspeed did not build."""

    root: Path

    def put(self, build: Build) -> Build:
        """Keep *build*, which `inspect` found, under its name.

        UsageError where the name stands for a server somewhere else.
        """
        name = build.origin.registered or ""
        known = next((b for b in self.all() if b.origin.registered == name), None)
        there, here = known and known.external, build.external
        if there and here and there.pg_config != here.pg_config:
            raise UsageError(
                f'"{name}" is registered already',
                detail=f"It stands for {there.pg_config}.",
                hint="Choose another name with --name.",
            )
        prefix = self.root / name
        write_atomic(prefix / BUILD_JSON, canonical_json(build.facts()) + "\n")
        return Build.load(prefix)

    def find(self, name: str) -> Build:
        """Return the build registered as *name*; RefError if none is, or if it has changed."""
        try:
            build = Build.load(self.root / name)
        except StorageError:
            known = ", ".join(f"@{b.origin.registered}" for b in self.all()) or "none"
            raise RefError(
                f'no server is registered as "{name}"',
                detail=f"Registered: {known}.",
                hint=f"Register it: landspeed build --from PG_CONFIG --name {name}.",
            ) from None
        if build.external is not None and not _is_unchanged(build, build.external):
            raise RefError(
                f'the server registered as "{name}" is not the same any more',
                detail=f"It was {build.external.said}; {build.external.bindir} has changed since.",
                hint=f"Register it anew: landspeed build --from {build.external.pg_config} "
                f"--name {name}.",
            )
        return build

    def all(self) -> list[Build]:
        """Return every registered build, by name, without checking that it is unchanged."""
        return builds_below(self.root)


def _is_unchanged(build: Build, external: ExternalServer) -> bool:
    try:
        return _digest(external) == build.digest
    except OSError:
        return False
