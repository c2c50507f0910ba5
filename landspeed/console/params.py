"""Quantities on the command line: shares, durations and amounts of memory."""

from __future__ import annotations

import re

from base.errors import UsageError

_SECONDS = {"d": 86400, "h": 3600, "min": 60, "s": 1}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(d|h|min|s)")
_MEMORY = re.compile(r"([0-9]+)([kmgKMG]?)[bB]?")
_BYTES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_LEAST_MEMORY = 6 * 2**20  # dockerd refuses less


def parse_share(text: str) -> float:
    """Return the share, between 0 and 1, that ``0.5%`` or ``0.005`` spell; or raise UsageError."""
    number = text.strip().removesuffix("%")
    try:
        share = float(number) / (100 if number != text.strip() else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise UsageError(
            f'"{text}" is not a share',
            hint="Write a number between 0 and 1, or a percentage: 0.01 or 1%.",
        )
    return share


def parse_duration(text: str) -> float:
    """Return the seconds that ``90s``, ``1h30min`` or ``0`` spell; or raise UsageError."""
    word = text.replace(" ", "")
    if word == "0":
        return 0.0
    if not word or _DURATION_PART.sub("", word):
        raise UsageError(f'"{text}" is not a duration', hint="Write it like 90s, 30min or 1h30min.")
    return sum(float(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(word))


def spell_duration(seconds: float) -> str:
    """Return *seconds*, rounded to whole seconds, as `parse_duration` reads it: ``1h30min``."""
    rest, words = round(seconds), ""
    for unit, size in _SECONDS.items():
        number, rest = divmod(rest, size)
        words += f"{number}{unit}" if number else ""
    return words or "0"


def parse_memory(text: str) -> int:
    """Return the bytes that ``2g`` or ``512m`` spell, as docker reads it; or raise UsageError."""
    match = _MEMORY.fullmatch(text)
    size = int(match[1]) * _BYTES[match[2].lower()] if match else 0
    if size < _LEAST_MEMORY:
        raise UsageError(
            f'"{text}" is not an amount of memory',
            hint="Write a number and k, m or g, like 2g; at least 6m.",
        )
    return size
