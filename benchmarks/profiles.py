"""Profiles: named differences from the default postgresql.conf, read from profiles.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from base.errors import UsageError
from base.version import Version, VersionRange

_TOML = Path(__file__).with_name("profiles.toml")
_UNITS = {"kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A Setting is one row of a Profile: a value, or a share of memory, for a range of versions."""

    name: str
    profiles: tuple[str, ...]
    range: VersionRange
    value: str | None = None
    fraction: float | None = None
    minimum: str = "0MB"
    maximum: str = "0MB"

    @classmethod
    def parse(cls, row: dict[str, Any]) -> Self:
        """The Setting that *row* of the table spells; ``ValueError`` if it spells none."""
        if ("value" in row) == ("fraction" in row):
            raise ValueError(f'setting "{row["name"]}" needs a value or a fraction')
        return cls(
            name=row["name"],
            profiles=tuple(row["profiles"]),
            range=VersionRange.parse(since=row.get("since"), until=row.get("until")),
            value=row.get("value"),
            fraction=row.get("fraction"),
            minimum=row.get("min", "0MB"),
            maximum=row.get("max", "0MB"),
        )

    def text(self, memory_bytes: int) -> str:
        """The value as postgresql.conf has it on a machine with *memory_bytes*."""
        if self.value is not None:
            return self.value
        share = int(memory_bytes * (self.fraction or 0.0))
        clamped = max(parse_size(self.minimum), min(parse_size(self.maximum), share))
        return f"{clamped >> 20}MB"


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A Profile is a named difference from the default postgresql.conf, valid for every Version."""

    name: str

    @classmethod
    def named(cls, name: str) -> Self:
        """The shipped Profile called *name*; UsageError if there is none."""
        if name not in profile_names():
            raise UsageError(
                f'profile "{name}" does not exist',
                hint=f"There are: {', '.join(profile_names())}.",
            )
        return cls(name=name)

    def settings(self, version: Version, memory_bytes: int) -> dict[str, str]:
        """What to write to *version*'s postgresql.conf on a machine with *memory_bytes*."""
        return {
            setting.name: setting.text(memory_bytes)
            for setting in _table()[1]
            if self.name in setting.profiles and version in setting.range
        }

    def shared_buffers(self, memory_bytes: int) -> int:
        """Its shared_buffers in bytes, the same for every Version."""
        return parse_size(self._of_all_versions("shared_buffers", memory_bytes))

    def max_connections(self, memory_bytes: int) -> int:
        """The connections its servers accept, the same for every Version."""
        return int(self._of_all_versions("max_connections", memory_bytes))

    def _of_all_versions(self, name: str, memory_bytes: int) -> str:
        rows = [row for row in _table()[1] if row.name == name and self.name in row.profiles]
        if len(rows) != 1 or rows[0].range != VersionRange():
            raise ValueError(f'profile "{self.name}" must set {name} once, for all versions')
        return rows[0].text(memory_bytes)


def profile_names() -> tuple[str, ...]:
    """The names of all shipped profiles, in the table's order."""
    return _table()[0]


def profile_meanings() -> dict[str, str]:
    """What each shipped profile is, in one line, by name."""
    return {row["name"]: row["is"] for row in tomllib.loads(_TOML.read_text())["profile"]}


def shared_buffers_span(memory_bytes: int) -> tuple[int, int]:
    """The smallest and the largest shared_buffers, in bytes, of all shipped profiles."""
    sizes = [Profile(name=name).shared_buffers(memory_bytes) for name in profile_names()]
    return min(sizes), max(sizes)


def parse_size(text: str) -> int:
    """The bytes in a setting such as ``128MB``; ``ValueError`` if it is not a size."""
    for unit, size in _UNITS.items():
        number = text.removesuffix(unit)
        if number != text and number.isdigit():
            return int(number) * size
    raise ValueError(f'"{text}" is not a size in kB, MB or GB')


@cache
def _table() -> tuple[tuple[str, ...], tuple[Setting, ...]]:
    table = tomllib.loads(_TOML.read_text())
    names = tuple(row["name"] for row in table["profile"])
    return names, tuple(Setting.parse(row) for row in table["setting"])
