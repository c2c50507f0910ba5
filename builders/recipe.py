"""The Recipe: the ordered argv steps that build a Version in a Variant. Pure, no I/O but its table.

Steps run in the source tree and name what differs between machines by tokens
(``{stage}``, ``{jobs}``, ``{python}``), so that a recipe, its digest and
``landspeed plan`` are the same everywhere.
"""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any, assert_never

from base.build import Variant
from base.errors import UsageError
from base.files import canonical_json, digest_text
from base.version import Version, VersionRange

MESON_BUILD_DIRECTORY = "landspeed-build"


class BuildSystem(StrEnum):
    """A BuildSystem is PostgreSQL's own way to build: configure and make, or meson (16 on)."""

    CONFIGURE = "configure"
    MESON = "meson"


@dataclass(frozen=True, kw_only=True)
class Edit:
    """An Edit changes one file of the source tree by a sed expression.

    ``{blocksize_bytes}`` and ``{wal_blocksize_bytes}`` in it stand for the Variant's sizes.
    """

    file: str
    sed: str


@dataclass(frozen=True, kw_only=True)
class Option:
    """An Option is an argument of configure that only a range of Versions knows.

    ``{blocksize}`` and ``{wal_blocksize}`` in it stand for the Variant's sizes in kB.
    """

    argument: str
    versions: VersionRange


@dataclass(frozen=True, kw_only=True)
class Quirk:
    """A Quirk is what a range of Versions needs on today's toolchains, with reason and link."""

    name: str
    versions: VersionRange
    because: str
    see: str
    configure: tuple[str, ...] = ()
    meson: tuple[str, ...] = ()
    cflags: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()

    def touches(self, system: BuildSystem) -> bool:
        """Whether it changes anything for *system*."""
        match system:
            case BuildSystem.CONFIGURE:
                return bool(self.configure or self.cflags or self.edits)
            case BuildSystem.MESON:
                return bool(self.meson or self.edits)
            case _:
                assert_never(system)


@dataclass(frozen=True, kw_only=True)
class Directory:
    """A Directory is a place make visits, with the goal it makes there."""

    path: str
    versions: VersionRange
    goal: str = "all"
    install: bool = True


@dataclass(frozen=True, kw_only=True)
class Table:
    """A Table is ``recipes.toml``, read."""

    prefix: str
    cflags: tuple[str, ...]
    configure_options: tuple[Option, ...]
    meson_versions: VersionRange
    meson_options: tuple[str, ...]
    meson_targets: tuple[str, ...]
    directories: tuple[Directory, ...]
    quirks: tuple[Quirk, ...]


