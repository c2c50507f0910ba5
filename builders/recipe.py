"""The Recipe: the ordered argv steps that build a Version in a Variant. Pure, no I/O but its table.

Steps run in the source tree and name what differs between machines by tokens
(``{stage}``, ``{jobs}``, ``{python}``), so that a recipe, its digest and
``landspeed plan`` are the same everywhere.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any, assert_never

from base.build import Compiler, Variant
from base.errors import UsageError
from base.files import canonical_json, digest_text
from base.version import Version, VersionRange
from builders.variants import Limit, VariantPart, common_cflags, require_possible

MESON_BUILD_DIRECTORY = "landspeed-build"
Has = Callable[[str], bool]  # whether a file of this path is in a source tree


class BuildSystem(StrEnum):
    """A BuildSystem is PostgreSQL's own way to build: configure and make, or meson (16 on)."""

    CONFIGURE = "configure"
    MESON = "meson"


@dataclass(frozen=True, kw_only=True)
class Edit:
    """An Edit changes one file of the source tree by a sed expression.

    ``{blocksize_bytes}`` and the like in it stand for the Variant's sizes.
    """

    file: str
    sed: str


@dataclass(frozen=True, kw_only=True)
class Option:
    """An Option is an argument of configure or of meson that only a range of Versions knows.

    ``{blocksize}`` and the like in it stand for the Variant's sizes. It is given only if the
    Variant's ``differs_in``, where that is said, is not the default's.
    """

    argument: str
    versions: VersionRange
    differs_in: str | None = None


@dataclass(frozen=True, kw_only=True)
class Quirk:
    """A Quirk is what a range of Versions needs on today's toolchains, with reason and link.

    One of a ``compiler`` is for builds by that one alone, one that ``differs_in`` a size for
    Variants where that is not the default's. ``sign`` is a Directory's.
    """

    name: str
    versions: VersionRange
    because: str
    see: str
    sign: str | None = None
    compiler: Compiler | None = None
    differs_in: str | None = None
    configure: tuple[str, ...] = ()
    meson: tuple[str, ...] = ()
    cflags: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()

    def touches(self, system: BuildSystem, variant: Variant) -> bool:
        """Whether it changes anything for *variant* built by *system*."""
        if self.compiler not in (None, variant.compiler) or not _is_due(self.differs_in, variant):
            return False
        match system:
            case BuildSystem.CONFIGURE:
                return bool(self.configure or self.cflags or self.edits)
            case BuildSystem.MESON:
                return bool(self.meson or self.edits)
            case _:
                assert_never(system)


@dataclass(frozen=True, kw_only=True)
class Directory:
    """A Directory is a place make visits, with the goal it makes there.

    ``sign`` is a file that came with the change that begins or ends its range.
    """

    path: str
    versions: VersionRange
    sign: str | None = None
    goal: str = "all"
    install: bool = True


@dataclass(frozen=True, kw_only=True)
class Table:
    """A Table is ``recipes.toml``, read."""

    prefix: str
    cflags: tuple[str, ...]
    configure_options: tuple[Option, ...]
    meson_versions: VersionRange
    meson_sign: str
    meson_options: tuple[str, ...]
    meson_sizes: tuple[Option, ...]
    meson_targets: tuple[str, ...]
    meson_leave_out: tuple[str, ...]
    client_versions: VersionRange
    client_targets: tuple[str, ...]
    directories: tuple[Directory, ...]
    quirks: tuple[Quirk, ...]
    meanings: tuple[VariantPart, ...]
    limits: tuple[Limit, ...]

    def of(self, variant: Variant) -> tuple[VariantPart, ...]:
        """What the flags of *variant* mean."""
        return tuple(m for m in self.meanings if m.flag in variant.flags)


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

    def surroundings(self) -> dict[str, str]:
        """What its process finds in its environment beside what all steps do."""
        # configure's little programs are compiled and linked: ccache keeps no links, and costs
        # a fifth of configure where it is empty (13.16: 16.4 CPU s with it, 13.5 without; 13.9
        # when it is warm)
        off = {"CCACHE_DISABLE": "1"} if self.configures else {}
        return dict(self.environment) | off


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
            "variant": self.variant.facts(),
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
        configure_options=tuple(map(_option, data["configure"]["option"])),
        meson_versions=_range(data["meson"]),
        meson_sign=data["meson"]["sign"],
        meson_options=tuple(data["meson"]["options"]),
        meson_sizes=tuple(map(_option, data["meson"]["size"])),
        meson_targets=tuple(data["meson"]["targets"]),
        meson_leave_out=tuple(data["meson"]["leave_out"]),
        client_versions=_range(data["client"]),
        client_targets=tuple(data["client"]["targets"]),
        directories=tuple(
            Directory(
                path=row["path"],
                versions=_range(row),
                sign=row.get("sign"),
                goal=row.get("goal", "all"),
                install=row.get("install", True),
            )
            for row in data["directory"]
        ),
        quirks=tuple(map(_quirk, data["quirk"])),
        meanings=tuple(map(VariantPart.of, data["flag"])),
        limits=tuple(Limit.of(row, _range(row)) for row in data["limit"]),
    )


