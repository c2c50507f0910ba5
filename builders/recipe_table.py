"""The typed contents of ``recipes.toml``: directories, targets, options, flags and quirks."""

from __future__ import annotations

import tomllib
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import assert_never

from base.build import Variant
from base.errors import VariantError
from base.typed import RangedRow, Row
from base.version import Version


class BuildSystem(StrEnum):
    """PostgreSQL's own ways to build: configure and make, or meson (from 16 on)."""

    CONFIGURE = "configure"
    MESON = "meson"


class Edit(Row):
    """A sed expression for one source file; ``{blocksize_bytes}`` and the like are replaced."""

    file: str
    sed: str


class Option(RangedRow):
    """An argument of configure or meson, for the versions that know it.

    ``{blocksize}`` and the like in it are replaced by the variant's sizes. With ``differs_in``, the
    name of a size, it is given only to variants in which that size is not the default.
    """

    argument: str
    differs_in: str | None = None


class Quirk(RangedRow):
    """What a range of versions needs, or does not support, with the reason and a link.

    It applies only to builds by ``compiler`` and to variants that differ in the size
    ``differs_in``, where these are given. ``sign`` is a source file that came with the change
    which begins or ends the range. ``unsupported`` lists parts of variants' names that these
    versions cannot be built with, ``clang-lto`` for two that do not work together.
    """

    name: str
    because: str
    see: str
    sign: str | None = None
    compiler: str | None = None
    differs_in: str | None = None
    configure: tuple[str, ...] = ()
    meson: tuple[str, ...] = ()
    cflags: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    unsupported: tuple[str, ...] = ()

    def touches(self, system: BuildSystem, variant: Variant) -> bool:
        """Whether it changes anything for *variant* built by *system*."""
        if self.compiler not in (None, variant.compiler) or not is_due(self.differs_in, variant):
            return False
        match system:
            case BuildSystem.CONFIGURE:
                return bool(self.configure or self.cflags or self.edits)
            case BuildSystem.MESON:
                return bool(self.meson or self.edits)
            case _:
                assert_never(system)

    def forbids(self, variant: Variant) -> bool:
        """Whether *variant* has a part that these versions do not support."""
        return any(set(parts.split("-")) <= set(variant.parts) for parts in self.unsupported)

    def require_supported(self, version: Version, variant: Variant) -> None:
        """Raise VariantError if *version* cannot be built as *variant*."""
        if version in self.versions and self.forbids(variant):
            names = ", ".join(self.unsupported)
            one = len(self.unsupported) == 1
            raise VariantError(
                f"PostgreSQL {version} cannot be built as {variant}",
                detail=f"{self.because}.\nSee {self.see}.",
                hint=f"Leave out {names}." if one else f"Leave out any of {names}.",
            )


class Directory(RangedRow):
    """A directory that make visits, with the goal it makes there.

    ``sign`` is a source file that came with the change which begins or ends the range.
    """

    path: str
    sign: str | None = None
    goal: str = "all"
    install: bool = True


class FlagOptions(Row):
    """What a flag of a variant adds: compiler flags under configure, options under meson.

    ``instead_of`` are the common compiler flags that it replaces.
    """

    name: str
    cflags: tuple[str, ...]
    meson: tuple[str, ...]
    instead_of: tuple[str, ...] = ()


class CommonTable(Row):
    """What all builds have in common: the prefix, and compiler flags under configure."""

    prefix: str
    cflags: tuple[str, ...]


class ConfigureTable(Row):
    """The options of configure."""

    option: tuple[Option, ...]


class MesonTable(RangedRow):
    """The options and targets of meson, and the targets that ``leave_out`` of an installation.

    ``sign`` is a source file that came with the first version.
    """

    sign: str
    options: tuple[str, ...]
    size: tuple[Option, ...]
    targets: tuple[str, ...]
    leave_out: tuple[str, ...]


class ClientTable(RangedRow):
    """Meson's targets for clients, in the versions that pgbench may be taken from."""

    targets: tuple[str, ...]


class RecipeTable(Row):
    """The contents of ``recipes.toml``."""

    common: CommonTable
    configure: ConfigureTable
    meson: MesonTable
    client: ClientTable
    directory: tuple[Directory, ...]
    quirk: tuple[Quirk, ...]
    flag: tuple[FlagOptions, ...]

    def flags_of(self, variant: Variant) -> tuple[FlagOptions, ...]:
        """Return what each flag of *variant* adds."""
        return tuple(flag for flag in self.flag if flag.name in variant.flags)

    def cflags_of(self, variant: Variant) -> list[str]:
        """Return the common compiler flags, as the flags of *variant* change them."""
        chosen = self.flags_of(variant)
        replaced = {cflag for flag in chosen for cflag in flag.instead_of}
        added = [cflag for flag in chosen for cflag in flag.cflags]
        return [*(cflag for cflag in self.common.cflags if cflag not in replaced), *added]


def is_due(differs_in: str | None, variant: Variant) -> bool:
    """Whether something for variants that differ in a size applies to *variant*."""
    return differs_in is None or getattr(variant, differs_in) != getattr(Variant(), differs_in)


@cache
def load_table() -> RecipeTable:
    """Read the ``recipes.toml`` that comes with landspeed."""
    text = resources.files("builders").joinpath("recipes.toml").read_text()
    return RecipeTable.model_validate(tomllib.loads(text))
