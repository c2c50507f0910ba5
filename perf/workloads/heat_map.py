"""Time until the heat map of 64 workloads x 20 versions x 3 metrics is drawn in a browser.

``python -m perf.workloads.heat_map`` makes up the counts, makes the pages, and opens the page of
workloads in headless Chromium, each time in a browser without a cache. The time is that of the
browser's own clock, from the start of the navigation to the last row.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from base.build import Origin
from benchmarks.records.columns import scalars
from benchmarks.workloads.catalog import choose
from builders.source import Position
from landspeed.results.points import Dots
from landspeed.results.series import RELEASES_LINE
from landspeed.site.asv_assets import own_pages
from landspeed.site.pages.data import PAGES_DATA, PageInputs, page_files
from landspeed.site.pages.frame import DATA
from landspeed.site.pages.page_files import sync
from perf.figure import Figure
from tests.kits.made_up.workload_counts import counts
from tests.kits.site_check import CHROMIUM, served

WORKLOADS, VERSIONS, TIMES = 64, 20, 7
RELEASES = {f"{major}.0": f"20{major - 2:02}-10-01" for major in range(30, 30 + VERSIONS)}
_DRAWN = f"() => document.querySelectorAll('table.heat tr[data-row]').length === {WORKLOADS}"


def place_of(origin: Origin) -> Position | None:
    """Releases in their order."""
    return Position(branch=RELEASES_LINE, position=list(RELEASES).index(str(origin.release)))


def _level(name: str, release: str) -> float:
    return 1e6 * (1 + len(name) % 7 / 100) ** list(RELEASES).index(release)


def made_site(root: Path) -> Path:
    """Make the pages of made-up counts below *root* and return the site's directory."""
    made = counts(choose([], "all")[:WORKLOADS], RELEASES, _level)
    files = page_files(Dots(scalars(made)), place_of, PageInputs(commits={}))
    sync(files, root / "results" / PAGES_DATA)
    (root / "results" / "asv").mkdir()
    (root / "site").mkdir()
    own_pages(root / "results" / "asv", root / "site")
    return root / "site"


def main() -> None:
    """Print the figure."""
    with (
        tempfile.TemporaryDirectory(prefix="landspeed-heat-") as name,
        sync_playwright() as playwright,
    ):
        site = made_site(Path(name))
        data = [site / DATA / one for one in ("index.json", "workloads.json")]
        size = sum(one.stat().st_size for one in data)
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
        )
        times, cpu = [], []
        with served(site) as address:
            for _ in range(TIMES):
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                clock = page.context.new_cdp_session(page)
                clock.send("Performance.enable", {"timeDomain": "threadTicks"})
                page.goto(f"{address}/landspeed/workloads.html?versions=all", wait_until="commit")
                page.wait_for_function(_DRAWN)
                times.append(page.evaluate("performance.now()") / 1000)
                told = clock.send("Performance.getMetrics")["metrics"]
                cpu.append({one["name"]: one["value"] for one in told}["TaskDuration"])
                page.close()
        browser.close()
    Figure(
        figure=f"heat map of {WORKLOADS} workloads x {VERSIONS} versions x 3 metrics in a browser",
        value=round(statistics.median(times), 2),
        unit="s",
        goal="<= 1",
        beside=f"{statistics.median(cpu):.2f} CPU s of the page's thread; slowest of {TIMES}: "
        f"{max(times):.2f} s; {size / 1000:.0f} kB of data",
    ).show()


if __name__ == "__main__":
    main()