def _option(row: dict[str, Any]) -> Option:
    return Option(argument=row["argument"], versions=_range(row), differs_in=row.get("differs_in"))


def _quirk(row: dict[str, Any]) -> Quirk:
    return Quirk(
        name=row["name"],
        versions=_range(row),
        because=row["because"],
        see=row["see"],
        sign=row.get("sign"),
        compiler=Compiler(row["compiler"]) if "compiler" in row else None,
        differs_in=row.get("differs_in"),
        configure=tuple(row.get("configure", ())),
        meson=tuple(row.get("meson", ())),
        cflags=tuple(row.get("cflags", ())),
        edits=tuple(Edit(**edit) for edit in row.get("edits", ())),
    )


def recipe(
    version: Version,
    variant: Variant,
    system: BuildSystem | None = None,
    *,
    has: Has | None = None,
) -> Recipe:
    """The Recipe for *version* in *variant*; meson where the release has it, unless told.

    *has* looks into the source, where a development version's number does not say what is there.
    UsageError when *system* is meson and the release has none; VariantError when the release
    cannot have *variant*.
    """
    table = load_table()
    require_possible(version, variant, table.limits)
    has_meson = table.meson_versions.holds(version, table.meson_sign, has)
    if system is BuildSystem.MESON and not has_meson:
        raise UsageError(
            f"PostgreSQL {version} cannot be built with meson",
            detail=f"meson.build is in PostgreSQL from {table.meson_versions.since} on.",
            hint="Leave out --build-system, or use --build-system configure.",
        )
    chosen = system or (BuildSystem.MESON if has_meson else BuildSystem.CONFIGURE)
    ranged = (quirk for quirk in table.quirks if quirk.versions.holds(version, quirk.sign, has))
    quirks = tuple(quirk for quirk in ranged if quirk.touches(chosen, variant))
    edits = _edit_steps(variant, quirks)
    match chosen:
        case BuildSystem.CONFIGURE:
            steps = _configure_steps(table, version, variant, quirks, has)
        case BuildSystem.MESON:
            steps = _meson_steps(table, version, variant, quirks)
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
    sizes = {
        "blocksize": variant.blocksize,
        "blocksize_bytes": variant.blocksize * 2**10,
        "wal_blocksize": variant.wal_blocksize,
        "wal_blocksize_bytes": variant.wal_blocksize * 2**10,
        "segsize": variant.segsize,
        "segsize_blocks": variant.segsize * 2**20 // variant.blocksize,
    }
    for name, size in sizes.items():
        text = text.replace(f"{{{name}}}", str(size))
    return text


def _is_due(differs_in: str | None, variant: Variant) -> bool:
    """Whether what is only for variants that differ in a size is for *variant*."""
    return differs_in is None or getattr(variant, differs_in) != getattr(Variant(), differs_in)


def _compiler(variant: Variant) -> tuple[str, str]:
    return ("CC", f"ccache {variant.compiler}")


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
    table: Table,
    version: Version,
    variant: Variant,
    quirks: tuple[Quirk, ...],
    has: Has | None,
) -> tuple[BuildStep, ...]:
    cflags = common_cflags(table.cflags, table.of(variant))
    cflags += [flag for q in quirks for flag in q.cflags]
    options = [
        f"--prefix={table.prefix}",
        *(
            _sized(option.argument, variant)
            for option in table.configure_options
            if version in option.versions and _is_due(option.differs_in, variant)
        ),
        *(option for q in quirks for option in q.configure),
    ]
    directories = [d for d in table.directories if d.versions.holds(version, d.sign, has)]
    return (
        BuildStep(
            name="configure",
            argv=("./configure", *options),
            environment=(_compiler(variant), ("CFLAGS", " ".join(cflags))),
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
    table: Table, version: Version, variant: Variant, quirks: tuple[Quirk, ...]
) -> tuple[BuildStep, ...]:
    build = MESON_BUILD_DIRECTORY
    client = table.client_targets if version in table.client_versions else ()
    targets = (*table.meson_targets, *client)
    options = [
        f"--prefix={table.prefix}",
        *table.meson_options,
        *(
            _sized(size.argument, variant)
            for size in table.meson_sizes
            if _is_due(size.differs_in, variant)
        ),
        *(option for q in quirks for option in q.meson),
        *(option for meaning in table.of(variant) for option in meaning.meson),
    ]
    meson = ("{python}", "-m", "mesonbuild.mesonmain")
    return (
        BuildStep(
            name="meson setup",
            argv=(*meson, "setup", build, *options),
            environment=(_compiler(variant),),
            configures=True,
        ),
        BuildStep(name="ninja", argv=("ninja", "-C", build, "-j{jobs}", *targets)),
        # meson installs all or fails; the plan is cut to what was built.
        BuildStep(
            name="prune install plan",
            argv=("{python}", "-m", "builders.meson_prune", build, *table.meson_leave_out),
        ),
        BuildStep(
            name="install",
            argv=(*meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir={stage}"),
        ),
    )
