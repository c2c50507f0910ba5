"""The ledger as a page of the site: our static page with the numbers put in."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from base.files import write_atomic
from landspeed.asv_publisher import LEDGER, STATIC
from landspeed.ledger import Ledger
from landspeed.ledger_verb import TITLES, account_cells, summary_lines

_PLACE = re.compile(r"<!-- ledger -->.*?<!-- /ledger -->", re.DOTALL)
_EXPLAINED = (
    "Variation is the standard deviation of log latency from run to run of one server; lag 1 the "
    "autocorrelation of its following runs; blocks for 1 % about how many pairs of runs it takes "
    "to find a difference of 1 % here. Intervals of rates are exact, at 95 %. Comparisons too "
    "short to raise an alarm are not counted."
)


def ledger_page(book: Ledger) -> str:
    """The page that tells *book*; with nothing in it, the page that says so."""
    template = (STATIC / LEDGER).read_text()
    if not book.accounts:
        return template
    body = "\n".join(
        [
            *(f"<p>{escape(line)}</p>" for line in summary_lines(book)),
            '<div class="table-responsive"><table class="table table-condensed">',
            _row("th", TITLES),
            *(_row("td", account_cells(account)) for account in book.accounts),
            "</table></div>",
            f"<p>{escape(_EXPLAINED)}</p>",
        ]
    )
    return _PLACE.sub(lambda _: body, template)


def write_ledger_page(book: Ledger, results: Path) -> None:
    """Put the page beside asv's result files, from where ``asv publish`` takes it."""
    write_atomic(results / LEDGER, ledger_page(book), durable=False)


def _row(tag: str, texts: tuple[str, ...]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(text)}</{tag}>" for text in texts) + "</tr>"
