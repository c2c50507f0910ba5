"""``landspeed ledger``: false alarms as observed, variation as it is normal, and more of both."""

from __future__ import annotations

import click
from rich.table import Table

from benchmarks.pgbench import Pgbench
from landspeed.ledger import CHECK_ALPHA, Account, AlarmRate, Alarms, Ledger, Variation, ledger
from landspeed.nomination import counted, counts_line, newest
from landspeed.options import emit, emit_json, json_option
from landspeed.self_comparison import BLOCKS, compare_with_itself, least_tried
from landspeed.show import as_text
from landspeed.workshop import Workshop

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


def summary_lines(book: Ledger) -> list[str]:
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


def _as_table(book: Ledger) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in TITLES:
        table.add_column(title, justify="left" if title in TITLES[:2] else "right", no_wrap=True)
    for account in book.accounts:
        table.add_row(*account_cells(account))
    return table


@click.command("ledger")
@click.option(
    "--run",
    "runs",
    type=click.IntRange(1),
    metavar="N",
    help=f"First measure N comparisons of a server with a copy of itself, of up to {BLOCKS} "
    "blocks each.",
)
@json_option
def ledger_(*, runs: int | None, as_json: bool) -> None:
    """How often comparisons raise a false alarm, and how much variation is normal here.

    "landspeed run" measures comparisons of a server with itself along with its own runs, two
    for every 50. Intervals are exact, at 95 %.

    \b
    Examples:
      landspeed ledger
      landspeed ledger --json
      landspeed ledger --run 3
    """
    workshop = Workshop.open()
    if runs is not None:
        _measure(workshop, runs)
    book = ledger(workshop.records.table())
    steps = newest(workshop.records.confirmations.all()).values()
    if as_json:
        emit_json({**book.facts(), "steps": counted(steps)})
        return
    emit(as_text(_as_table(book)))
    emit("\n".join([*summary_lines(book), counts_line(steps)]))


def _measure(workshop: Workshop, runs: int) -> None:
    pgbench = Pgbench(build=workshop.pgbench_build())
    for _ in range(runs):
        point, seconds = least_tried(workshop, pgbench.build)
        compare_with_itself(workshop, pgbench, point, seconds=seconds)
