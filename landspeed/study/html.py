"""A page of the site for a report: its Markdown in the frame that all our pages have."""

from __future__ import annotations

from itertools import pairwise

from markdown_it import MarkdownIt

from landspeed.site.pages.frame import STUDIES, SitePage, page

PAGE = "index.html"
_A_SENTENCE = 60  # letters: a cell of a table that has more is to be read, and is given the width


def study_page(place: str, title: str, markdown: str) -> str:
    """The HTML of the page called *title* in directory *place* of the studies ("" for their list).

    It shows *markdown*, whose own title is left out: the frame has it. What *markdown* has of
    HTML is shown as text.
    """
    heading, _, text = markdown.partition("\n")
    if not heading.startswith("# "):
        raise ValueError("a report begins with its title")
    markdown_it = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown_it.parse(text)
    for token, inner in pairwise(tokens):
        # our pages take no style that stands in them
        if token.attrs.pop("style", None) == "text-align:right":
            token.attrSet("class", "number")
        elif token.type == "td_open" and len(inner.content) > _A_SENTENCE:
            token.attrSet("class", "told")
    body = markdown_it.renderer.render(tokens, markdown_it.options, {})
    body = body.replace("<table>", '<div class="scroll"><table>').replace(
        "</table>", "</table></div>"
    )
    address = "/".join(filter(None, (STUDIES, place, PAGE)))
    return page(SitePage(address=address, title=title), body=body, studies=True)
