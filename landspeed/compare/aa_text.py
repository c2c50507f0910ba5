"""The A/A report as text: a row for each cell, and sentences about all cells together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.workloads.cell_name import CellName
from landspeed.compare.aa_rates import (
    CHECK_ALPHA,
    AAReport,
    AlarmRate,
    Alarms,
    CellRates,
    Variation,
)

TITLES = (
    *("cell", "machine", "runs", "variation", "lag 1", "blocks for 1 %"),
    *("blind: false alarms", "replayed: false alarms"),
)


def _cell_name(cell: Mapping[str, Any]) -> str:
    """Return a cell as ``landspeed show`` prints it, with its variant and the seconds of a run."""
    return f"{cell['variant']}/{CellName.of(cell)} {cell['seconds']:g} s"


def rate_text(rate: AlarmRate) -> str:
    """Return a rate with its exact interval: ``0 of 12 (0 % … 26.5 %)``, or ``-``."""
    if not rate.comparisons:
        return "-"
    low, high = rate.interval
    return f"{rate.alarms} of {rate.comparisons} ({100 * low:.3g} % … {100 * high:.3g} %)"


def row_text(rates: CellRates) -> tuple[str, ...]:
    """Return the row of one cell as text, in the order of TITLES."""
    return (
        _cell_name(rates.cell),
        rates.cell["machine"],
        *_variation(rates.variation),
        rate_text(rates.blind.stated),
        rate_text(rates.replayed.stated),
    )


def _variation(variation: Variation) -> tuple[str, ...]:
    deviation, lag1, blocks = variation.deviation, variation.lag1, variation.blocks
    return (
        str(variation.runs),
        "-" if deviation is None else f"{100 * deviation:.2f} %",
        "-" if lag1 is None else f"{lag1:+.2f}",
        "-" if blocks is None else str(blocks),
    )


def summary_lines(report: AAReport) -> list[str]:
    """Return a sentence for each kind of A/A comparison, over all cells."""
    return [
        "blind (fresh runs of a server and of a copy of it): " + _both(report.blind),
        "replayed (recorded runs of one server, called A and B at random): "
        + _both(report.replayed),
    ]


def _both(alarms: Alarms) -> str:
    return (
        f"false alarms at the stated 0.1 %: {rate_text(alarms.stated)}; "
        f"at {CHECK_ALPHA:.0%}, as a check: {rate_text(alarms.check)}"
    )
