"""The data files of the pages say what the records say, the same whenever they are made."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from base.build import Origin
from landspeed.changepoints.changepoint import ChangepointStatus
from landspeed.site.asv_assets import STATIC as LIBRARIES
from landspeed.site.pages.changes import changes
from landspeed.site.pages.data import LARGEST_FREEDOM, PageInputs
from landspeed.site.pages.frame import STATIC, VIEWS, SitePage, page, renewed
from landspeed.site.pages.page_files import sync
from landspeed.site.pages.panels import PanelKey, sample_facts
from landspeed.site.pages.versions import RECENT
from tests.kits.made_up.pages_kit import (
    HOSTILE,
    SUBJECTS,
    bisected,
    commit_points,
    commits,
    confirmed,
    files_of,
    hash_of,
    place_of,
    releases,
    runs,
    stepped,
    table_of,
    whole_table,
)
from tests.kits.made_up.synthetic import RELEASES

PANEL = "panels/elephant/read-only_prepared_small-5_timed_default"
UPLOT = {
    "uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    "uPlot.min.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
}


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return files_of(whole_table())


def panel(files: dict[str, str], stem: str = PANEL) -> dict[str, Any]:
    return dict(json.loads(files[f"{stem}.json"]))


def point(panel: dict[str, Any], version: str, clients: int, variant: str = "bs8") -> Any:
    (found,) = [
        one
        for one in panel["points"]
        if (one["version"], one["clients"], one["variant"]) == (version, clients, variant)
    ]
    return found


# --- numbers -------------------------------------------------------------------------------


def test_one_run_has_a_mean_and_no_interval() -> None:
    assert sample_facts([2.0, None]) == {
        "n": 1,
        "mean": 2.0,
        "min": 2.0,
        "median": 2.0,
        "max": 2.0,
        "lm": pytest.approx(0.6931472),
    }
    assert sample_facts([None]) == {}


def test_the_quantiles_that_pages_compare_with_are_scipys(files: dict[str, str]) -> None:
    wanted = [float(stats.t.ppf(0.975, freedom)) for freedom in range(1, LARGEST_FREEDOM + 1)]
    assert json.loads(files["index.json"])["t_975"] == pytest.approx(wanted, abs=1e-5)


# --- panels --------------------------------------------------------------------------------


def test_a_panel_has_every_release_in_order_and_then_the_commits(files: dict[str, str]) -> None:
    found = [one["name"] for one in panel(files)["categories"]]
    assert found == [*RELEASES, *(hash_of(number)[:10] for number in range(3))]
    kinds = {one["name"]: one["kind"] for one in panel(files)["categories"]}
    assert kinds["17.6"] == "release"
    (tip,) = [one for one in panel(files)["categories"] if one.get("tip")]
    assert tip["commit"] == hash_of(2)
    assert tip["line"] == "master"


def test_a_point_says_what_its_runs_say() -> None:
    records = runs(releases())
    shown = point(panel(files_of(table_of(records))), "16.10", 4)
    own = [
        one
        for one in records
        if one["build"]["origin"]["release"] == "16.10"
        and (one["cell"]["mode"], one["cell"]["clients"]) == ("read-only", 4)
    ]
    assert shown["runs"] == [one["id"][:16] for one in own]
    tps = [one["sample"]["tps"] for one in own]
    assert shown["tps"]["values"] == pytest.approx(tps, rel=1e-6)
    assert shown["tps"]["mean"] == pytest.approx(np.mean(tps), rel=1e-6)
    assert shown["tps"]["sd"] == pytest.approx(np.std(tps, ddof=1), rel=1e-6)
    assert shown["tps"]["median"] == pytest.approx(np.median(tps), rel=1e-6)
    assert shown["latency"]["n"] == 3


def test_the_runs_of_a_panel_are_there_to_be_downloaded(files: dict[str, str]) -> None:
    rows = list(csv.DictReader(StringIO(files[f"{PANEL}.csv"])))
    assert len(rows) == panel(files)["runs"] == 5 * 2 * 3 + 2 * 3 + 3 * 2 * 2
    shown = point(panel(files), "18.1", 1, "bs4")
    own = [row for row in rows if (row["version"], row["variant"]) == ("18.1", "bs4")]
    own = [row for row in own if row["clients"] == "1"]
    assert [row["run"][:16] for row in own] == shown["runs"]
    assert [float(row["tps"]) for row in own] == pytest.approx(shown["tps"]["values"], rel=1e-6)
    assert all(row["latency_p95_ms"] for row in own)


def test_runs_of_two_epochs_are_never_mixed_and_the_newest_are_shown() -> None:
    old = runs(releases()[:1], epoch="e0", latency_ms=9)
    new = runs(releases()[:1], epoch="e1", at=timedelta(days=1), count=2)
    shown = panel(files_of(table_of(old, new)))
    assert [one["epoch"] for one in shown["environments"]] == ["e1"]
    assert point(shown, "18.1", 1)["latency"]["n"] == 2


def test_runs_that_a_comparison_asked_for_are_in_no_panel() -> None:
    made = runs(releases()[:2])
    for one in made[6:]:
        one["run"]["preset"] = "compare"
    found = panel(files_of(table_of(made)))
    assert [len(one["runs"]) for one in found["points"]] == [3]
    assert len(list(csv.reader(StringIO(files_of(table_of(made))[f"{PANEL}.csv"])))) == 1 + 3


def test_however_many_commits_there_are_a_panel_has_the_newest() -> None:
    count = 2 * RECENT + 5
    points = commit_points(count)
    table = table_of(runs(points, count=1, clients=(1,), modes=("read-only",)))
    names = [one["name"] for one in panel(files_of(table))["categories"]]
    assert names == [hash_of(number)[:10] for number in range(count - RECENT, count)]


def test_a_server_built_elsewhere_stands_beside_the_releases() -> None:
    made = runs(releases()[:2])
    for one in made[: len(made) // 2]:
        one["build"]["origin"] |= {"release": None, "registered": "debian", "tree": ""}
        one["build"]["version"] = "17.6"
        one["build"]["digest"] = "f" * 64
    found = panel(files_of(table_of(made)))["categories"]
    assert [one["name"] for one in found] == ["17.6", "@debian"]
    assert found[1]["kind"] == "registered"


def test_a_panel_knows_where_asv_draws_it(files: dict[str, str]) -> None:
    asv = panel(files)["asv"]
    assert asv["benchmarks"]["tps"] == "read_only.track_tps"
    assert asv["choices"]["p-scale"] == "'small-5'"
    assert asv["axes"]["bs4"] == {"blocksize": "4", "wal_blocksize": "8", "build": "default"}


def test_the_index_names_every_panel_and_its_files(files: dict[str, str]) -> None:
    index = json.loads(files["index.json"])
    named = {name for one in index["panels"] for name in (one["file"], one["runs_file"])}
    assert named == {name for name in files if name.startswith("panels/")}
    assert {f"search/{name}.json" for name in index["searches"]} <= set(files)
    assert index["metrics"]["tps"]["better"] == "higher"


@pytest.mark.parametrize("name", ["../../etc", "a/b", "tuned on=ext4", "", "ö", HOSTILE, "x" * 300])
def test_files_of_panels_stay_where_they_belong_whatever_names_hold(name: str) -> None:
    key = PanelKey(
        machine="elephant",
        mode="read-only",
        protocol="prepared",
        scale="small-5",
        profile=name,
        buffers="",
    )
    assert re.fullmatch(r"panels/elephant/[A-Za-z0-9][A-Za-z0-9._-]{0,240}", key.stem)


# --- files ---------------------------------------------------------------------------------


def test_the_same_records_make_the_same_files(files: dict[str, str]) -> None:
    assert files_of(whole_table()) == files


def test_one_more_commit_changes_only_its_panels_its_year_the_status_and_the_index(
    files: dict[str, str],
) -> None:
    more = files_of(whole_table(commits_=4))
    assert {name for name in more if more[name] != files.get(name)} == {
        *("index.json", "status.json", "search/2025.json", f"{PANEL}.json", f"{PANEL}.csv"),
    }


def test_files_that_would_not_change_are_not_written_and_stale_ones_go(tmp_path: Path) -> None:
    sync({"a.json": "1", "b/c.json": "2"}, tmp_path)
    assert (tmp_path / "b" / "c.json").read_text() == "2"
    before = (tmp_path / "a.json").stat()
    sync({"a.json": "1", "d.json": "3"}, tmp_path)
    after = (tmp_path / "a.json").stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    left = {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"a.json": "1", "d.json": "3"}


# --- the search ----------------------------------------------------------------------------


def test_every_measured_version_can_be_found(files: dict[str, str]) -> None:
    found = json.loads(files["search/releases.json"])
    assert {one["name"] for one in found} == set(RELEASES)
    (newest,) = [one for one in found if one["name"] == "18.1"]
    assert (newest["machines"], newest["variants"]) == (["elephant"], ["bs4", "bs8"])
    assert (newest["modes"], newest["runs"]) == (["read-only", "read-write"], 2 * 2 * 2 * 3)
    rows = json.loads(files["search/2025.json"])
    assert [one["commit"] for one in rows] == [hash_of(number) for number in (2, 1, 0)]
    newest, middle, first = rows
    assert newest["before"] == middle["name"]
    assert "before" not in first
    assert (newest["author"], newest["subject"], newest["runs"]) == ("Edgar Codd", SUBJECTS[2], 4)


def test_subjects_of_others_are_one_line_without_what_turns_it_round(files: dict[str, str]) -> None:
    (row,) = [r for r in json.loads(files["search/2025.json"]) if r["commit"] == hash_of(1)]
    assert row["subject"] == SUBJECTS[1].removesuffix("\u202e")


# --- changes -------------------------------------------------------------------------------


def states(**notes: Any) -> dict[int, str]:
    """The state of each change of ``stepped``, by clients."""
    told = {"confirmations": [], "bisections": [], "commits": {}} | notes
    rows = changes(stepped().changepoints, **told)
    return {row["params"]["clients"]: row["state"] for row in rows}


def test_what_became_of_a_change_is_its_state() -> None:
    one, *_ = stepped().changepoints
    clients = one.params.clients
    assert states()[clients] == ChangepointStatus.NOMINATED
    for fate, state in (
        (ChangepointStatus.CONFIRMED, ChangepointStatus.CONFIRMED),
        (ChangepointStatus.REFUTED, ChangepointStatus.REFUTED),
        (ChangepointStatus.UNDECIDED, ChangepointStatus.UNDECIDED),
    ):
        assert states(confirmations=[confirmed(one, fate)])[clients] == state
    notes = {"confirmations": [confirmed(one, ChangepointStatus.CONFIRMED)]}
    assert states(**notes, bisections=[bisected(one)])[clients] == ChangepointStatus.BISECTED
    # a bisection that found nothing leaves it confirmed
    assert states(**notes, bisections=[bisected(one, answer="no culprit")])[clients] == (
        ChangepointStatus.CONFIRMED
    )


def test_a_change_tells_its_size_what_fresh_runs_said_and_who_did_it() -> None:
    one, *_ = stepped().changepoints
    rows = changes(
        stepped().changepoints,
        [confirmed(one, ChangepointStatus.CONFIRMED)],
        [bisected(one)],
        commits(3),
    )
    row = rows[0]
    assert row["state"] == ChangepointStatus.BISECTED
    assert (row["before"]["name"], row["after"]["name"]) == ("16.10", "17.6")
    assert row["interval"][0] < row["ratio"] < row["interval"][1]
    assert row["confirmation"]["ratio"] == 1.2
    assert row["bisection"]["culprit"]["ref"] == hash_of(1)
    assert "email" not in json.dumps(row)
    assert row["asv"]["benchmark"] == "read_only.track_latency"


def test_what_noise_alone_may_show_is_doubtful_until_it_is_put_to_the_test() -> None:
    one = replace(stepped().changepoints[0], status=ChangepointStatus.DOUBTFUL)
    (row,) = changes([one], [], [], {})
    assert row["state"] == ChangepointStatus.DOUBTFUL
    (row,) = changes([one], [confirmed(one, ChangepointStatus.CONFIRMED)], [], {})
    assert row["state"] == ChangepointStatus.CONFIRMED


def test_the_most_certain_comes_first_of_those_what_got_worse_and_then_the_largest() -> None:
    one, *_ = stepped().changepoints
    sizes = {"small": 1.05, "gain": 0.5, "large": 1.3, "sure": 1.01}
    steps = [replace(one, machine=name, ratio=ratio) for name, ratio in sizes.items()]
    rows = changes(steps, [confirmed(steps[-1], ChangepointStatus.CONFIRMED)], [], {})
    assert [row["machine"] for row in rows] == ["sure", "large", "small", "gain"]
    assert [row["worse"] for row in rows] == [True, True, True, False]


def test_a_bisection_of_the_cell_that_found_the_change_by_itself_is_told_with_it() -> None:
    one, *_ = stepped().changepoints
    note = replace(bisected(one, ref="17.6"), nomination="")
    confirmations = [confirmed(one, ChangepointStatus.CONFIRMED)]
    clients = one.params.clients
    assert (
        states(confirmations=confirmations, bisections=[note])[clients]
        == ChangepointStatus.BISECTED
    )
    machine = {"name": "mammoth", "cpu": "", "cores": 2}
    for other in ({"machine": machine}, {"metric": "tps"}, {"variant": "bs4"}):
        elsewhere = replace(bisected(one, ref="17.6", **other), nomination="")
        told = states(confirmations=confirmations, bisections=[elsewhere])
        assert told[clients] == ChangepointStatus.CONFIRMED


def test_what_no_trend_shows_any_more_is_told_of_as_past() -> None:
    one, *_ = stepped().changepoints
    (row,) = changes([], [confirmed(one, ChangepointStatus.REFUTED)], [], {})
    assert (row["current"], row["state"]) == (False, ChangepointStatus.REFUTED)


def test_changes_are_a_file_also_where_there_are_none(files: dict[str, str]) -> None:
    assert json.loads(files["changes.json"])["rows"] == []
    told = PageInputs(steps=stepped().changepoints, commits={})
    assert json.loads(files_of(whole_table(), told)["changes.json"])["rows"]


# --- pages ---------------------------------------------------------------------------------


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.address)
def test_a_page_has_no_script_or_style_of_its_own_and_allows_none(view: SitePage) -> None:
    html = page(view)
    assert "default-src 'self'" in html
    assert not re.search(r"<script(?![^>]*\bsrc=)", html)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", html)
    assert not re.search(r"(src|href)=\"(https?:)?//", html)


def test_the_navigation_leads_to_every_page_and_back_to_asv() -> None:
    html = page(VIEWS[0], reports=["studies"])
    links = set(re.findall(r'<li><a href="([^"]+)"', html))
    wanted = {view.address for view in VIEWS if view.listed}
    assert links == wanted | {"trends.html", "studies/index.html"}
    assert 'aria-current="page">Overview' in html
    assert "studies" not in page(VIEWS[0])


def test_a_page_that_was_written_before_a_report_leads_to_it_once_the_site_is_made() -> None:
    view = SitePage(address="atlas/a-b/index.html", title="From a to b")
    old = page(view, body="<ul>\n          <li>1 \\1</li>\n        </ul>", reports=["atlas"])
    reports = ["atlas", "upgrade"]
    assert renewed(old, view.address, reports) == page(
        view, body="<ul>\n          <li>1 \\1</li>\n        </ul>", reports=reports
    )
    assert '<a href="../../upgrade/index.html">' in renewed(old, view.address, reports)


def test_no_script_of_the_pages_makes_html_of_strings_or_code_of_text() -> None:
    scripts = sorted(STATIC.glob("*.js"))
    assert len(scripts) > 8
    for script in scripts:
        bad = (
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?://"
        )
        found = {
            one
            for one in re.findall(rf"[^\n]*(?:{bad})[^\n]*", script.read_text())
            if "www.w3.org/2000/svg" not in one and "postgresql.org/" not in one
        }
        assert found == set(), script


def test_the_plotting_library_is_the_one_of_the_registry() -> None:
    for name, digest in UPLOT.items():
        data = (LIBRARIES / "vendor" / "uplot" / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest
    told = (LIBRARIES / "vendor" / "LICENSES.md").read_text()
    assert "| uplot 1.6.32 | MIT, `licenses/uplot.txt`" in told


def test_an_origin_without_a_place_is_left_out() -> None:
    assert place_of(Origin(release=None, commit=None, tree="x", date="")) is None
    made = runs([{"release": None, "commit": None, "date": "2026-01-01"}])
    assert json.loads(files_of(table_of(made))["index.json"])["panels"] == []
