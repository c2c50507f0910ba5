"""The typed contents of ``recipes.toml``: directories, targets, options, flags and quirks."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any, TypeVar, assert_never

from base.build import Variant
from base.errors import VariantError
from base.version import Version, VersionRange

_Row = TypeVar("_Row")


class BuildSystem(StrEnum):
    """PostgreSQL's own ways to build: configure and make, or meson (from 16 on)."""

    CONFIGURE = "configure"
    MESON = "meson"


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A sed expression for one source file; ``{blocksize_bytes}`` and the like are replaced."""

    file: str
    sed: str


@dataclass(frozen=True, kw_only=True)
class Option:
    """An argument of configure or meson, for the versions that know it.

    ``{blocksize}`` and the like in it are replaced by the variant's sizes. With ``differs_in``, the
    name of a size, it is given only to variants in which that size is not the default.
    """

    argument: str
    versions: VersionRange
    differs_in: str | None = None


@dataclass(frozen=True, kw_only=True)
class Quirk:
    """What a range of versions needs, or does not support, with the reason and a link.

    It applies only to builds by ``compiler`` and to variants that differ in the size
    ``differs_in``, where these are given. ``sign`` is a source file that came with the change
    which begins or ends the range. ``unsupported`` lists parts of variants' names that these
    versions cannot be built with, ``clang-lto`` for two that do not work together.
    """

    name: str
    versions: VersionRange
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


@dataclass(frozen=True, kw_only=True)
class Directory:
    """A directory that make visits, with the goal it makes there.

    ``sign`` is a source file that came with the change which begins or ends the range.
    """

    path: str
    versions: VersionRange
    sign: str | None = None
    goal: str = "all"
    install: bool = True


@dataclass(frozen=True, kw_only=True)
class FlagOptions:
    """What a flag of a variant adds: compiler flags under configure, options under meson.

    ``instead_of`` are the common compiler flags that it replaces.
    """

    name: str
    cflags: tuple[str, ...]
    meson: tuple[str, ...]
    instead_of: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RecipeTable:
    """The contents of ``recipes.toml``."""

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
    flags: tuple[FlagOptions, ...]

    def flags_of(self, variant: Variant) -> tuple[FlagOptions, ...]:
        """Return what each flag of *variant* adds."""
        return tuple(flag for flag in self.flags if flag.name in variant.flags)

    def cflags_of(self, variant: Variant) -> list[str]:
        """Return the common compiler flags, as the flags of *variant* change them."""
        chosen = self.flags_of(variant)
        replaced = {cflag for flag in chosen for cflag in flag.instead_of}
        added = [cflag for flag in chosen for cflag in flag.cflags]
        return [*(cflag for cflag in self.cflags if cflag not in replaced), *added]


def is_due(differs_in: str | None, variant: Variant) -> bool:
    """Whether something for variants that differ in a size applies to *variant*."""
    return differs_in is None or getattr(variant, differs_in) != getattr(Variant(), differs_in)


@cache
def load_table() -> RecipeTable:
    """Read the ``recipes.toml`` that comes with landspeed."""
    data = tomllib.loads(resources.files("builders").joinpath("recipes.toml").read_text())
    common, meson, client = data["common"], data["meson"], data["client"]
    return RecipeTable(
        prefix=common["prefix"],
        cflags=tuple(common["cflags"]),
        configure_options=_rows(Option, data["configure"]["option"]),
        meson_versions=_range(meson),
        meson_sign=meson["sign"],
        meson_options=tuple(meson["options"]),
        meson_sizes=_rows(Option, meson["size"]),
        meson_targets=tuple(meson["targets"]),
        meson_leave_out=tuple(meson["leave_out"]),
        client_versions=_range(client),
        client_targets=tuple(client["targets"]),
        directories=_rows(Directory, data["directory"]),
        quirks=_rows(Quirk, data["quirk"]),
        flags=tuple(FlagOptions(**_tuples(row)) for row in data["flag"]),
    )


def _rows(kind: Callable[..., _Row], rows: list[dict[str, Any]]) -> tuple[_Row, ...]:
    return tuple(
        kind(versions=_range(row), **_tuples(row, without=("since", "until"))) for row in rows
    )


def _range(row: dict[str, Any]) -> VersionRange:
    return VersionRange.parse(since=row.get("since"), until=row.get("until"))


def _tuples(row: dict[str, Any], without: tuple[str, ...] = ()) -> dict[str, Any]:
    def value_of(key: str, value: Any) -> Any:
        if key == "edits":
            return tuple(Edit(**edit) for edit in value)
        return tuple(value) if isinstance(value, list) else value

    return {key: value_of(key, value) for key, value in row.items() if key not in without}
