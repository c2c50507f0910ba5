"""An asv publisher: local copies of what asv loads from other hosts, and landspeed's own pages.

It is named in asv.conf.json, so that ``asv publish`` by hand makes the same site.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from asv.publishing import OutputPublisher
from asv.util import UserError

from landspeed.site.pages import frame
from landspeed.site.pages.data import PAGES_DATA
from landspeed.site.pages.frame import DATA, REPORTS, TRENDS, VIEWS, page
from landspeed.site.pages.samples import SAMPLES

STATIC = Path(__file__).parent / "static"
"""Others' libraries, and what is added to asv's own pages."""

_OF_ASV = ("landspeed.css", "landspeed.js")
_SCRIPTS_AND_STYLE = "landspeed"

# asv's page loads these from other hosts; the start of the file's name tells them apart.
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

# Replacements in asv's page. Each text must occur once, or asv's page has changed.
_BRAND_OLD = re.compile(r"<p class=\"navbar-text\">.*?</p>", re.DOTALL)
_BRAND_NEW = """<p class="navbar-text">
            <a href="index.html" class="navbar-link">landspeed</a> of
            <a id="project-name" href="#" class="navbar-link">project</a>
            <span class="credit">drawn by
              <a href="https://github.com/airspeed-velocity/asv/" rel="noreferrer">asv</a></span>
          </p>"""
_ENTRY = '\n        <li><a href="{address}">{title}</a></li>'
_LAST_ENTRY = '<li id="nav-li-regressions"><a href="#/regressions">Regressions</a></li>'
# asv's pages have styles in elements, but no script in the page once all scripts are local.
_TYPE = '<meta http-equiv="Content-Type" content="text/html; charset=utf-8">'
_POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'self\'; '
    "img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; "
    "form-action 'none'\">"
)
_LOAD_FAILURE = """    <script type="text/javascript">
      function js_load_failure() {
        window.location = "error.html";
      }
    </script>
"""
_WORDS = (
    (_LOAD_FAILURE, ""),
    (_LAST_ENTRY, _LAST_ENTRY + "{entries}"),
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
    """Put copies of the ten files that asv loads from a CDN into the site, and our own pages.

    Our overview takes the place of asv's page, which becomes TRENDS.
    """

    name = "landspeed"
    button_label = "landspeed"
    description = "Local assets and the pages of landspeed"
    order = 10

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Called by ``asv publish`` when its own pages are in ``conf.html_dir``."""
        del repo, benchmarks, graphs, revisions
        site = Path(conf.html_dir)
        entries = [(one.address, one.title) for one in VIEWS if one.in_asv]
        trends, error = (site / "index.html").read_text(), site / "error.html"
        reports = own_pages(Path(conf.results_dir), site)
        entries += [(f"{one}/index.html", REPORTS[one]) for one in reports]
        (site / TRENDS).write_text(localised(trends, entries))
        error.write_text(localised(error.read_text()))


def own_pages(results: Path, site: Path) -> list[str]:
    """Put landspeed's pages, their scripts and data, and copies of libraries into *site*.

    The data are in and beside asv's *results*. Return the directories of REPORTS that there are.
    """
    shutil.copytree(STATIC / "vendor", site / "vendor", dirs_exist_ok=True)
    for name in _OF_ASV:
        shutil.copyfile(STATIC / name, site / name)
    ours = site / _SCRIPTS_AND_STYLE
    ours.mkdir(exist_ok=True)
    for path in sorted(frame.STATIC.iterdir()):
        if path.suffix in (".js", ".css"):
            shutil.copyfile(path, ours / path.name)
    for name, target in ((PAGES_DATA, DATA), (SAMPLES, f"{DATA}/{SAMPLES}")):
        if (results.parent / name).is_dir():
            shutil.copytree(results.parent / name, site / target, dirs_exist_ok=True)
    reports = [one for one in REPORTS if (results.parent / one / "index.html").is_file()]
    left_over = shutil.ignore_patterns(".*")  # of a report that is being written
    for one in reports:
        shutil.copytree(results.parent / one, site / one, dirs_exist_ok=True, ignore=left_over)
    for view in VIEWS:
        stored = results / view.address
        body = stored.read_text() if stored.is_file() else ""
        (site / view.address).write_text(page(view, body=body, reports=reports))
    return reports


def localised(page: str, entries: Iterable[tuple[str, str]] | None = None) -> str:
    """Return asv's *page* with every asset local.

    *entries* (address, title) are added to the navigation; they are None for a page without one.
    asv's UserError if the page is not the one that this was written for.
    """
    page = _ELSEWHERE.sub(_local_tag, page).replace(_TYPE, f"{_TYPE}\n    {_POLICY}")
    if entries is not None:
        added = "".join(_ENTRY.format(address=address, title=title) for address, title in entries)
        page, brands = _BRAND_OLD.subn(_BRAND_NEW, page)
        missing = [old for old, _ in _WORDS if page.count(old) != 1]
        if missing or brands != 1:
            raise UserError(f"asv's page is not the one landspeed knows: {missing or 'no brand'}")
        for old, new in _WORDS:
            page = page.replace(old, new.replace("{entries}", added))
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
                return f'<script src="vendor/{local}"></script>'
            return f'<link rel="stylesheet" href="vendor/{local}">'
    raise UserError(f"asv's page loads a file landspeed has no copy of: {address}")
