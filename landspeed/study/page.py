"""A page of the site for a report: its Markdown in the frame that all our pages have."""

from __future__ import annotations

from markdown_it import MarkdownIt

from landspeed.pages.frame import STUDIES, SitePage, page

PAGE = "index.html"


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
    for token in tokens:
        # our pages take no style that stands in them
        if token.attrs.pop("style", None) == "text-align:right":
            token.attrSet("class", "number")
    body = markdown_it.renderer.render(tokens, markdown_it.options, {})
    body = body.replace("<table>", '<div class="scroll"><table>').replace(
        "</table>", "</table></div>"
    )
    address = "/".join(filter(None, (STUDIES, place, PAGE)))
    return page(SitePage(address=address, title=title), body=body, studies=True)
