"""The ledger as a page of the site: what stands in its frame."""

from __future__ import annotations

from html import escape
from pathlib import Path

from base.files import write_atomic
from landspeed.compare.aa_rates import AAReport
from landspeed.compare.aa_text import TITLES, row_text, summary_lines
from landspeed.site.pages.frame import LEDGER

_ABOUT = (
    '<p class="about">How often a comparison of a server with itself found a difference, and how '
    "much variation is normal here. A comparison states at most one false alarm in 1,000.</p>\n"
)
_EXPLAINED = (
    "Variation is the standard deviation of log latency from run to run of one server; lag 1 the "
    "autocorrelation of its following runs; blocks for 1 % about how many pairs of runs it takes "
    "to find a difference of 1 % here. Intervals of rates are exact, at 95 %. Comparisons too "
    "short to raise an alarm are not counted."
)


def ledger_body(book: AAReport) -> str:
    """What the page tells of *book*, as HTML; of one with nothing in it, that."""
    if not book.cells:
        return f"{_ABOUT}<p>Nothing is recorded yet.</p>\n"
    table = "\n".join(
        [
            '<div class="scroll" tabindex="0" role="region" aria-label="Cells"><table>',
            f"<thead>{_row('th', TITLES)}</thead><tbody>",
            *(_row("td", row_text(account)) for account in book.cells),
            "</tbody></table></div>",
        ]
    )
    lines = "\n".join(f"<p>{escape(line)}</p>" for line in summary_lines(book))
    return f'{_ABOUT}{lines}\n{table}\n<p class="quiet">{escape(_EXPLAINED)}</p>\n'


def write_ledger_page(book: AAReport, results: Path) -> None:
    """Put the body of the page beside asv's result files, from where ``asv publish`` takes it."""
    write_atomic(results / LEDGER, ledger_body(book), durable=False)


def _row(tag: str, texts: tuple[str, ...]) -> str:
    cells = "".join(f'<{tag} class="whole">{escape(text)}</{tag}>' for text in texts)
    return f"<tr>{cells}</tr>"
