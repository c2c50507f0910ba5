"""The pages beside asv's in a real browser, the network off: drawn, reachable, right, harmless."""

from __future__ import annotations

import json
import math
import re
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page
from scipy import stats

from landspeed.changepoints.changepoint import ChangepointStatus
from landspeed.compare.aa_rates import aa_report
from landspeed.site.pages.data import PAGES_DATA, PageInputs
from landspeed.site.pages.frame import VIEWS, SitePage
from landspeed.site.pages.noise import write_ledger_page
from landspeed.site.pages.page_files import sync
from landspeed.site.pages.report_page import PAGE, report_page
from landspeed.site.publish import publish
from tests.kits.made_up.pages_kit import (
    AUTHORS,
    bisected,
    commit_points,
    commits,
    confirmed,
    files_of,
    hash_of,
    releases,
    runs,
    stepped,
)
from tests.kits.made_up.synthetic import RELEASES
from tests.kits.made_up.synthetic_project import Project
from tests.kits.site_check import Complaints

pytestmark = pytest.mark.browser

REPORT = "# Page size\n\n| block size, kB | tps |\n|---|--:|\n| 4 | 1,000 |\n" + "word " * 99
PLOTS = ("versions", "clients", "scales", "blocks")
FOUND = {
    "workload": "seq-scan",
    "ratio": 1.072,
    "kind": "code",
    "functions": ["<b>ExecScan"],
    "range": "aa to bb",
    "page": "atlas/aa-bb/index.html",
}
DARK, LIGHT = "rgb(17, 23, 30)", "rgb(255, 255, 255)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Releases, a 4 kB build, commits by hostile authors, a step in each state."""
    project = Project.make(tmp_path_factory.mktemp("project"))
    project.add(runs(releases()))
    project.add(runs(releases()[:1], at=timedelta(hours=1), blocksize=4, count=4))
    project.add(runs(commit_points(3), at=timedelta(hours=2), modes=("read-only",)))
    project.add(runs(releases(), at=timedelta(hours=3), tier="large", scale=900, count=2))
    project.derive()
    one, two, *_ = stepped().changepoints
    told = PageInputs(
        steps=stepped().changepoints,
        confirmations=[
            confirmed(one, ChangepointStatus.CONFIRMED),
            confirmed(two, ChangepointStatus.REFUTED),
        ],
        bisections=[bisected(one)],
        commits=commits(3),
        found={hash_of(1): [FOUND]},
    )
    sync(files_of(project.store.table(), told), project.paths.results / PAGES_DATA)
    write_ledger_page(aa_report(project.store.table()), project.layout.results)
    reports = project.paths.results / "studies"
    for place in ("", "page-size/quick"):
        (reports / place).mkdir(parents=True)
        (reports / place / PAGE).write_text(report_page(place, "Page size", REPORT))
    return publish(project.paths)


