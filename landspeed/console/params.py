"""Quantities on the command line: a share such as 1%, a length of time such as 1h30min."""

from __future__ import annotations

import re

from base.errors import UsageError

_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_PART = re.compile(r"(\d+(?:\.\d+)?)(d|h|min|s)")


def parse_share(text: str) -> float:
    """The share, between 0 and 1, that ``0.5%`` or ``0.005`` spell; UsageError if none."""
    number = text.strip().removesuffix("%")
    try:
        share = float(number) / (100 if number != text.strip() else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise UsageError(
            f'"{text}" is not a share',
            hint="Write a number between 0 and 1, or per cent: 0.01 or 1%.",
        )
    return share


def parse_duration(text: str) -> float:
    """The seconds that ``90s``, ``30min``, ``1h30min`` or ``0`` spell; UsageError if none."""
    word = text.replace(" ", "")
    if word == "0":
        return 0.0
    if not word or _PART.sub("", word):
        raise UsageError(
            f'"{text}" is not a length of time', hint="Write it like 90s, 30min or 1h30min."
        )
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(word))
