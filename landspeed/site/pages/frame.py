"""The pages of the site, and the HTML that all of them share: head, navigation, search, theme.

A page has no inline script or style, so that its Content-Security-Policy can refuse both. A new
page is an entry in VIEWS and a module in ``static/``; ``data.py`` makes the data that it loads.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

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


@dataclass(frozen=True, kw_only=True)
class SitePage:
    """A page of the site.

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


VIEWS: Sequence[SitePage] = (
    SitePage(address="index.html", title="Overview", module="overview"),
    SitePage(
        address="landspeed/workloads.html",
        title="Workloads",
        in_asv=True,
        module="workloads",
        about="What each workload costs on each version, as the change against another version. "
        "Counts are exact: they repeat to 0.1 %.",
    ),
    SitePage(
        address="landspeed/index.html",
        title="Versions",
        in_asv=True,
        module="versions",
        about="The same workload on one machine, for each version. A dot is the mean of "
        "independent runs, a bar its 95 % interval; small marks are single runs.",
    ),
    SitePage(
        address="landspeed/clients.html",
        title="Clients",
        module="clients",
        about="How each version scales with the number of clients.",
    ),
    SitePage(
        address="landspeed/scales.html",
        title="Scales and modes",
        module="scales",
        about="Scaling with clients, for each size of data and each mode: <em>small</em> fits "
        "into shared_buffers, <em>medium</em> fits into memory, <em>large</em> does not.",
    ),
    SitePage(
        address="landspeed/blocks.html",
        title="Block sizes",
        module="blocks",
        about="The effect of the block size, with everything else equal.",
    ),
    SitePage(
        address="landspeed/compare.html",
        title="Compare A and B",
        module="compare",
        about="Two versions or builds, in every cell that was measured for both.",
    ),
    SitePage(
        address="landspeed/regressions.html",
        title="Changepoints",
        module="regressions",
        about="Changes of level in the trends, for better or worse. A trend only nominates a "
        "changepoint; fresh, interleaved runs of both sides confirm or refute it.",
    ),
    SitePage(
        address="landspeed/guards.html",
        title="Guards",
        module="guards",
        about="Which functions of the server the counted workloads execute: a change to any other "
        "is noticed by no count. <em>Reachable</em> are those that PostgreSQL’s own regression "
        "tests execute.",
    ),
    SitePage(address=LEDGER, title="Noise and false alarms"),
    SitePage(
        address="landspeed/status.html",
        title="Status",
        module="status",
        about="What each machine measures now and next, when it was last heard of, and what "
        "failed. The page is as old as the last publish.",
    ),
    SitePage(
        address="landspeed/search.html",
        title="Search",
        listed=False,
        module="search",
        about="All measured versions, by name, commit, subject or author.",
    ),
    SitePage(address="commit.html", title="Commit", listed=False, module="commit"),
)

_PLOT_STYLE = "vendor/uplot/uPlot.min.css"
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


def _navigation(address: str, root: str, reports: Collection[str]) -> str:
    named = [(one.address, one.title) for one in VIEWS if one.listed]
    named += [(f"{one}/index.html", title) for one, title in REPORTS.items() if one in reports]
    named.append((TRENDS, "Trends (asv)"))
    return "\n".join(
        f'          <li><a href="{root}{target}"{_current(target == address)}>{label}</a></li>'
        for target, label in named
    )


def _current(is_it: bool) -> str:
    return ' aria-current="page"' if is_it else ""
