"""Recipes: the ordered steps that build a version in a variant.

Steps run in the source tree. What differs between machines stands in them as a token (``{stage}``,
``{jobs}``, ``{python}``), so that a recipe, its digest and ``landspeed plan`` are the same
everywhere. Nothing here does I/O, except that the table is read once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, assert_never

from base.build import Variant
from base.errors import UsageError
from base.files import canonical_json, digest_text
from base.version import Version
from builders.recipe_table import BuildSystem, Quirk, RecipeTable, is_due, load_table

MESON_BUILD_DIRECTORY = "landspeed-build"
Has = Callable[[str], bool]
"""Whether a source tree has the file of this path."""


@dataclass(frozen=True, kw_only=True)
class BuildStep:
    """One process of a build: a name for people, its argv, its extra environment.

    ``edits`` is the source file that it changes in place, if any. A step that ``configures`` has a
    lasting effect and is not repeated in a tree that was built before.
    """

    name: str
    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    edits: str | None = None
    configures: bool = False

    def extra_environment(self) -> dict[str, str]:
        """Return the variables that its process gets beside those of all steps."""
        # configure compiles and links small programs. ccache does not cache links, and with an
        # empty cache it costs a fifth of configure (13.16: 16.4 CPU s with ccache, 13.5 s
        # without, 13.9 s with a warm cache).
        off = {"CCACHE_DISABLE": "1"} if self.configures else {}
        return dict(self.environment) | off


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The ordered steps that build one version in one variant with one build system.

    ``programs`` are what it has to install.
    """

    version: Version
    variant: Variant
    system: BuildSystem
    quirks: tuple[Quirk, ...]
    steps: tuple[BuildStep, ...]
    prefix: str
    programs: tuple[str, ...] = ("postgres", "initdb", "pg_config")

    def facts(self) -> dict[str, Any]:
        """Return what ``plan --json`` prints and the identity of a build is made of."""
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
        """A sha256 over everything that can change the outcome; reasons and links cannot."""
        facts = self.facts()
        facts["quirks"] = [q.name for q in self.quirks]
        return digest_text(canonical_json(facts))


def recipe(
    version: Version, variant: Variant, system: BuildSystem | None = None, *, has: Has | None = None
) -> Recipe:
    """Return the recipe for *version* in *variant*, by *system* or by meson where it exists.

    *has* looks into the source tree, because the number of a development version does not tell
    what is in it. Raises UsageError if *system* is meson and the version has none, VariantError if
    the version cannot be built as *variant*.
    """
    table = load_table()
    for quirk in table.quirk:
        quirk.require_supported(version, variant)
    has_meson = table.meson.versions.covers(version, table.meson.sign, has)
    if system is BuildSystem.MESON and not has_meson:
        raise UsageError(
            f"PostgreSQL {version} cannot be built with meson",
            detail=f"PostgreSQL has meson.build from {table.meson.versions.since} on.",
            hint="Leave out --build-system, or use --build-system configure.",
        )
    chosen = system or (BuildSystem.MESON if has_meson else BuildSystem.CONFIGURE)
    covering = (quirk for quirk in table.quirk if quirk.versions.covers(version, quirk.sign, has))
    quirks = tuple(quirk for quirk in covering if quirk.touches(chosen, variant))
    edits = tuple(
        BuildStep(
            name=f"edit {edit.file}",
            argv=("sed", "-i", "-e", _sized(edit.sed, variant), edit.file),
            edits=edit.file,
        )
        for quirk in quirks
        for edit in quirk.edits
    )
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
        prefix=table.common.prefix,
    )


def client_recipe(version: Version) -> Recipe:
    """Return the recipe for pgbench of *version* without a server: 18 or later."""
    whole = recipe(version, Variant(), BuildSystem.MESON)
    server = load_table().meson.targets
    steps = (
        replace(step, argv=tuple(word for word in step.argv if word not in server))
        for step in whole.steps
    )
    return replace(whole, steps=tuple(steps), programs=("pgbench",))


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


def _compiler(variant: Variant) -> tuple[str, str]:
    return ("CC", f"ccache {variant.compiler}")


def _configure_steps(
    table: RecipeTable,
    version: Version,
    variant: Variant,
    quirks: tuple[Quirk, ...],
    has: Has | None,
) -> tuple[BuildStep, ...]:
    cflags = [*table.cflags_of(variant), *(flag for q in quirks for flag in q.cflags)]
    options = [
        f"--prefix={table.common.prefix}",
        *(
            _sized(option.argument, variant)
            for option in table.configure.option
            if version in option.versions and is_due(option.differs_in, variant)
        ),
        *(option for q in quirks for option in q.configure),
    ]
    directories = [d for d in table.directory if d.versions.covers(version, d.sign, has)]
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
    table: RecipeTable, version: Version, variant: Variant, quirks: tuple[Quirk, ...]
) -> tuple[BuildStep, ...]:
    build = MESON_BUILD_DIRECTORY
    client = table.client.targets if version in table.client.versions else ()
    targets = (*table.meson.targets, *client)
    chosen: dict[str, list[str]] = {}  # meson would heed only the last of two equal names
    for option in (option for flag in table.flags_of(variant) for option in flag.meson):
        name, _, value = option.partition("=")
        chosen.setdefault(name, []).append(value)
    options = [
        f"--prefix={table.common.prefix}",
        *table.meson.options,
        *(
            _sized(size.argument, variant)
            for size in table.meson.size
            if is_due(size.differs_in, variant)
        ),
        *(option for q in quirks for option in q.meson),
        *(f"{name}={','.join(values)}" for name, values in chosen.items()),
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
        # meson installs every target or fails, so its plan is cut down to what was built. The
        # module's name is in the digest of every recipe: renaming it would rebuild everything.
        BuildStep(
            name="prune install plan",
            argv=("{python}", "-m", "builders.meson_prune", build, *table.meson.leave_out),
        ),
        BuildStep(
            name="install",
            argv=(*meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir={stage}"),
        ),
    )