@dataclass(frozen=True, kw_only=True)
class BuildStep:
    """A BuildStep is one process: what people call it, its argv, its extra environment.

    ``edits`` is the source file it changes in place, if it does; a BuildStep that ``configures``
    has a lasting effect: in a tree that was built in before it need not be done again.
    """

    name: str
    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    edits: str | None = None
    configures: bool = False


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A Recipe is the ordered Steps that build one Version × Variant with one BuildSystem."""

    version: Version
    variant: Variant
    system: BuildSystem
    quirks: tuple[Quirk, ...]
    steps: tuple[BuildStep, ...]
    prefix: str

    def facts(self) -> dict[str, Any]:
        """What `plan --json` prints and the build identity is made of."""
        return {
            "version": str(self.version),
            "variant": asdict(self.variant),
            "build_system": self.system.value,
            "prefix": self.prefix,
            "quirks": [{"name": q.name, "because": q.because, "see": q.see} for q in self.quirks],
            "steps": [
                {"name": s.name, "argv": list(s.argv), "environment": dict(s.environment)}
                for s in self.steps
            ],
        }

    @property
    def digest(self) -> str:
        """A sha256 over everything that can change the outcome (reasons and links cannot)."""
        facts = self.facts()
        facts["quirks"] = [q.name for q in self.quirks]
        return digest_text(canonical_json(facts))


def _range(row: dict[str, Any]) -> VersionRange:
    return VersionRange.parse(since=row.get("since"), until=row.get("until"))


@cache
def load_table() -> Table:
    """The shipped ``recipes.toml``."""
    data = tomllib.loads(resources.files("builders").joinpath("recipes.toml").read_text())
    return Table(
        prefix=data["common"]["prefix"],
        cflags=tuple(data["common"]["cflags"]),
        configure_options=tuple(
            Option(argument=row["argument"], versions=_range(row))
            for row in data["configure"]["option"]
        ),
        meson_versions=_range(data["meson"]),
        meson_options=tuple(data["meson"]["options"]),
        meson_targets=tuple(data["meson"]["targets"]),
        directories=tuple(
            Directory(
                path=row["path"],
                versions=_range(row),
                goal=row.get("goal", "all"),
                install=row.get("install", True),
            )
            for row in data["directory"]
        ),
        quirks=tuple(
            Quirk(
                name=row["name"],
                versions=_range(row),
                because=row["because"],
                see=row["see"],
                configure=tuple(row.get("configure", ())),
                meson=tuple(row.get("meson", ())),
                cflags=tuple(row.get("cflags", ())),
                edits=tuple(Edit(file=e["file"], sed=e["sed"]) for e in row.get("edits", ())),
            )
            for row in data["quirk"]
        ),
    )


def recipe(version: Version, variant: Variant, system: BuildSystem | None = None) -> Recipe:
    """The Recipe for *version* in *variant*; meson where the release has it, unless told.

    UsageError when *system* is meson and the release has none.
    """
    table = load_table()
    has_meson = version in table.meson_versions
    if system is BuildSystem.MESON and not has_meson:
        raise UsageError(
            f"PostgreSQL {version} cannot be built with meson",
            detail=f"meson.build is in PostgreSQL from {table.meson_versions.since} on.",
            hint="Leave out --build-system, or use --build-system configure.",
        )
    chosen = system or (BuildSystem.MESON if has_meson else BuildSystem.CONFIGURE)
    quirks = tuple(q for q in table.quirks if version in q.versions and q.touches(chosen))
    cflags = " ".join([*table.cflags, *(flag for q in quirks for flag in q.cflags)])
    edits = _edit_steps(variant, quirks)
    match chosen:
        case BuildSystem.CONFIGURE:
            steps = _configure_steps(table, version, variant, quirks, cflags)
        case BuildSystem.MESON:
            steps = _meson_steps(table, variant, quirks)
        case _:
            assert_never(chosen)
    return Recipe(
        version=version,
        variant=variant,
        system=chosen,
        quirks=quirks,
        steps=(*edits, *steps),
        prefix=table.prefix,
    )


def _sized(text: str, variant: Variant) -> str:
    for name, size in asdict(variant).items():
        text = text.replace(f"{{{name}}}", str(size)).replace(f"{{{name}_bytes}}", str(size * 1024))
    return text


def _edit_steps(variant: Variant, quirks: tuple[Quirk, ...]) -> tuple[BuildStep, ...]:
    return tuple(
        BuildStep(
            name=f"edit {edit.file}",
            argv=("sed", "-i", "-e", _sized(edit.sed, variant), edit.file),
            edits=edit.file,
        )
        for quirk in quirks
        for edit in quirk.edits
    )


def _configure_steps(
    table: Table, version: Version, variant: Variant, quirks: tuple[Quirk, ...], cflags: str
) -> tuple[BuildStep, ...]:
    options = [
        f"--prefix={table.prefix}",
        *(
            _sized(option.argument, variant)
            for option in table.configure_options
            if version in option.versions
        ),
        *(option for q in quirks for option in q.configure),
    ]
    directories = [d for d in table.directories if version in d.versions]
    return (
        BuildStep(
            name="configure",
            argv=("./configure", *options),
            environment=(("CC", "ccache gcc"), ("CFLAGS", cflags)),
            configures=True,
        ),
        *(
            BuildStep(
                name=f"make {d.path} {d.goal}",
                argv=("make", "-s", "-j{jobs}", "-C", d.path, d.goal),
            )
            for d in directories
        ),
        *(
            BuildStep(
                name=f"install {d.path}",
                argv=("make", "-s", "-C", d.path, "install", "DESTDIR={stage}"),
            )
            for d in directories
            if d.install
        ),
    )


def _meson_steps(
    table: Table, variant: Variant, quirks: tuple[Quirk, ...]
) -> tuple[BuildStep, ...]:
    build = MESON_BUILD_DIRECTORY
    options = [
        f"--prefix={table.prefix}",
        *table.meson_options,
        f"-Dblocksize={variant.blocksize}",
        f"-Dwal_blocksize={variant.wal_blocksize}",
        *(option for q in quirks for option in q.meson),
    ]
    meson = ("{python}", "-m", "mesonbuild.mesonmain")
    return (
        BuildStep(
            name="meson setup",
            argv=(*meson, "setup", build, *options),
            environment=(("CC", "ccache gcc"),),
            configures=True,
        ),
        BuildStep(name="ninja", argv=("ninja", "-C", build, "-j{jobs}", *table.meson_targets)),
        # meson installs all or fails; the plan is cut to what was built.
        BuildStep(
            name="prune install plan", argv=("{python}", "-m", "builders.meson_prune", build)
        ),
        BuildStep(
            name="install",
            argv=(*meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir={stage}"),
        ),
    )
