"""A page of the site for a report: its Markdown as HTML, which loads nothing from elsewhere."""

from __future__ import annotations

from html import escape

from markdown_it import MarkdownIt

_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>landspeed: {title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 72em; margin: 0 auto; padding: 1em; font: 16px/1.5 system-ui, sans-serif; }}
h1, h2, h3 {{ line-height: 1.2; }}
img {{ max-width: 100%; height: auto; background: white; padding: .5em; box-sizing: border-box; }}
table {{ border-collapse: collapse; display: block; overflow-x: auto; margin: 1em 0; }}
th, td {{ padding: .2em .7em; border-bottom: 1px solid color-mix(in srgb, currentColor 20%, \
transparent); text-align: left; vertical-align: top; font-variant-numeric: tabular-nums; }}
pre {{ overflow-x: auto; padding: .7em; background: color-mix(in srgb, currentColor 8%, \
transparent); }}
</style>
</head>
<body>
<nav><a href="{up}index.html">landspeed</a> · <a href="{studies}index.html">studies</a></nav>
<main>
{body}</main>
</body>
</html>
"""


def page(title: str, markdown: str, *, depth: int = 3) -> str:
    """The page called *title* that shows *markdown*, so many directories below the site.

    What *markdown* has of HTML is shown as text.
    """
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    return _FRAME.format(
        title=escape(title), body=body, up="../" * depth, studies="../" * (depth - 1)
    )
