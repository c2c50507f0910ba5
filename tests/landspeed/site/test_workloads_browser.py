"""The heat map, the status page and the overview in a real browser, the network off."""

from __future__ import annotations

import gzip
import json
import shlex
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route

from base.build import Origin, Variant
from benchmarks.records.identical_builds import FailedBuild
from benchmarks.workloads.catalog import choose
from landspeed.changepoints.changepoint import ChangepointStatus
from landspeed.profiling.guards import GuardedFile, GuardMap
from landspeed.results.points import Dots
from landspeed.site.guards import guard_files
from landspeed.site.pages.data import PAGES_DATA, PageInputs, page_files
from landspeed.site.pages.page_files import sync
from landspeed.site.publish import publish
from tests.kits.made_up.pages_kit import SUBJECTS, bisected, confirmed, hash_of, releases, runs
from tests.kits.made_up.synthetic import RELEASES
from tests.kits.made_up.synthetic_project import Project
from tests.kits.made_up.workload_counts import counts

pytestmark = pytest.mark.browser

CHOSEN = choose(["sort-*", "select-1-*", "insert-one"])


GUARDED = "src/backend/utils/sort/tuplesort.c"


def made_up() -> GuardMap:
    """Two files; of one function is known which workload executes it."""
    names = ("tuplesort_begin_common", "tuplesort_performsort")
    return GuardMap(
        label="18.1 bs8",
        files=(
            GuardedFile(
                path="src/backend/executor/nodeSort.c",
                functions=("ExecSort",),
                executed=(),
                reachable=(),
            ),
            GuardedFile(path=GUARDED, functions=names, executed=names[1:], reachable=names),
        ),
        workloads={names[1]: ("sort-text", "sort-unique")},
    )


