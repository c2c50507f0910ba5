"""asv's publisher plug-ins: a site that loads nothing from elsewhere and speaks of releases.

Named in asv.conf.json, so ``asv publish`` by hand makes the same site.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from asv.publishing import OutputPublisher
from asv.util import UserError

from landspeed.site.pages.data import PAGES_DATA
from landspeed.site.pages.frame import DATA, LEDGER, STATIC, STUDIES, VIEWS, page

_OF_ASV = ("landspeed.css", "landspeed.js")
_SCRIPTS_AND_STYLE = "landspeed"

# asv's page names these on hosts of others; the first part of the file name tells which is which
_LOCAL = {
    "jquery-3": "jquery.min.js",
    "jquery.flot.min": "jquery.flot.js",
    "jquery.flot.time": "jquery.flot.time.js",
    "jquery.flot.selection": "jquery.flot.selection.js",
    "jquery.flot.categories": "jquery.flot.categories.js",
    "jquery.flot.orderBars": "jquery.flot.orderBars.js",
    "stupidtable": "stupidtable.min.js",
    "md5": "md5.min.js",
    "bootstrap.min.js": "bootstrap/js/bootstrap.min.js",
    "bootstrap.min.css": "bootstrap/css/bootstrap.min.css",
}
_ELSEWHERE = re.compile(
    r"<script\s[^>]*?src=\"(?P<script>https?://[^\"]+)\"[^>]*></script>"
    r"|<link\s[^>]*?href=\"(?P<style>https?://[^\"]+)\"[^>]*>"
)
_LOADED = re.compile(
    r"<(?:script|img|iframe)\s[^>]*?src=\"(?:https?:)?//|<link\s[^>]*?href=\"(?:https?:)?//"
)

# What is said differently on our page; each must be there, or asv's page has changed.
_BRAND_OLD = re.compile(r"<p class=\"navbar-text\">.*?</p>", re.DOTALL)
_BRAND_NEW = """<p class="navbar-text">
            <a href="#/" class="navbar-link">landspeed</a> of
            <a id="project-name" href="#" class="navbar-link">project</a>
            <span class="credit">drawn by
              <a href="https://github.com/airspeed-velocity/asv/" rel="noreferrer">asv</a></span>
          </p>"""
_LEDGER_ENTRY = f'        <li><a href="{LEDGER}">Ledger</a></li>'
_STUDIES_ENTRY = f'\n        <li><a href="{STUDIES}/index.html">Studies</a></li>'
_WORDS = (
    (
        '<li id="nav-li-regressions"><a href="#/regressions">Regressions</a></li>',
        '<li id="nav-li-regressions"><a href="#/regressions">Regressions</a></li>\n'
        '        <li><a href="landspeed/index.html">Versions</a></li>\n'
        '        <li><a href="landspeed/compare.html">A against B</a></li>\n' + _LEDGER_ENTRY,
    ),
    ("<title>airspeed velocity</title>", "<title>landspeed</title>"),
    (
        '<div style="position: absolute; left: 220px; top: 60px; bottom: 10px; right: 20px;">\n',
        '<div id="graph-area">\n        <div id="legend"></div>\n',
    ),
    (
        '<link href="asv.css" rel="stylesheet" type="text/css"/>',
        '<link href="asv.css" rel="stylesheet" type="text/css"/>\n'
        '    <link href="landspeed.css" rel="stylesheet" type="text/css"/>\n'
        '    <script src="landspeed.js"></script>',
    ),
)


class LocalAssets(OutputPublisher):  # type: ignore[misc]
    """LocalAssets puts our copies of asv's ten CDN files into the site, and our own pages."""

    name = "landspeed"
    button_label = "landspeed"
    description = "Local assets and the pages of landspeed"
    order = 10

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Called by ``asv publish`` when its own pages are in ``conf.html_dir``."""
        del repo, benchmarks, graphs, revisions
        site = Path(conf.html_dir)
        studies = own_pages(Path(conf.results_dir), site)
        for path in (site / "index.html", site / "error.html"):
            page = localised(path.read_text(), whole=path.name == "index.html")
            path.write_text(page.replace(_LEDGER_ENTRY, _LEDGER_ENTRY + studies))


def own_pages(results: Path, site: Path) -> str:
    """Put into *site* all that is ours: our pages, their scripts and data, and copies of others'.

    All of it comes from what lies in and beside asv's *results*, and may be put there again. What
    is given back is what asv's navigation says of the studies, nothing where there are none.
    """
    shutil.copytree(STATIC / "vendor", site / "vendor", dirs_exist_ok=True)
    for name in _OF_ASV:
        shutil.copyfile(STATIC / name, site / name)
    ours = site / _SCRIPTS_AND_STYLE
    ours.mkdir(exist_ok=True)
    for path in sorted((STATIC / "pages").iterdir()):
        if path.suffix in (".js", ".css"):
            shutil.copyfile(path, ours / path.name)
    data = results.parent / PAGES_DATA
    if data.is_dir():
        shutil.copytree(data, site / DATA, dirs_exist_ok=True)
    ledger = results / LEDGER
    studies = results.parent / STUDIES
    if studies.is_dir():
        left_over = shutil.ignore_patterns(".*")  # of a report that is being made
        shutil.copytree(studies, site / STUDIES, dirs_exist_ok=True, ignore=left_over)
    has_studies = (site / STUDIES / "index.html").is_file()
    for view in VIEWS:
        body = ledger.read_text() if view.address == LEDGER and ledger.is_file() else ""
        (site / view.address).write_text(page(view, body=body, studies=has_studies))
    return _STUDIES_ENTRY if has_studies else ""


def localised(page: str, *, whole: bool = True) -> str:
    """asv's *page* with every asset local and, for the *whole* index, with landspeed's words.

    asv's UserError if the page is not the one this was written for.
    """
    page = _ELSEWHERE.sub(_local_tag, page)
    if whole:
        page, brands = _BRAND_OLD.subn(_BRAND_NEW, page)
        missing = [old for old, _ in _WORDS if page.count(old) != 1]
        if missing or brands != 1:
            raise UserError(f"asv's page is not the one landspeed knows: {missing or 'no brand'}")
        for old, new in _WORDS:
            page = page.replace(old, new)
    left = _LOADED.search(page)
    if left is not None:
        raise UserError(f"asv's page still loads from elsewhere: {left[0]}")
    return page


def _local_tag(match: re.Match[str]) -> str:
    address = match["script"] or match["style"]
    file = address.rpartition("/")[2]
    for start, local in _LOCAL.items():
        if file.startswith(start):
            if match["script"]:
                return f'<script src="vendor/{local}" onerror="js_load_failure()"></script>'
            return f'<link rel="stylesheet" href="vendor/{local}">'
    raise UserError(f"asv's page loads a file landspeed has no copy of: {address}")
