"""A report as a page of the site."""

from __future__ import annotations

from itertools import pairwise

from markdown_it import MarkdownIt

from landspeed.site.pages.frame import STUDIES, SitePage, page

PAGE = "index.html"
_A_SENTENCE = 60  # A table cell with more characters is text, and is given more width.


def study_page(directory: str, title: str, markdown: str) -> str:
    """Return the HTML of *markdown* as the page *title*, in *directory* below that of the studies.

    *directory* is "" for the list of studies. HTML in *markdown* is shown as text.
    """
    heading, _, text = markdown.partition("\n")
    if not heading.startswith("# "):
        raise ValueError("a report begins with its title")
    markdown_it = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown_it.parse(text)
    for token, inner in pairwise(tokens):
        # The Content-Security-Policy of the pages refuses inline styles.
        if token.attrs.pop("style", None) == "text-align:right":
            token.attrSet("class", "number")
        elif token.type == "td_open" and len(inner.content) > _A_SENTENCE:
            token.attrSet("class", "text")
    body = markdown_it.renderer.render(tokens, markdown_it.options, {})
    body = body.replace("<table>", '<div class="scroll"><table>').replace(
        "</table>", "</table></div>"
    )
    address = "/".join(filter(None, (STUDIES, directory, PAGE)))
    return page(SitePage(address=address, title=title), body=body, studies=True)
