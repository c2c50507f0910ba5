"""The site is the old one or the whole new one, loads nothing from elsewhere, and says so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from http.client import HTTPConnection
from pathlib import Path

import asv
import pytest
from asv.util import UserError

from base.errors import PublishError
from landspeed.site.asv_assets import STATIC, localised
from landspeed.site.publish import asv_config, publish
from landspeed.site.serve import serving
from tests.kits.made_up.synthetic import RELEASES, Point, record
from tests.kits.made_up.synthetic import records as synthetic_records
from tests.kits.made_up.synthetic_project import CHECKOUT, Project

pytestmark = pytest.mark.slow

ASV_INDEX = Path(asv.__file__).parent / "www" / "index.html"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project.make(tmp_path_factory.mktemp("project"))
    project.add(synthetic_records())
    project.derive()
    return project


def test_the_site_has_a_point_per_release_and_every_asset(
    measured: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    site = publish(measured.paths)
    index = json.loads((site / "index.json").read_text())
    assert set(index["tags"]) == set(RELEASES)
    assert index["params"]["branch"] == ["releases"]
    (graph,) = site.glob("graphs/**/branch-releases/**/read_only.track_latency.json")
    assert len(json.loads(graph.read_text())) == len(RELEASES)
    page = (site / "trends.html").read_text()
    for asset in re.findall(r'(?:src|href)="([^"#:]+)"', page):
        assert (site / asset).is_file() or asset == "regressions.xml", asset
    assert capsys.readouterr().err == ""


def test_latency_is_flagged_and_tps_is_not(tmp_path: Path) -> None:
    days = {f"17.{minor}": f"2025-01-{minor + 1:02}" for minor in range(24)}
    project = Project.make(tmp_path, days)
    for minor, release in enumerate(days):
        # at the half latency rises by half; in a second cell TPS rises, which asv would flag
        slow, fast = (0.1, 0.15)[minor >= 12], (0.15, 0.1)[minor >= 12]
        for clients, latency in ((1, slow), (4, fast)):
            point = Point(release=release, clients=clients, latency_ms=latency)
            project.add(record(point, number=number) for number in range(4))
    project.derive()
    site = publish(project.paths)
    rows = json.loads((site / "regressions.json").read_text())["regressions"]
    assert [row[0] for row in rows] == [
        "read_only.track_latency('prepared', 'small-5', 1, 'default') on elephant, bs8"
    ]


def test_no_file_of_the_site_loads_from_another_host(measured: Project) -> None:
    site = publish(measured.paths)
    loads = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=[\"']?(?:https?:)?//")
    for path in site.glob("*.html"):
        assert not loads.search(path.read_text()), path
        assert "integrity=" not in path.read_text()
    for path in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//", path.read_text()), path


def test_a_failing_publish_leaves_the_old_site(tmp_path: Path) -> None:
    project = Project.make(tmp_path)
    project.add(synthetic_records(runs=1))
    project.derive()
    site = publish(project.paths)
    before = (site / "info.json").read_bytes()
    (project.paths.results / "asv" / "benchmarks.json").write_text("{ not json")
    with pytest.raises(PublishError, match="untouched") as caught:
        publish(project.paths)
    assert caught.value.detail
    assert (site / "info.json").read_bytes() == before
    assert list((tmp_path / ".site-publish").glob("fresh-*")) == []


def test_left_overs_of_a_killed_publish_are_cleaned_up(tmp_path: Path) -> None:
    project = Project.make(tmp_path)
    project.add(synthetic_records(runs=1))
    project.derive()
    half = tmp_path / ".site-publish" / "fresh-dead" / "site"
    half.mkdir(parents=True)
    (half / "half").write_text("")
    site = publish(project.paths)
    assert not (site / "half").exists()
    left = sorted(path.name for path in (tmp_path / ".site-publish").iterdir())
    assert left == ["asv.conf.json", "lock", "manifest.json"]


def test_a_publish_that_is_killed_leaves_the_old_site_and_the_next_one_is_whole(
    tmp_path: Path,
) -> None:
    project = Project.make(tmp_path)
    project.add(synthetic_records(runs=1))
    project.derive()
    site = publish(project.paths)
    before = (site / "info.json").read_bytes()
    script = (
        "import sys; from pathlib import Path; from base.paths import Paths;"
        "from landspeed.site.publish import publish;"
        "publish(Paths(cache=Path(sys.argv[1]), project=Path(sys.argv[2])))"
    )
    argv = [sys.executable, "-c", script, str(project.paths.cache), str(tmp_path)]
    process = subprocess.Popen(argv, cwd=CHECKOUT)
    while not list((tmp_path / ".site-publish").glob("fresh-*/site/index.html")):
        assert process.poll() is None
        time.sleep(0.005)
    process.kill()
    process.wait()
    assert (site / "info.json").read_bytes() == before
    publish(project.paths)
    # the asv of the killed one may still be at work, in a directory that is no site's
    assert (site / "info.json").read_bytes() != before
    assert list(site.glob("graphs/**/read_only.track_latency.json"))
    assert (site / "index.json").is_file()


def test_two_publishes_at_once_both_end_with_a_whole_site(tmp_path: Path) -> None:
    project = Project.make(tmp_path)
    project.add(synthetic_records(runs=1))
    project.derive()
    publish(project.paths)
    half_seen: list[str] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            # a list of the directory may be one of the site before, half removed
            for name in ("index.html", "index.json", "info.json", "vendor"):
                if not (project.paths.site / name).exists():
                    half_seen.append(name)

    watcher = threading.Thread(target=look)
    writers = [threading.Thread(target=publish, args=(project.paths,)) for _ in range(2)]
    for thread in (watcher, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    watcher.join()
    assert half_seen == []


def test_with_no_results_there_is_nothing_to_publish(tmp_path: Path) -> None:
    project = Project.make(tmp_path)
    with pytest.raises(PublishError, match="nothing to publish"):
        publish(project.paths)
    assert not project.paths.site.exists()


def test_a_missing_configuration_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(PublishError, match="configuration of asv"):
        asv_config(tmp_path)


def test_the_results_may_be_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANDSPEED_RESULTS", str(tmp_path / "elsewhere"))
    project = Project.make(tmp_path / "project")
    project.add(synthetic_records(runs=1))
    project.derive()
    assert (publish(project.paths) / "index.json").is_file()
    assert not (tmp_path / "project" / "results").exists()


def test_asv_publish_by_hand_makes_the_same_local_site(measured: Project) -> None:
    html = measured.paths.project / "by-hand"
    subprocess.run(
        [sys.executable, "-m", "asv", "publish", "--no-pull", "--html-dir", str(html)],
        cwd=measured.paths.project,
        check=True,
        capture_output=True,
    )
    site = publish(measured.paths)
    for name in ("index.html", "trends.html"):
        assert (html / name).read_bytes() == (site / name).read_bytes()
    assert (html / "vendor" / "jquery.min.js").is_file()


def test_asvs_navigation_names_the_studies_where_there_are_some(measured: Project) -> None:
    link = '<a href="studies/index.html">Studies</a>'
    site = publish(measured.paths)
    assert link not in (site / "trends.html").read_text()
    studies = measured.paths.results / "studies"
    studies.mkdir()
    (studies / "index.html").write_text("<p>none yet</p>")
    site = publish(measured.paths)
    assert (site / "trends.html").read_text().count(link) == 1
    assert (site / "studies" / "index.html").is_file()


def test_an_asset_without_a_copy_is_refused() -> None:
    with pytest.raises(UserError, match="no copy"):
        localised('<script src="https://example.org/new.js"></script>')


@pytest.mark.parametrize("name", ["index.html", "error.html"])
def test_asvs_pages_let_a_browser_run_no_script_that_is_not_a_file_of_the_site(name):
    made = localised(ASV_INDEX.with_name(name).read_text(), [] if name == "index.html" else None)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', made)
    assert "default-src 'self';" in policy
    assert "script-src" not in policy
    assert re.search(r"<script(?![^>]* src=)|\son\w+=|javascript:", made) is None


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1:1", 200), ("localhost", 200), ("evil.example:80", 421), ("", 421)],
)
def test_a_preview_answers_to_no_name_but_this_machines(tmp_path, host, status):
    (tmp_path / "index.html").write_text("<html></html>")
    with serving(tmp_path, 0) as (_, server):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            connection = HTTPConnection("127.0.0.1", server.server_port)
            connection.request("GET", "/", headers={"Host": host})
            assert connection.getresponse().status == status
        finally:
            server.shutdown()


def test_another_page_than_the_pinned_asv_has_is_refused() -> None:
    with pytest.raises(UserError, match="not the one"):
        localised(ASV_INDEX.read_text().replace("airspeed velocity</title>", "other</title>"), [])


def test_every_vendored_file_has_its_licence() -> None:
    text = (STATIC / "vendor" / "LICENSES.md").read_text()
    assert set(re.findall(r"licenses/[\w-]+\.txt", text)) == {
        f"licenses/{path.name}" for path in (STATIC / "vendor" / "licenses").iterdir()
    }


def test_the_configuration_has_the_releases_first_and_names_our_plug_ins() -> None:
    config = asv_config(CHECKOUT)
    assert config["branches"][0] == "releases"
    assert ".landspeed.site.asv_assets" in config["plugins"]
    assert config["regressions_first_commits"] == {".*tps": None}