def level(name: str, release: str) -> float:
    growth = {"sort-unique": 0.05, "sort-text": -0.02}.get(name, 0)
    return 1000.0 * (1 + growth) ** list(RELEASES).index(release)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Counts of workloads on five releases, with a profile of each; a failed build."""
    project = Project.make(tmp_path_factory.mktemp("project"))
    made = list(counts(CHOSEN, RELEASES, level))
    project.add(made)
    project.add(runs(releases(), count=6))
    project.derive()
    steps = project.scan().changepoints
    at = {(one.mode, one.after.release): one for one in steps}
    one, two = at["sort-unique", "18.1"], at["sort-unique", "17.6"]
    refuted = at["sort-text", "18.1"]
    failed = Origin(release="9.0.1", commit=None, tree="t", date="2011-01-01")
    profiles = {}
    for record in made:
        path = project.paths.results / f"{record['id']}.json.gz"
        slow = record["sample"]["instructions"]
        own = {"qsort_tuple.part.0": slow - 400, "ExecInterpExpr": 400.0}
        path.write_bytes(gzip.compress(json.dumps({"own": own, "edges": []}).encode()))
        profiles[record["id"]] = path
    inputs = PageInputs(
        steps=steps,
        confirmations=[
            confirmed(each, ChangepointStatus.CONFIRMED) for each in (one, two, refuted)
        ],
        bisections=[
            bisected(one),
            bisected(two, answer="range", count=3),
            bisected(refuted, answer="refuted"),
        ],
        failures=[
            FailedBuild(
                origin=failed,
                variant=Variant(),
                time="2026-01-02T00:00:00.000+00:00",
                message="gcc failed",
            )
        ],
        commits={},
        profiles=profiles,
        guards=guard_files(made_up(), sorted(one.name for one in CHOSEN)),
        plans=lambda ids: dict.fromkeys(ids, "SELECT 1\n  Sort\n    Seq Scan on t"),
    )
    files = page_files(Dots(project.store.table()), project.place_of, inputs)
    sync(files, project.paths.results / PAGES_DATA)
    return publish(project.paths)


def cells(page: Page, workload: str) -> list[str]:
    return page.locator(f"tr[data-row^='{workload}/'] td").all_inner_texts()


def test_a_row_shows_the_change_against_the_version_before_or_the_first(
    browser: tuple[Page, str],
) -> None:
    page, address = browser
    page.goto(f"{address}/landspeed/workloads.html")
    page.locator("table.heat").wait_for()
    assert cells(page, "sort-unique") == ["1K", "+5.0 %", "+5.0 %", "+5.0 %", "+5.0 %"]
    assert cells(page, "sort-top") == ["1K", "0", "0", "0", "0"]
    page.get_by_label("Change against").select_option("the first version")
    page.locator("tr[data-row]").get_by_text("+22 %").wait_for()
    assert cells(page, "sort-text")[-1] == "−7.8 %"


def test_the_rows_of_a_family_are_sorted_by_the_version_that_is_clicked(
    browser: tuple[Page, str],
) -> None:
    page, address = browser
    page.goto(f"{address}/landspeed/workloads.html?family=joins")
    page.locator("table.heat thead").get_by_role("button", name="18.1").click()
    rows = page.locator("table.heat tr[data-row]")
    assert rows.first.get_attribute("data-row") == "sort-unique/prepared/small-1/1/default"
    assert rows.last.get_attribute("data-row") == "sort-text/prepared/small-1/1/default"
    page.locator("table.heat thead").get_by_role("button", name="18.1").click()
    page.locator("th[aria-sort=ascending]").wait_for()
    assert str(rows.first.get_attribute("data-row")).startswith("sort-text/")


def test_a_cell_leads_to_its_trend_and_shows_which_functions_differ(
    browser: tuple[Page, str],
) -> None:
    page, address = browser
    page.goto(f"{address}/landspeed/workloads.html")
    page.locator("tr[data-row^='sort-unique/'] td button").last.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("cell", name="−").or_(dialog.get_by_role("cell", name="+")).first.wait_for()
    first = dialog.locator("tbody tr").first.locator("th, td").all_inner_texts()
    assert (first[0], first[3]) == ("qsort_tuple", "+57.88")
    assert "Seq Scan on t" in dialog.locator("pre").inner_text()
    page.reload()
    dialog.locator("tbody tr").first.wait_for()
    dialog.get_by_role("link", name="Trend in asv").click()
    page.wait_for_function("() => window.$ && $('#main-graph').data('plot')")
    plotted = "$('#main-graph').data('plot').getData().map(one => one.data.length)"
    assert page.evaluate(plotted) == [len(RELEASES)]


def test_an_address_of_a_cell_can_name_a_registered_server_or_a_version_that_is_not_shown(
    browser: tuple[Page, str], site: Path
) -> None:
    page, address = browser
    data = (site / "landspeed/data/workloads.json").read_text().replace('"17.6"', '"@debian15"')
    facts = json.loads(data)
    next(one for one in facts["versions"] if one["name"] == "16.10")["kind"] = "commit"
    page.route("**/workloads.json", lambda route: route.fulfill(json=facts))
    dialog = page.get_by_role("dialog")
    for version, before in (("@debian15", "15.14"), ("16.10", "15.14")):
        cell = f"sort-unique/prepared/small-1/1/default@{version}"
        page.goto(f"{address}/landspeed/workloads.html?versions=releases&cell={cell}")
        dialog.get_by_role("heading", name=f"sort-unique, {version}").wait_for()
        assert f" in {before}: +" in dialog.locator("p.strong").inner_text()
    page.unroute("**/workloads.json")


def test_the_build_that_is_shown_first_is_the_one_with_the_most_cells(
    site: Path, browser: tuple[Page, str]
) -> None:
    page, address = browser
    facts = json.loads((site / "landspeed/data/workloads.json").read_text())
    (usual,) = facts["maps"]
    # as many rows, but one version, and before the other by its name
    few = {**usual, "variant": "bs4", "versions": usual["versions"][-1:]}
    few["rows"] = [
        {**row, "values": {name: values[-1:] for name, values in row["values"].items()}}
        for row in usual["rows"]
    ]
    facts["maps"].insert(0, few)
    page.route("**/workloads.json", lambda route: route.fulfill(json=facts))
    page.goto(f"{address}/landspeed/workloads.html")
    build = page.get_by_label("Build")
    build.wait_for()
    assert build.input_value() == usual["variant"]
    page.unroute("**/workloads.json")


def test_the_command_below_a_cell_is_one_word_for_the_shell_and_fits_on_a_phone(
    browser: tuple[Page, str], site: Path
) -> None:
    page, address = browser
    text = (site / "landspeed/data/workloads.json").read_text()
    facts = json.loads(text.replace('"profile":"default"', f'"profile":"d\';id;\'{"x" * 300}"'))
    page.route("**/workloads.json", lambda route: route.fulfill(json=facts))
    page.goto(f"{address}/landspeed/workloads.html")
    page.locator("tr[data-row^='sort-unique/'] td button").last.click()
    page.set_viewport_size({"width": 390, "height": 800})
    command = page.get_by_role("dialog").locator(".links code").inner_text()
    assert shlex.split(command)[:2] == ["landspeed", "show"]
    assert len(shlex.split(command)) == 3
    assert page.evaluate("document.querySelector('dialog').scrollWidth") <= 390
    page.unroute("**/workloads.json")


def test_a_long_command_below_a_plot_fits_on_a_phone(browser: tuple[Page, str]) -> None:
    page, address = browser
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/landspeed/index.html")
    page.locator(".links code").first.evaluate("one => { one.textContent = 'x'.repeat(300); }")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_directory_leads_to_its_files_functions_and_the_workloads_that_execute_them(
    browser: tuple[Page, str],
) -> None:
    page, address = browser
    page.goto(f"{address}/landspeed/guards.html")
    page.get_by_role("link", name="utils/sort").wait_for()
    rows = [row.split() for row in page.locator("tbody tr").all_inner_texts()]
    assert rows[0] == ["all", "3", "1", "33", "%", "2", "50", "%"]
    assert rows[1] == ["executor", "1", "0", "0", "%", "0", "–"]
    page.get_by_role("link", name="utils/sort").click()
    page.get_by_role("link", name="tuplesort.c").click()
    page.get_by_role("link", name="sort-text").wait_for()
    told = [row.split() for row in page.locator("tbody tr").all_inner_texts()]
    assert told[0][:3] == ["tuplesort_begin_common", "yes", "none"]
    page.get_by_role("link", name="sort-text").click()
    page.get_by_role("dialog").get_by_text("sort-text, 18.1").wait_for()


def test_without_a_server_the_page_of_guards_says_why(browser: tuple[Page, str]) -> None:
    page, address = browser
    page.route("**/guards/index.json", lambda route: route.fulfill(json={"reason": "Removed."}))
    page.goto(f"{address}/landspeed/guards.html")
    page.get_by_text("Removed. Count with").wait_for()
    page.unroute("**/guards/index.json")


@pytest.mark.parametrize(
    ("where", "width"),
    [
        *product(["index", "landspeed/workloads", "landspeed/status"], [390, 1000, 1280]),
        *product(["landspeed/guards", f"landspeed/guards.html?below={GUARDED}"], [390, 1280]),
        *product(["landspeed/compare", "landspeed/regressions"], [390, 1280]),
    ],
)
def test_nothing_scrolls_sideways(browser: tuple[Page, str], where: str, width: int) -> None:
    page, address = browser
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{address}/{where if '.html' in where else f'{where}.html'}")
    page.locator("#view > .waiting").wait_for(state="detached")
    wide = page.evaluate(
        "() => [document.documentElement, ...document.querySelectorAll('header *, main *')].filter("
        "one => one.scrollWidth > one.clientWidth + 1 && !['visible', 'hidden', 'clip'].includes("
        "getComputedStyle(one).overflowX)).map(one => one.outerHTML.slice(0, 99))"
    )
    assert wide == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_phone_the_list_of_pages_is_one_tap_away(browser: tuple[Page, str]) -> None:
    page, address = browser
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}/index.html")
    link = page.get_by_label("Pages").get_by_role("link", name="Status")
    assert not link.is_visible()
    page.get_by_role("button", name="Pages").click()
    link.click()
    page.get_by_role("heading", name="Status").wait_for()


def test_the_overview_says_what_changed_per_family_and_names_the_cause(
    browser: tuple[Page, str],
) -> None:
    page, address = browser
    page.goto(f"{address}/index.html")
    page.get_by_text("18.1 against 17.6").first.wait_for()
    text = page.locator("#view").inner_text()
    joins = sum(one.family == "joins" for one in CHOSEN)
    assert f"joins: 1 of {joins} needs more (up to +5.0 %: sort-unique), 1 fewer" in text
    assert "writing: insert-one did not change." in text
    assert "sort-unique needs +5.0 % instructions" in text
    changes = [line for line in text.splitlines() if " needs " in line and "Cause" in line]
    assert sorted(line.partition("Cause: ")[2][:17] for line in changes) == [
        f"{hash_of(1)[:10]} {SUBJECTS[1][:6]}",
        "one of 3 commits ",
    ]
    assert "The cause is not found yet." in text
    assert "1 build failed" in text
    page.get_by_role("link", name="sort-unique").first.click()
    page.get_by_role("dialog").get_by_text("sort-unique, 18.1").wait_for()


def test_an_address_of_asvs_grid_from_before_the_overview_leads_on(
    browser: tuple[Page, str],
) -> None:
    page, address = browser
    page.goto(f"{address}/index.html#joins.track_instructions?p-workload='sort-unique'")
    page.wait_for_function("() => window.$ && $('#main-graph').data('plot')")
    assert "/trends.html#joins.track_instructions" in page.url


def test_the_status_draws_the_delay_from_commit_to_run_by_month(
    browser: tuple[Page, str],
) -> None:
    page, address = browser
    months = [
        {"month": f"2026-0{number}", "commits": 9, "median": 2.0 / number, "p95": 8.0}
        for number in (1, 2, 3)
    ]

    def years(route: Route) -> None:
        answer = route.fetch()
        facts = answer.json()
        facts["machines"][0]["months"] = months
        route.fulfill(response=answer, json=facts)

    page.route("**/status.json", years)
    page.goto(f"{address}/landspeed/status.html")
    page.get_by_role("img", name="Hours from a commit to its first run").wait_for()
    lines = page.locator(".legend li").all_inner_texts()
    assert [line.rpartition(", ")[2] for line in lines] == ["median", "95 %"]
    rows = page.locator("table").nth(1).locator("tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == ["2026-03", "2026-02", "2026-01"]
    page.unroute("**/status.json")


def test_the_status_names_what_failed_and_why(browser: tuple[Page, str]) -> None:
    page, address = browser
    page.goto(f"{address}/landspeed/status.html")
    page.get_by_text("gcc failed").wait_for()
    text = page.locator("#view").inner_text()
    assert "9.0.1 bs8" in text
    assert f"{len(CHOSEN)} workloads" in text
    assert "read-only, read-write" in text
