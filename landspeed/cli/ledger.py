"""``landspeed ledger``: false alarms as observed, variation as it is normal, and more of both."""

from __future__ import annotations

import click
from rich.table import Table

from benchmarks.clients.pgbench import Pgbench
from landspeed.changepoints.confirmation import newest, status_counts, status_counts_text
from landspeed.cli.options.common import emit, emit_json, json_option
from landspeed.compare.aa_rates import AAReport, ledger
from landspeed.compare.aa_schedule import BLOCKS, compare_with_itself, least_tried
from landspeed.compare.aa_text import TITLES, account_cells, summary_lines
from landspeed.console.table import rich_table
from landspeed.results.show import as_text
from landspeed.session.session import Session


def _as_table(book: AAReport) -> Table:
    return rich_table(TITLES, map(account_cells, book.accounts), align="llr")


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
    session = Session.open()
    if runs is not None:
        _measure(session, runs)
    book = ledger(session.records.table())
    steps = newest(session.records.confirmations.all()).values()
    if as_json:
        emit_json({**book.facts(), "steps": status_counts(steps)})
        return
    emit(as_text(_as_table(book)))
    emit("\n".join([*summary_lines(book), status_counts_text(steps)]))


def _measure(session: Session, runs: int) -> None:
    pgbench = Pgbench(build=session.pgbench_build())
    for _ in range(runs):
        point, seconds = least_tried(session, pgbench.build)
        compare_with_itself(session, pgbench, point, seconds=seconds)
