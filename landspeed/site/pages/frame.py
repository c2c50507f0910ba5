"""The frame that all pages of ours have in common: head, navigation, search, light and dark.

A page holds no script and no style of its own, so that a browser may be told to refuse any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

STATIC = Path(__file__).parent.parent / "static"
LEDGER = "ledger.html"
STUDIES = "studies"
"""The directory of the results, and of the site, that has the reports of studies."""

DATA = "landspeed/data"
"""Where the data files of the pages are, from the site's root."""


@dataclass(frozen=True, kw_only=True)
class SitePage:
    """A SitePage is one page of ours: its address from the site's root, what it draws, in words.

    ``label`` is what the navigation calls it; without one it is not in the navigation. ``module``
    is the script that fills it, if any; ``about`` is HTML.
    """

    address: str
    title: str
    label: str = ""
    module: str = ""
    about: str = ""


VIEWS: Sequence[SitePage] = (
    SitePage(
        address="landspeed/index.html",
        title="Versions",
        label="Versions",
        module="versions",
        about="What a transaction costs in each version, on one machine, asked the same question. "
        "Each dot is the mean of independent runs, the bar its 95 % interval, the small marks "
        "are the runs.",
    ),
    SitePage(
        address="landspeed/clients.html",
        title="Clients",
        label="Clients",
        module="clients",
        about="How far a version goes as clients are added, from one to many.",
    ),
    SitePage(
        address="landspeed/scales.html",
        title="Scales and modes",
        label="Scales × modes",
        module="scales",
        about="The same ladder of clients for every size of data and every mode: "
        "<em>small</em> fits shared_buffers, <em>medium</em> fits memory, <em>large</em> does not.",
    ),
    SitePage(
        address="landspeed/blocks.html",
        title="Block sizes",
        label="Block sizes",
        module="blocks",
        about="What a page of another size gains and costs, everything else being equal.",
    ),
    SitePage(
        address="landspeed/compare.html",
        title="A against B",
        label="A against B",
        module="compare",
        about="One version or build against another, in every cell that has both.",
    ),
    SitePage(
        address="landspeed/regressions.html",
        title="Regressions",
        label="Regressions",
        module="regressions",
        about="Changes of level that trends show, and what became of them. "
        "A trend only nominates; fresh interleaved runs of both sides confirm or refute.",
    ),
    SitePage(address="ledger.html", title="The ledger", label="Ledger"),
    SitePage(
        address="landspeed/search.html",
        title="Search",
        module="search",
        about="Every version that is measured, by its name, commit, subject or author.",
    ),
    SitePage(address="commit.html", title="Commit", module="commit"),
)

_PLOT_STYLE = "vendor/uplot/uPlot.min.css"
_MOUNT = '      <div id="view"><p class="waiting quiet">One moment …</p></div>'
_NO_SCRIPT = "      <noscript><p>These plots are drawn by a script.</p></noscript>"


def page(view: SitePage, *, body: str = "", studies: bool = False) -> str:
    """The HTML of *view*; *body* is HTML that stands before what its module draws.

    *studies* is whether the site has a page of studies, which the navigation then names.
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
    template = Template((STATIC / "pages" / "frame.html").read_text())
    return template.substitute(
        title=escape(view.title),
        root=root,
        nav=_navigation(view.address, root, studies=studies),
        view=f' data-view="{view.module}"' if view.module else "",
        body=f"{about}{body}{mount}",
        scripts="\n".join(scripts),
        style=f'\n    <link rel="stylesheet" href="{root}{_PLOT_STYLE}">' if view.module else "",
    )


def _navigation(address: str, root: str, *, studies: bool) -> str:
    named = [(one.address, one.label) for one in VIEWS if one.label]
    if studies:
        named.append((f"{STUDIES}/index.html", "Studies"))
    named.append(("index.html", "Trends (asv)"))
    return "\n".join(
        f'          <li><a href="{root}{target}"{_current(target == address)}>{label}</a></li>'
        for target, label in named
    )


def _current(is_it: bool) -> str:
    return ' aria-current="page"' if is_it else ""
