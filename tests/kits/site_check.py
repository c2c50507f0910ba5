"""Look at a published site in a real browser, with the network off."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Route, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_SERIES = """() => $('#main-graph').data('plot').getData().map(
    one => ({label: one.label, points: one.data.filter(p => p[1] !== null)}))"""
_TICKS = """() => $('#main-graph').data('plot').getAxes().xaxis.ticks.map(tick => tick.label)"""


@dataclass(kw_only=True)
class Complaints:
    """What a healthy site never has: errors, and requests to other hosts."""

    console: list[str] = field(default_factory=list)
    page: list[str] = field(default_factory=list)
    external: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return any((self.console, self.page, self.external, self.missing))


@dataclass(frozen=True, kw_only=True)
class Graph:
    """What the browser drew: lines (label → number of points) and x ticks."""

    lines: dict[str, int]
    ticks: list[str]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve *site* on a free port of 127.0.0.1; its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def browsing(address: str) -> Iterator[tuple[Page, Complaints]]:
    """A page of headless Chromium that reaches *address* and nothing else, and its Complaints."""
    complaints = Complaints()

    def only_local(route: Route) -> None:
        if route.request.url.startswith((address, "data:")):
            route.continue_()
        else:
            complaints.external.append(route.request.url)
            route.abort()

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_ARGUMENTS))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.route("**/*", only_local)
        page.on("pageerror", lambda error: complaints.page.append(str(error)))
        page.on(
            "console",
            lambda message: (
                complaints.console.append(message.text) if message.type == "error" else None
            ),
        )
        page.on(
            "response",
            lambda answer: complaints.missing.append(answer.url) if answer.status >= 400 else None,
        )
        yield page, complaints
        browser.close()


def look_at_graph(page: Page, address: str, fragment: str) -> Graph:
    """The graph at *fragment* (``read_only.track_latency?p-clients=4``) as the browser drew it."""
    page.goto(f"{address}/trends.html#{fragment}")
    page.wait_for_function("() => window.$ && $('#main-graph').data('plot')")
    page.wait_for_load_state("networkidle")
    return Graph(
        lines={one["label"]: len(one["points"]) for one in page.evaluate(_SERIES)},
        ticks=page.evaluate(_TICKS),
    )


def check_site(
    site: Path,
    *,
    releases: list[str],
    fragment: str = "read_only.track_latency",
    pictures: Path | None = None,
) -> Graph:
    """Open *site*, find its grid, open the graph at *fragment*; AssertionError if unwell.

    Some line of the graph must hold one point for each of *releases* and name them below.
    Screenshots go to *pictures*.
    """
    benchmark = fragment.partition("?")[0]
    with served(site) as address, browsing(address) as (page, complaints):
        page.goto(f"{address}/trends.html")
        cell = page.locator(f'a.benchmark-container[href="#{benchmark}"]')
        cell.wait_for()
        page.wait_for_function("() => document.querySelectorAll('.benchmark-plot canvas').length")
        assert page.title() == "landspeed: PostgreSQL"
        _picture(page, pictures, "grid")
        cell.click()
        page.wait_for_function("() => $('#main-graph').data('plot')")
        graph = look_at_graph(page, address, fragment)
        _picture(page, pictures, "graph")
        for other in ("summarylist", "regressions"):
            page.goto(f"{address}/trends.html#/{other}")
            page.locator(f"#{other}-body table").first.wait_for()
            _picture(page, pictures, other)
        page.goto(f"{address}/commit.html#{releases[-1]}")
        page.get_by_text(f"PostgreSQL {releases[-1]}").wait_for()
        _picture(page, pictures, "commit")
    assert not complaints, complaints
    assert max(graph.lines.values(), default=0) == len(releases), graph
    assert set(graph.ticks) <= set(releases), graph
    assert releases[-1] in graph.ticks, graph
    return graph


def _picture(page: Page, pictures: Path | None, name: str) -> None:
    if pictures is not None:
        page.screenshot(path=pictures / f"{name}.png")
