"""What a counted server is set to, and which of its work is not a transaction's: exact.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.counted.callgrind import Profile

_TOML = Path(__file__).with_name("exact.toml")


def exact_settings(known: Mapping[str, str]) -> dict[str, str]:
    """What to write after a profile's settings to a server that knows these; see known_settings."""
    return {
        row["name"]: row["value"]
        for row in _table()["setting"]
        if row["name"] in known
        and row.get("unless") not in known
        and _is_allowed(row["value"], known[row["name"]])
    }


def _is_allowed(value: str, least: str) -> bool:
    return not (value.isdigit() and least) or float(value) >= float(least)


def clocked(profile: Profile) -> float:
    """Return the instructions in *profile* that a clock started, not a transaction."""
    return sum(
        edge.inclusive
        for (caller, callee), edge in profile.edges.items()
        for function, calls in _clocks()
        if caller == function and calls.fullmatch(callee)
    )


@cache
def _clocks() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((row["function"], re.compile(row["calls"])) for row in _table()["clock"])


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(_TOML.read_text())
