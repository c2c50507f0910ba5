"""Reports that are written as Markdown: their pages, and those that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from markdown_it import MarkdownIt
from markdown_it.token import Token

from landspeed.console.progress import say
from landspeed.site.pages.frame import STUDIES, SitePage, page

PAGE, MARKDOWN, FACTS = "index.html", "report.md", "report.json"
"""The files of a report: its page, the text of the page, and what programs and lists read."""

_A_SENTENCE = 60  # A table cell with more characters is text, and is given more width.


def report_page(
    directory: str, title: str, markdown: str, *, below: str = STUDIES, picture: str = ""
) -> str:
    """Return the HTML of *markdown* as the page *title*, in *directory* below that of the studies.

    *directory* is "" for the list of studies. *below* is another one of REPORTS. *picture* is HTML
    that stands before the text; HTML in *markdown* is shown as text.
    """
    heading, _, text = markdown.partition("\n")
    if not heading.startswith("# "):
        raise ValueError("a report begins with its title")
    markdown_it = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown_it.parse(text)
    titles: list[str] = []
    column = 0
    for token, inner in pairwise(tokens):
        # The Content-Security-Policy of the pages refuses inline styles.
        if token.attrs.pop("style", None) == "text-align:right":
            token.attrSet("class", "number")
        elif token.type == "td_open" and _length(inner) > _A_SENTENCE:
            token.attrSet("class", "text")
        if token.type == "table_open":
            titles = []
        elif token.type == "tr_open":
            column = 0
        elif token.type == "th_open":
            titles.append(inner.content)
        elif token.type == "td_open":
            # on a phone each row is a card, whose first cell is its name
            if column:
                token.attrSet("data-title", titles[column])
            column += 1
    body = markdown_it.renderer.render(tokens, markdown_it.options, {})
    body = body.replace("<table>", '<div class="scroll"><table class="cards report">').replace(
        "</table>", "</table></div>"
    )
    address = "/".join(filter(None, (below, directory, PAGE)))
    return page(SitePage(address=address, title=title), body=picture + body, reports=[below])


_Found = TypeVar("_Found")


def read_reports(
    what: str, reports: Path, below: str, read: Callable[[Path], _Found]
) -> Iterator[_Found]:
    """Yield what *read* makes of the FACTS in each directory of *reports* that matches *below*.

    A damaged file is left out with a word to the user, who knows such a report as that of *what*.
    """
    for path in sorted(reports.glob(f"{below}/{FACTS}")):
        try:
            found = read(path)
        except (OSError, ValueError, LookupError, TypeError):
            say(f'the report of {what} cannot be read and is left out: "{path}"')
        else:
            yield found


def _length(inner: Token) -> int:
    """Return the number of characters that are shown: addresses of links are not."""
    return sum(len(one.content) for one in inner.children or ())
