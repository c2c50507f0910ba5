"""The ledger in words: a row of text for each cell, and what all cells together say."""

from __future__ import annotations

from landspeed.compare.aa_rates import CHECK_ALPHA, AAReport, Account, AlarmRate, Alarms, Variation

TITLES = (
    *("cell", "machine", "runs", "variation", "lag 1", "blocks for 1 %"),
    *("blind: false alarms", "replayed: false alarms"),
)


def cell_name(account: Account) -> str:
    """A cell as ``landspeed show`` spells it, with its variant and the seconds of a Run."""
    cell = account.cell
    scale = f"{cell['tier']}-{cell['scale']}"
    return (
        f"{cell['variant']}/{cell['mode']}/{cell['protocol']}/{scale}"
        f"/c{cell['clients']}/{cell['profile']} {cell['seconds']:g} s"
    )


def rate_text(rate: AlarmRate) -> str:
    """A rate with its exact interval: ``0 of 12 (0 % … 26.5 %)``; nothing without comparisons."""
    if not rate.comparisons:
        return "-"
    low, high = rate.interval
    return f"{rate.alarms} of {rate.comparisons} ({100 * low:.3g} % … {100 * high:.3g} %)"


def account_cells(account: Account) -> tuple[str, ...]:
    """One row of the ledger, as text, in the order of TITLES."""
    return (
        cell_name(account),
        account.cell["machine"],
        *_variation(account.variation),
        rate_text(account.blind.stated),
        rate_text(account.replayed.stated),
    )


def _variation(variation: Variation) -> tuple[str, ...]:
    deviation, lag1, blocks = variation.deviation, variation.lag1, variation.blocks
    return (
        str(variation.runs),
        "-" if deviation is None else f"{100 * deviation:.2f} %",
        "-" if lag1 is None else f"{lag1:+.2f}",
        "-" if blocks is None else str(blocks),
    )


def summary_lines(book: AAReport) -> list[str]:
    """What all cells together say, in sentences."""
    return [
        "blind: fresh runs of a server and of a copy of it, as they are compared; "
        + _both(book.blind),
        "replayed: runs that are there anyway, of one server, called A and B by lot; "
        + _both(book.replayed),
    ]


def _both(alarms: Alarms) -> str:
    return (
        f"false alarms, stated 0.1 %: {rate_text(alarms.stated)}; "
        f"at {CHECK_ALPHA:.0%}, as a check: {rate_text(alarms.check)}"
    )
