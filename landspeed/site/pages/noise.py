"""The page of noise and false alarms."""

from __future__ import annotations

from html import escape
from pathlib import Path

from base.files import write_atomic
from landspeed.compare.aa_rates import TITLES, AAReport, row_text, summary_lines
from landspeed.site.pages.frame import LEDGER

_EXPLAINED = (
    "Variation is the standard deviation of log latency between runs of one server. Lag 1 is the "
    "autocorrelation of successive runs. Blocks for 1 % is about how many pairs of runs it takes "
    "to detect a difference of 1 %. Intervals of rates are exact, at 95 %. Comparisons too short "
    "to raise an alarm are not counted."
)


def ledger_body(book: AAReport) -> str:
    """Return the HTML of *book*."""
    if not book.cells:
        return "<p>No comparison of a server with itself is recorded yet.</p>\n"
    table = "\n".join(
        [
            '<div class="scroll" tabindex="0" role="region" aria-label="Cells"><table>',
            f"<thead>{_row('th', TITLES)}</thead><tbody>",
            *(_row("td", row_text(account)) for account in book.cells),
            "</tbody></table></div>",
        ]
    )
    lines = "\n".join(f"<p>{escape(line)}</p>" for line in summary_lines(book))
    return f'{lines}\n{table}\n<p class="quiet">{escape(_EXPLAINED)}</p>\n'


def write_ledger_page(book: AAReport, results: Path) -> None:
    """Write the page's body beside asv's result files, from where asv's publishers take it."""
    write_atomic(results / LEDGER, ledger_body(book), durable=False)


def _row(tag: str, texts: tuple[str, ...]) -> str:
    cells = "".join(f'<{tag} class="whole">{escape(text)}</{tag}>' for text in texts)
    return f"<tr>{cells}</tr>"
