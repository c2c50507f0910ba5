"""Numbers as text: counts with their noun, shares, changes, measured values."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[^\n\t\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff]")


def printable(text: str) -> str:
    """Return *text* without control characters but tabs and ends of lines.

    Anybody may have written a subject of a commit, or what the compiler says of a patch: on a
    terminal such characters could change what stands above.
    """
    return _CONTROL.sub("\ufffd", text)


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return *number* with its noun: ``1 block``, ``2 blocks``, ``1,702 commits``.

    *plural* is given where it is not *noun* with an "s".
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def percent(share: float) -> str:
    """Return *share* as a percentage of up to six digits: 0.001 is ``0.1 %``."""
    return f"{100 * share:.6g} %"


def change(ratio: float) -> str:
    """Return *ratio* as a signed change with two decimals: 1.0304 is ``+3.04 %``."""
    return f"{100 * (ratio - 1):+.2f} %"


def gib(size: float) -> str:
    """Return a number of bytes as ``7.6 GiB``."""
    return f"{size / 2**30:.1f} GiB"


def number(value: float | None) -> str:
    """Return a measured value with four significant digits, and all digits from 1,000 on.

    None is ``-``.
    """
    if value is None:
        return "-"
    return f"{value:,.1f}" if value >= 1000 else f"{value:.4g}"