def drawn(page: Page, address: str) -> None:
    """Go to *address*, and wait until it is drawn."""
    page.goto(address)
    page.wait_for_function(
        "() => !document.querySelector('#view > .waiting')"
        " && [...document.querySelectorAll('.plot')].every(one => one.querySelector('canvas'))"
    )


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.address)
def test_a_page_is_drawn_fits_and_has_the_colours_of_the_system(
    browser: tuple[Page, str], view: SitePage
) -> None:
    page, address = browser
    drawn(page, f"{address}/{view.address}{'#18.1' if view.module == 'commit' else ''}")
    assert page.locator("h1").count() == 1
    assert page.get_by_role("alert").count() == 0
    assert bool(page.locator(".plot canvas").count()) == (view.module in PLOTS)
    for scheme, colour in (("dark", DARK), ("light", LIGHT)):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        for width in (390, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            page.wait_for_function(f"() => document.documentElement.scrollWidth <= {width}")
            found = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert found == colour


def test_the_page_of_a_commit_lists_what_it_changed(browser: tuple[Page, str]) -> None:
    page, address = browser
    drawn(page, f"{address}/commit.html#{hash_of(1)}")
    cells = page.get_by_role("table").locator("tbody tr").locator("th, td")
    assert cells.all_inner_texts() == ["seq-scan", "+7.2 %", "code", "<b>ExecScan", "aa to bb"]
    leads = page.get_by_role("link", name="aa to bb").get_attribute("href")
    assert leads == f"{address}/atlas/aa-bb/index.html"
    drawn(page, f"{address}/commit.html#{hash_of(2)}")
    assert page.get_by_role("table").count() == 0


def test_the_pages_and_asvs_lead_to_each_other(browser: tuple[Page, str]) -> None:
    page, address = browser
    page.goto(f"{address}/trends.html")
    page.get_by_role("link", name="Versions").click()
    page.get_by_role("heading", name="Versions").wait_for()
    page.get_by_role("link", name="Trend in asv").click()
    page.wait_for_function("() => window.$ && $('#main-graph').data('plot')")
    points = page.evaluate(
        "() => $('#main-graph').data('plot').getData().map("
        "one => one.data.filter(p => p[1] !== null).length)"
    )
    assert points == [len(RELEASES)]


def test_the_numbers_of_a_plot_are_a_table_and_files_to_download(
    browser: tuple[Page, str], site: Path
) -> None:
    page, address = browser
    drawn(page, f"{address}/landspeed/index.html?clients=4&metric=latency&scale=small-5")
    page.get_by_text("The numbers as a table").click()
    rows = page.locator("details tbody tr").all()
    assert [row.locator("th").inner_text() for row in rows][: len(RELEASES)] == list(RELEASES)
    panel = json.loads(page.request.get(_link(page, "Data (JSON)")).text())
    (point,) = [
        one
        for one in panel["points"]
        if (one["version"], one["clients"], one["variant"]) == ("13.22", 4, "bs8")
    ]
    cells = rows[0].locator("td").all_inner_texts()
    assert float(cells[1]) == pytest.approx(point["latency"]["mean"], rel=1e-3)
    low, high = map(float, cells[2].split(" … "))
    assert low < float(cells[1]) < high
    answer = page.request.get(_link(page, "(CSV)"))
    assert len(answer.text().splitlines()) == 1 + panel["runs"]


def _link(page: Page, name: str) -> str:
    return str(page.get_by_role("link", name=name).first.evaluate("one => one.href"))


def test_all_of_a_page_can_be_used_by_the_keyboard(browser: tuple[Page, str]) -> None:
    page, address = browser
    drawn(page, f"{address}/landspeed/index.html?scale=small-5")

    def focused(what: str) -> str:
        return str(page.evaluate(f"() => (one => {what})(document.activeElement)"))

    page.keyboard.press("Tab")
    assert focused("one.className") == "skip"
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(focused("one.dataset.key || one.className || one.tagName"))
        assert page.evaluate("() => document.activeElement.matches(':focus-visible')")
        if seen[-1] == "Clients":
            break
    assert {"Mode", "Metric", "Clients"} <= set(seen)
    # what is chosen is drawn and in the address, and the focus stays
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => location.search.includes('clients=4')")
    page.wait_for_function("() => document.activeElement.dataset.key === 'Clients'")
    page.wait_for_function("() => document.querySelector('.plot-title').innerText.includes('4 cl')")
    for _ in range(20):
        page.keyboard.press("Tab")
        if focused("one.className") == "plot":
            break
    page.keyboard.press("End")
    said = page.locator("[aria-live]").inner_text()
    assert f"{hash_of(2)[:10]}, 4 clients" in said
    assert "tx/s" in said
    page.keyboard.press("Home")
    said = page.locator("[aria-live]").inner_text()
    assert "13.22, 4 clients" in said
    assert "95 %" in said
    assert page.locator(".tip").is_visible()


def test_the_colours_can_be_chosen_and_stay(browser: tuple[Page, str]) -> None:
    page, address = browser
    drawn(page, f"{address}/landspeed/index.html")
    colour = "getComputedStyle(document.body).backgroundColor"
    button = page.locator("#theme")
    button.click()
    assert page.evaluate(colour) == LIGHT
    button.click()
    assert page.evaluate(colour) == DARK
    drawn(page, f"{address}/landspeed/clients.html")
    assert page.evaluate(colour) == DARK
    assert "dark" in str(button.get_attribute("aria-label"))


def test_the_search_finds_a_version_a_commit_an_author_and_a_subject(
    browser: tuple[Page, str],
) -> None:
    page, address = browser
    for asked, found in (
        ("17.6", "PostgreSQL 17.6"),
        (hash_of(2)[:10], hash_of(2)[:10]),
        ("codd", hash_of(2)[:10]),
        ("sequential hopper", hash_of(0)[:10]),
        ("mallory", hash_of(1)[:10]),
    ):
        page.goto(f"{address}/ledger.html")
        page.get_by_role("searchbox").fill(asked)
        page.keyboard.press("Enter")
        page.get_by_role("status").wait_for()
        (entry,) = page.locator(".found").all()
        assert found in entry.inner_text()
        entry.locator("h2 a").click()
        page.get_by_role("heading", name=found).wait_for()


def test_only_versions_that_changed_something_are_credited_with_a_changepoint(
    browser: tuple[Page, str],
) -> None:
    page, address = browser
    for asked, said in (
        ("13.22", ""),
        ("17.6", "changepoints here: "),
        (hash_of(1)[:10], "1 changepoint here: bisected"),
        (hash_of(2)[:10], ""),
    ):
        drawn(page, f"{address}/landspeed/search.html?q={asked}")
        text = page.locator(".found").inner_text()
        assert said in text
        assert bool(said) == ("changepoint" in text)


def test_what_is_not_measured_is_not_found_and_said(browser: tuple[Page, str]) -> None:
    page, address = browser
    drawn(page, f"{address}/landspeed/search.html?q=%3Cimg+src%3Dx%3E+none")
    assert "No measured version matches “<img src=x> none”" in page.locator("#view").inner_text()


def test_a_against_b_has_the_ratio_and_the_interval_of_welch(
    browser: tuple[Page, str], site: Path
) -> None:
    page, address = browser
    drawn(page, f"{address}/landspeed/compare.html?a=13.22:bs8&b=18.1:bs4&metric=latency")
    data = site / "landspeed/data/panels/elephant/read-only_prepared_small-5_timed_default.json"
    panel = json.loads(data.read_text())
    first, second = (
        np.log(one["latency"]["values"])
        for key in (("13.22", 4, "bs8"), ("18.1", 4, "bs4"))
        for one in panel["points"]
        if (one["version"], one["clients"], one["variant"]) == key
    )
    rows = page.locator("tbody tr").all()
    texts = [row.locator("td.number").all_inner_texts() for row in rows]
    (row,) = [texts[i] for i in range(2) if texts[i][0] == "4"]
    ratio, low, high = (1 + _percent(one) / 100 for one in (row[3], *row[4].split(" … ")))
    assert ratio == pytest.approx(math.exp(second.mean() - first.mean()), abs=6e-3)
    test = stats.ttest_ind(second, first, equal_var=False).confidence_interval(0.95)
    # degrees of freedom are rounded down: never narrower, and hardly wider
    assert low <= math.exp(test.low) + 6e-3
    assert high >= math.exp(test.high) - 6e-3
    assert high - low < 2 * (math.exp(test.high) - math.exp(test.low))
    assert "landspeed compare 13.22:bs8 18.1:bs4" in page.locator("pre").inner_text()
    assert "better in" in page.locator("#summary").inner_text()


def test_a_version_that_has_no_runs_is_not_replaced_by_another(browser: tuple[Page, str]) -> None:
    page, address = browser
    drawn(page, f"{address}/landspeed/compare.html?a=13.22:bs8&b=17.6:bs4")
    assert "No runs of 17.6:bs4 in this choice" in page.locator("#view").inner_text()
    assert page.locator("tbody tr").count() == 0
    page.locator("select[data-key=B]").select_option("17.6 bs8")
    page.locator("tbody tr").first.wait_for()


def test_links_to_a_comparison_name_a_machine_that_has_the_version(
    browser: tuple[Page, str],
) -> None:
    page, address = browser
    for where in (f"commit.html#{hash_of(2)}", f"landspeed/search.html?q={hash_of(2)[:10]}"):
        drawn(page, f"{address}/{where}")
        link = page.get_by_role("link", name="Compare with").get_attribute("href")
        assert "machine=elephant&" in str(link)


def _percent(text: str) -> float:
    match = re.fullmatch(r"([+−])([\d.]+) %", text)
    assert match is not None, text
    return float(match[2]) * (-1 if match[1] == "−" else 1)


def test_changes_are_told_with_what_became_of_them(browser: tuple[Page, str]) -> None:
    page, address = browser
    drawn(page, f"{address}/landspeed/regressions.html")
    row = page.locator("tr[data-state=bisected]")
    text = row.inner_text()
    assert "confidence 99.3 %" in text
    assert hash_of(1)[:10] in text
    assert page.locator("tr[data-state=refuted]").count() == 0
    page.get_by_label("include refuted, doubtful and past ones").check()
    page.locator("tr[data-state=refuted]").wait_for()


def test_a_report_is_reached_from_asvs_pages_and_its_numbers_stand_on_the_right(
    browser: tuple[Page, str],
) -> None:
    page, address = browser
    page.goto(f"{address}/trends.html")
    page.get_by_role("link", name="Studies").click()
    page.get_by_role("heading", name="Page size").wait_for()
    page.goto(f"{address}/studies/page-size/quick/{PAGE}")
    for scheme, colour in (("dark", DARK), ("light", LIGHT)):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == colour
    # wider than a phone, where each row is a card
    page.set_viewport_size({"width": 1280, "height": 800})
    number = page.get_by_role("cell", name="1,000")
    assert number.evaluate("one => getComputedStyle(one).textAlign") == "right"


@pytest.mark.parametrize("where", ["landspeed/regressions.html", "landspeed/search.html?q=mallory"])
def test_words_of_others_are_shown_and_not_run(browser: tuple[Page, str], where: str) -> None:
    page, address = browser
    page.add_init_script("window.alert = () => { window.wasRun = true; };")
    drawn(page, f"{address}/{where}")
    assert AUTHORS[1] in page.locator("#view").inner_text()
    assert page.locator("#view img, #view script").count() == 0
    assert page.evaluate("() => window.wasRun") is None


def test_a_page_without_its_data_says_so(opened: tuple[Page, str, Complaints]) -> None:
    page, address, complaints = opened
    page.route("**/data/index.json", lambda route: route.fulfill(status=500, body=""))
    page.goto(f"{address}/landspeed/index.html")
    page.get_by_role("alert").wait_for()
    assert "could not be drawn: 500" in page.get_by_role("alert").inner_text()
    page.unroute("**/data/index.json")
    # what a browser has to say of that is no complaint of the tests after it
    assert complaints.missing == [f"{address}/landspeed/data/index.json"]
    for told in (complaints.console, complaints.page, complaints.missing):
        told.clear()
