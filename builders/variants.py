"""What a Variant's flags mean to a build, and which Variants a Version cannot have.

Both are data in ``recipes.toml``. Pure, no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from base.build import Flag, Variant
from base.errors import VariantError
from base.version import Version, VersionRange


@dataclass(frozen=True, kw_only=True)
class VariantPart:
    """A Meaning is what one Flag adds to a build: compiler flags under configure, options of meson.

    ``instead_of`` are the common compiler flags that it takes the place of.
    """

    flag: Flag
    cflags: tuple[str, ...]
    meson: tuple[str, ...]
    instead_of: tuple[str, ...]

    @classmethod
    def of(cls, row: dict[str, Any]) -> VariantPart:
        """The Meaning that a row of the table tells."""
        return cls(
            flag=Flag(row["name"]),
            cflags=tuple(row["cflags"]),
            meson=tuple(row["meson"]),
            instead_of=tuple(row.get("instead_of", ())),
        )


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A Limit is what a range of Versions cannot have, with the reason and a link.

    ``without`` are names of parts of a Variant, each like ``lto``, or ``clang-lto`` for two that
    do not go together.
    """

    without: tuple[str, ...]
    versions: VersionRange
    because: str
    see: str

    @classmethod
    def of(cls, row: dict[str, Any], versions: VersionRange) -> Limit:
        """The Limit that a row of the table tells of *versions*."""
        return cls(
            without=tuple(row["without"]),
            versions=versions,
            because=row["because"],
            see=row["see"],
        )

    def forbids(self, variant: Variant) -> bool:
        """Whether *variant* has what this Limit excludes."""
        return any(set(parts.split("-")) <= set(variant.parts) for parts in self.without)


def require_possible(version: Version, variant: Variant, limits: Iterable[Limit]) -> None:
    """VariantError if one of *limits* keeps *version* from being built in *variant*."""
    for limit in limits:
        if version in limit.versions and limit.forbids(variant):
            raise VariantError(
                f"PostgreSQL {version} cannot be built as {variant}",
                detail=f"{limit.because}.\nSee {limit.see}.",
                hint=f"Without {', '.join(limit.without)} it can."
                if len(limit.without) == 1
                else f"It can without any of {', '.join(limit.without)}.",
            )


def common_cflags(common: Iterable[str], meanings: Iterable[VariantPart]) -> list[str]:
    """The *common* compiler flags, as the *meanings* of a Variant's flags change them."""
    chosen = list(meanings)
    replaced = {flag for meaning in chosen for flag in meaning.instead_of}
    added = [flag for meaning in chosen for flag in meaning.cflags]
    return [*(flag for flag in common if flag not in replaced), *added]
