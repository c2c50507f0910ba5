"""The catalog of PostgreSQL releases: releases.toml, one stanza each."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, PlainValidator, Strict

from base.errors import RefError, UsageError
from base.typed import Row, read_rows
from base.version import Version

OLDEST = Version.parse("8.3")


def _spelled(version: Version | str) -> Version:
    """Return *version*, parsed if a file spells it; ValueError unless it is spelled in full."""
    known = Version.parse(version) if isinstance(version, str) else version
    if isinstance(version, str) and (not known.is_release or str(known) != version):
        raise ValueError(f"{version} is not spelled like a release (17.0, 9.6.24)")
    return known


class Release(Row):
    """A published version: its date, and the sha256 of its .tar.bz2 if known."""

    version: Annotated[Version, PlainValidator(_spelled)]
    date: Annotated[datetime.date, Strict()]
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")

    @property
    def name(self) -> str:
        """How people call it: ``17.11``, ``9.6.24``, ``17.0``."""
        return str(self.version)

    @property
    def tag(self) -> str:
        """Its tag in upstream's git: ``REL_17_11``."""
        return self.version.tag

    def tarball_url(self, template: str) -> str:
        """Where its tarball is, *template* being that of landspeed.toml."""
        return template.replace("{version}", self.name)


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """The known releases in ascending order of version."""

    releases: tuple[Release, ...]

    @classmethod
    def load(cls, path: Path | None = None) -> Self:
        """Return the catalog in *path*, by default the releases.toml beside this module."""
        path = path or Path(__file__).with_name("releases.toml")
        hint = "Each [[release]] has a version, a date, and perhaps a sha256."
        releases = read_rows(path, "release", Release, hint)
        for earlier, later in pairwise(releases):
            if not earlier.version < later.version:
                said = f"{later.name} is listed after {earlier.name}."
                raise UsageError(f'"{path}" cannot be read', detail=said, hint=hint)
        return cls(releases=releases)

    def newest_stable(self) -> Release:
        """Return the release with the highest version."""
        return self.releases[-1]

    def of_major(self, version: Version) -> tuple[Release, ...]:
        """Return the releases of the major that *version* belongs to, ascending."""
        return tuple(r for r in self.releases if r.version.major == version.major)

    def get(self, version: Version) -> Release | None:
        """Return the release with exactly this version, or None."""
        return next((r for r in self.releases if r.version == version), None)

    def merged(self, others: Iterable[Release]) -> Catalog:
        """Return this catalog and those *others* that it does not list."""
        table = {r.version: r for r in others} | {r.version: r for r in self.releases}
        return Catalog(releases=tuple(table[version] for version in sorted(table)))

    def nearby(self, version: Version, count: int = 3) -> tuple[Release, ...]:
        """Return the releases of *version*'s major, or where it has none the *count* around it."""
        same = self.of_major(version)
        if same:
            return same
        below = sum(1 for r in self.releases if r.version < version)
        start = max(0, min(below - count // 2, len(self.releases) - count))
        return self.releases[start : start + count]


def is_covered(version: Version) -> bool:
    """Whether *version* is one landspeed deals with: 8.3 or later, 8.3devel included."""
    return version.major >= OLDEST.major


def require_covered(version: Version, what: str) -> None:
    """Raise RefError if *version* is older than those that landspeed deals with."""
    if not is_covered(version):
        raise RefError(
            f"{what} is too old",
            detail=f"landspeed deals with PostgreSQL {OLDEST.major_text} and later.",
        )
