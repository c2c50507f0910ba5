"""The published site in a real browser, the network off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from landspeed.compare.aa_rates import aa_report
from landspeed.site.pages.noise import write_ledger_page
from landspeed.site.publish import publish
from tests.kits.made_up.synthetic import RELEASES
from tests.kits.made_up.synthetic import records as synthetic_records
from tests.kits.made_up.synthetic_project import Project
from tests.kits.made_up.synthetic_series import DAYS, level, line
from tests.kits.site_check import browsing, check_site, look_at_graph, served

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = Project.make(tmp_path_factory.mktemp("project"))
    project.add(synthetic_records())
    project.add(synthetic_records(releases=["18.1"], blocksize=4))
    project.derive()
    write_ledger_page(aa_report(project.store.table()), project.layout.results)
    return publish(project.paths)


def test_the_graph_of_a_read_only_cell_has_one_point_per_release(
    site: Path, tmp_path: Path
) -> None:
    graph = check_site(
        site,
        releases=list(RELEASES),
        fragment="read_only.track_latency?p-clients=4&blocksize=8",
        pictures=tmp_path,
    )
    assert list(graph.lines.values()) == [len(RELEASES)]
    assert sorted(graph.ticks) == sorted(RELEASES)


def test_clients_can_be_the_x_axis(site: Path) -> None:
    with served(site) as address, browsing(address) as (page, complaints):
        graph = look_at_graph(page, address, "read_write.track_tps?x-axis=clients&blocksize=8")
    assert not complaints, complaints
    assert set(graph.lines.values()) == {2}


def test_the_legend_does_not_cover_the_plot(site: Path) -> None:
    with served(site) as address, browsing(address) as (page, _):
        look_at_graph(page, address, "read_only.track_latency")
        plot = page.locator("#main-graph").bounding_box()
        legend = page.locator("#legend").bounding_box()
        assert page.locator("#legend tr").count() > 1
    assert plot is not None
    assert legend is not None
    assert plot["x"] + plot["width"] <= legend["x"]


@pytest.mark.parametrize("width", [390, 1000, 1280])
def test_the_navigation_covers_nothing_however_wide_the_page_is(site: Path, width: int) -> None:
    with served(site) as address, browsing(address) as (page, _):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(f"{address}/trends.html#/")
        page.locator("#summarygrid-display .benchmark-container").first.wait_for()
        bar = page.locator("#nav").bounding_box()
        grid = page.locator("#summarygrid-display").bounding_box()
    assert bar is not None
    assert grid is not None
    assert bar["y"] + bar["height"] <= grid["y"]


@pytest.mark.parametrize(
    "asked", ["<img src=x onerror=alert(1)>", "javascript:alert(1)", "nowhere"]
)
def test_an_unknown_commit_is_shown_as_text(site: Path, asked: str) -> None:
    with served(site) as address, browsing(address) as (page, complaints):
        page.goto(f"{address}/commit.html#{asked}")
        page.get_by_text("Not on this site").wait_for()
        assert page.locator("main img").count() == 0
    assert not complaints, complaints


def test_noise_and_false_alarms_are_one_click_away(site: Path, tmp_path: Path) -> None:
    with served(site) as address, browsing(address) as (page, complaints):
        page.goto(f"{address}/index.html")
        page.get_by_role("link", name="Noise and false alarms").click()
        page.get_by_role("heading", name="Noise and false alarms").wait_for()
        assert page.locator("tr").count() > 4
        page.screenshot(path=tmp_path / "ledger.png", full_page=True)
    assert not complaints, complaints


@pytest.mark.parametrize("after", [0.12, None], ids=["step", "noise"])
def test_the_page_of_regressions_shows_a_step_with_its_interval_and_of_noise_nothing(
    after: float | None, tmp_path: Path
) -> None:
    project = Project.make(tmp_path, DAYS)
    project.add(line(level(0.1, after), runs=4))
    project.add(line(level(0.1), blocksize=4, runs=4))
    project.derive()
    site = publish(project.paths)
    with served(site) as address, browsing(address) as (page, complaints):
        page.goto(f"{address}/trends.html#/regressions")
        page.locator("#regressions-body table").first.wait_for()
        shown = page.locator("#regressions-body table:not(.ignored) tbody tr").all()
        cells = [row.locator("td").all_inner_texts() for row in shown]
        if after is not None:
            (cell,) = cells
            assert "on elephant, bs8" in cell[0]
            assert "prepared" in cell[0]
            assert cell[2] == "17.5..17.6"
            ratio, low, high = map(float, re.findall(r"[\d.]+\d", cell[3]))
            assert 1.0 < low < ratio < high < 1.5
            # as asv draws the table anew, the interval comes again
            # (not exact, "Group regressions" would be found in "Ungroup regressions" as well)
            page.get_by_text("Group regressions", exact=True).click()
            page.get_by_text("Ungroup regressions", exact=True).click()
            page.get_by_text("Group regressions", exact=True).wait_for()
            again = page.locator("#regressions-body table:not(.ignored) tbody tr td").nth(3)
            assert again.inner_text() == cell[3]
        else:
            assert cells == []
    assert not complaints, complaints
