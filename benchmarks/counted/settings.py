"""What a counted server is set to, and which of its work is not a transaction's: exact.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

_TOML = Path(__file__).with_name("exact.toml")


def exact_settings(known: Collection[str]) -> dict[str, str]:
    """What to write after a profile's settings to a server to which these names are *known*."""
    return {row["name"]: row["value"] for row in _table()["setting"] if row["name"] in known}


@cache
def clock_driven() -> tuple[str, ...]:
    """The functions whose calls of others a clock decides on."""
    return tuple(row["function"] for row in _table()["clock"])


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(_TOML.read_text())
