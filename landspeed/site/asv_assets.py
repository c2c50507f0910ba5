"""An asv publisher: local copies of what asv loads from other hosts, and landspeed's own pages.

It is named in asv.conf.json, so that ``asv publish`` by hand makes the same site.
"""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from asv.publishing import OutputPublisher
from asv.util import UserError

from base.files import read_text
from landspeed.site.pages import frame
from landspeed.site.pages.data import PAGES_DATA
from landspeed.site.pages.frame import DATA, REPORTS, TRENDS, VIEWS, page, renewed
from landspeed.site.pages.samples import SAMPLES

STATIC = Path(__file__).parent / "static"
"""Others' libraries, and what is added to asv's own pages."""

_CHANGES = tomllib.loads(Path(__file__).with_name("asv_page.toml").read_text())
_ELSEWHERE = re.compile(
    r"<script\s[^>]*?src=\"(?P<script>https?://[^\"]+)\"[^>]*></script>"
    r"|<link\s[^>]*?href=\"(?P<style>https?://[^\"]+)\"[^>]*>"
)
_LOADED = re.compile(
    r"<(?:script|img|iframe)\s[^>]*?src=\"(?:https?:)?//|<link\s[^>]*?href=\"(?:https?:)?//"
)
_ENTRY = '\n        <li><a href="{address}">{title}</a></li>'
# asv's pages have styles in elements, but no script in the page once all scripts are local.
_TYPE = '<meta http-equiv="Content-Type" content="text/html; charset=utf-8">'
_POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'self\'; '
    "img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; "
    "form-action 'none'\">"
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
    (site / "landspeed").mkdir(exist_ok=True)
    for source, below in ((STATIC, site), (frame.STATIC, site / "landspeed")):
        for path in (*source.glob("*.js"), *source.glob("*.css")):
            shutil.copyfile(path, below / path.name)
    for name, target in ((PAGES_DATA, DATA), (SAMPLES, f"{DATA}/{SAMPLES}")):
        if (results.parent / name).is_dir():
            shutil.copytree(results.parent / name, site / target, dirs_exist_ok=True)
    reports = [one for one in REPORTS if (results.parent / one / "index.html").is_file()]
    left_over = shutil.ignore_patterns(".*")  # of a report that is being written
    for one in reports:
        shutil.copytree(results.parent / one, site / one, dirs_exist_ok=True, ignore=left_over)
        # it was written when there were other reports
        for path in (site / one).rglob("*.html"):
            address = path.relative_to(site).as_posix()
            path.write_text(renewed(path.read_text(), address, reports))
    for view in VIEWS:
        body = read_text(results / view.address)
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
        missing = [one["old"] for one in _CHANGES["replaced"] if page.count(one["old"]) != 1]
        if missing:
            raise UserError(f"asv's page is not the one landspeed knows: {missing}")
        for one in _CHANGES["replaced"]:
            page = page.replace(one["old"], one["new"].replace("{entries}", added))
    left = _LOADED.search(page)
    if left is not None:
        raise UserError(f"asv's page still loads from elsewhere: {left[0]}")
    return page


def _local_tag(match: re.Match[str]) -> str:
    address = match["script"] or match["style"]
    file = address.rpartition("/")[2]
    for start, local in _CHANGES["local"].items():
        if file.startswith(start):
            if match["script"]:
                return f'<script src="vendor/{local}"></script>'
            return f'<link rel="stylesheet" href="vendor/{local}">'
    raise UserError(f"asv's page loads a file landspeed has no copy of: {address}")
