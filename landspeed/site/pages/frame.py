"""The pages of the site, and the HTML that all of them share: head, navigation, search, theme.

A page has no inline script or style, so that its Content-Security-Policy can refuse both. A new
page is a row of ``views.toml`` and a module in ``static/``; ``data.py`` makes the data that it
loads.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape
from pathlib import Path
from string import Template

from base.typed import Row, read_rows

STATIC = Path(__file__).parent / "static"
"""The scripts and the style sheet of the pages."""

LEDGER = "ledger.html"
STUDIES = "studies"
REPORTS = {STUDIES: "Studies", "upgrade": "Upgrade report", "atlas": "Atlas"}
"""Directories of the results, and of the site, that have reports, and their names."""

TRENDS = "trends.html"
"""asv's page, which asv itself calls index.html."""

DATA = "landspeed/data"
"""Where the data files of the pages are, from the site's root."""


class SitePage(Row):
    """A page of the site, a row of ``views.toml``.

    ``address`` is relative to the site's root. ``title`` is also its name in the navigation if it
    is ``listed``, and in the navigation of asv's pages if it is ``in_asv``. ``module`` is the
    script in ``static/`` that fills it, if any; ``about`` is HTML. What the results have under
    its address, if anything, stands before what the script draws.
    """

    address: str
    title: str
    listed: bool = True
    in_asv: bool = False
    module: str = ""
    about: str = ""


VIEWS = read_rows(
    Path(__file__).with_name("views.toml"), "page", SitePage, "Restore it from the repository."
)
"""The pages, in the order of the navigation."""

_PLOT_STYLE = "vendor/uplot/uPlot.min.css"
_ENTRIES = re.compile(
    r'(?<=<nav id="pages" aria-label="Pages">\n        <ul>\n).*?(?=\n +</ul>)', re.S
)
_MOUNT = '      <div id="view"><p class="waiting quiet">Loading …</p></div>'
_NO_SCRIPT = "      <noscript><p>This page needs JavaScript.</p></noscript>"


def page(view: SitePage, *, body: str = "", reports: Collection[str] = ()) -> str:
    """Return the HTML of *view*, with the HTML *body* before what its module draws.

    The navigation also links to those directories of REPORTS that are among *reports*.
    """
    root = "../" * view.address.count("/")
    about = f'      <p class="about">{view.about}</p>\n' if view.about else ""
    mount = f"{_MOUNT}\n{_NO_SCRIPT}" if view.module else ""
    scripts = [f'    <script type="module" src="{root}landspeed/frame.js"></script>']
    if view.module:
        scripts = [
            f'    <script src="{root}vendor/uplot/uPlot.iife.min.js"></script>',
            *scripts,
            f'    <script type="module" src="{root}landspeed/{view.module}.js"></script>',
        ]
    template = Template((STATIC / "frame.html").read_text())
    return template.substitute(
        title=escape(view.title),
        root=root,
        nav=_navigation(view.address, root, reports),
        view=f' data-view="{view.module}"' if view.module else "",
        body=f"{about}{body}{mount}",
        scripts="\n".join(scripts),
        style=f'\n    <link rel="stylesheet" href="{root}{_PLOT_STYLE}">' if view.module else "",
    )


def renewed(html: str, address: str, reports: Collection[str]) -> str:
    """Return *html*, which `page` made, with the navigation of a site that has these *reports*."""
    navigation = _navigation(address, "../" * address.count("/"), reports)
    return _ENTRIES.sub(lambda _: navigation, html, count=1)


def _navigation(address: str, root: str, reports: Collection[str]) -> str:
    named = [(one.address, one.title) for one in VIEWS if one.listed]
    named += [(f"{one}/index.html", title) for one, title in REPORTS.items() if one in reports]
    named.append((TRENDS, "Trends (asv)"))
    current = {address: ' aria-current="page"'}
    return "\n".join(
        f'          <li><a href="{root}{target}"{current.get(target, "")}>{label}</a></li>'
        for target, label in named
    )
