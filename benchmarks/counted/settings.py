"""What a counted server is set to, and which of its work is not a transaction's: exact.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from base.version import Version, VersionRange

_TOML = Path(__file__).with_name("exact.toml")


def exact_settings(version: Version) -> dict[str, str]:
    """What to write to *version*'s postgresql.conf after its profile's settings."""
    return {row["name"]: row["value"] for row, range_ in _settings() if version in range_}


@cache
def clock_driven() -> tuple[str, ...]:
    """The functions whose calls of others a clock decides on."""
    return tuple(row["function"] for row in _table()["clock"])


@cache
def _settings() -> tuple[tuple[dict[str, Any], VersionRange], ...]:
    return tuple(
        (row, VersionRange.parse(since=row.get("since"), until=row.get("until")))
        for row in _table()["setting"]
    )


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(_TOML.read_text())
