"""``landspeed doctor --noise``: observed false alarms and the variation of measurements."""

from __future__ import annotations

from benchmarks.clients.pgbench import Pgbench
from landspeed.changepoints.changepoint import (
    Confirmation,
    newest,
    status_counts,
    status_counts_text,
)
from landspeed.cli.options.output import emit_either
from landspeed.compare.aa_rates import TITLES, aa_report, row_text, summary_lines
from landspeed.compare.aa_schedule import compare_with_itself, least_compared
from landspeed.console.table import as_text, rich_table
from landspeed.session.session import Session


def show_noise(runs: int | None) -> None:
    """Print the report, after *runs* more comparisons of a server with a copy of itself."""
    session = Session()
    if runs is not None:
        pgbench = Pgbench(build=session.pgbench_build(with_server=True))
        for _ in range(runs):
            point, seconds = least_compared(session, pgbench.build)
            compare_with_itself(session, pgbench, point, seconds=seconds)
    report = aa_report(session.records.table())
    changes = newest(session.records.confirmations.read(Confirmation)).values()
    table = as_text(rich_table(TITLES, map(row_text, report.cells), align="llr"))
    text = "\n".join([table, *summary_lines(report), status_counts_text(changes)])
    facts = {**report.facts(), "steps": status_counts(changes)}
    emit_either(text, facts)
