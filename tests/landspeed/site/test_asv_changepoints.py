"""asv's page of regressions, its feed and its list of values show our Steps and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks.workloads.catalog import choose
from landspeed.changepoints.changepoint import ChangepointStatus
from landspeed.site.asv_changepoints import STEPS_FILE, write_steps
from landspeed.site.publish import publish
from tests.kits.made_up.synthetic import Point, counted_record, record
from tests.kits.made_up.synthetic_project import Project
from tests.kits.made_up.synthetic_series import DAYS, level, line
from tests.kits.made_up.workload_counts import counts

pytestmark = pytest.mark.slow

_ATOM = "{http://www.w3.org/2005/Atom}"


def rows(site: Path) -> list[Any]:
    return list(json.loads((site / "regressions.json").read_text())["regressions"])


def entries(site: Path) -> Iterator[dict[str, str]]:
    for entry in ElementTree.parse(site / "regressions.xml").getroot().iter(f"{_ATOM}entry"):
        fields = {tag: entry.findtext(f"{_ATOM}{tag}") or "" for tag in ("title", "content")}
        link = entry.find(f"{_ATOM}link")
        yield fields | {"link": link.get("href", "") if link is not None else ""}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """One cell got slower at 17.6, one faster, one did nothing; 4 kB blocks did nothing."""
    project = Project.make(tmp_path_factory.mktemp("project"), DAYS)
    project.add(line(level(0.1, 0.12), clients=1, runs=4))
    project.add(line(level(0.2, 0.15), clients=4, runs=4))
    project.add(line(level(0.3), clients=8, runs=4))
    project.add(line(level(0.1), clients=1, blocksize=4, runs=4))
    project.derive()
    return project


@pytest.fixture(scope="module")
def site(project: Project) -> Path:
    return publish(project.paths)


def test_the_page_has_one_row_for_each_step_for_the_worse(site: Path) -> None:
    (row,) = rows(site)
    name, graph, params, index, last, best, jumps = row
    assert name == ("read_only.track_latency('prepared', 'small-5', 1, 'default') on elephant, bs8")
    assert (site / graph).is_file()
    assert params["blocksize"] == "8"
    assert index == 0
    assert last == pytest.approx(0.12, rel=0.03)
    assert best == pytest.approx(0.1, rel=0.03)
    ((before, after, old, new),) = jumps
    tags = json.loads((site / "index.json").read_text())["tags"]
    assert (before, after) == (tags["17.5"], tags["17.6"])
    assert (old, new) == pytest.approx((0.1, 0.12), rel=0.03)


def test_the_feed_names_machine_variant_scenario_and_size_with_its_interval(site: Path) -> None:
    (entry,) = entries(site)
    assert entry["title"].startswith("+")
    assert " %, +" in entry["title"]
    for word in ("elephant", "bs8", "read_only.track_latency('prepared', 'small-5', 1"):
        assert word in entry["title"]
    assert "between 17.5 and 17.6" in entry["content"]
    assert "95 % interval" in entry["content"]
    assert entry["link"].startswith("trends.html#read_only.track_latency?")


def test_the_list_of_values_has_the_level_since_the_step_and_the_one_before(site: Path) -> None:
    found = {}
    for path in site.glob("graphs/**/blocksize-8/**/summary.json"):
        for row in json.loads(path.read_text()):
            found[row["name"], row["idx"]] = (row["prev_value"], row["last_value"])
    before, now = found["read_only.track_latency", 0]
    assert (before, now) == pytest.approx((0.1, 0.12), rel=0.03)
    before, now = found["read_only.track_tps", 1]
    assert (before, now) == pytest.approx((20000, 26667), rel=0.03)
    assert found["read_only.track_latency", 2][0] is None


def test_noise_alone_publishes_no_regression(tmp_path: Path) -> None:
    project = Project.make(tmp_path, DAYS)
    for clients in (1, 4):
        project.add(line(level(0.1), clients=clients, runs=3))
    project.derive()
    site = publish(project.paths)
    assert rows(site) == []
    assert list(entries(site)) == []


def test_what_was_refuted_or_is_doubtful_is_not_published(project: Project, tmp_path: Path) -> None:
    scan = project.scan()
    told = {step.after.release for step in scan.changepoints}
    assert told == {"17.6"}
    kept = tmp_path / STEPS_FILE
    write_steps(scan.changepoints, project.commit_of, tmp_path)
    assert len(kept.read_text().splitlines()) == 2
    refuted = {one.key: ChangepointStatus.REFUTED for one in scan.changepoints}
    write_steps(project.scan(refuted).changepoints, project.commit_of, tmp_path)
    assert kept.read_text() == ""
    write_steps(scan.changepoints, lambda _: None, tmp_path)
    assert kept.read_text() == "", "what has no commit cannot be drawn"


def test_where_there_are_no_steps_beside_the_results_asv_looks_itself(tmp_path: Path) -> None:
    """As after ``asv run`` by hand, in a project that landspeed never published."""
    days = {f"17.{minor}": f"2025-01-{minor + 1:02}" for minor in range(24)}
    project = Project.make(tmp_path, days)
    latency = {name: 0.1 if i < 12 else 0.15 for i, name in enumerate(days)}
    project.add(line(latency, runs=4))
    project.derive()
    (project.layout.results / STEPS_FILE).unlink()
    (row,) = rows(publish(project.paths))
    assert row[0] == "read_only.track_latency('prepared', 'small-5', 1, 'default')"


def test_an_exact_step_is_published_and_cuts_no_timed_line(tmp_path: Path) -> None:
    project = Project.make(tmp_path, DAYS)
    project.add(line(level(0.1), runs=3))
    for release, day in DAYS.items():
        made = record(Point(release=release, date=day))
        cell = {**made["cell"], "buffers": "warm"}
        counted = counted_record(made["build"], cell, made["machine"], made["epoch"])
        counted["sample"]["instructions"] = 50_000.0 if release < "17.6" else 50_150.0
        project.add([counted])
    project.derive()
    site = publish(project.paths)
    found = {row[0].partition("(")[0]: row[6] for row in rows(site)}
    # by name 17.10 and 17.11 come before 17.6: the count falls there, which is no regression
    assert list(found) == ["read_only.track_instructions"]
    ((_, _, old, new),) = found["read_only.track_instructions"]
    assert (old, new) == (50_000.0, 50_150.0)
    (entry,) = entries(site)
    assert "exact" in entry["content"]
    for path in site.glob("graphs/**/summary.json"):
        for row in json.loads(path.read_text()):
            timed = row["name"] in ("read_only.track_latency", "read_only.track_tps")
            assert not timed or row["prev_value"] is None


def test_a_workload_that_needs_more_instructions_is_one_row_of_its_family(tmp_path: Path) -> None:
    project = Project.make(tmp_path / "project", DAYS)
    slower = level(1000.0, 1100.0)
    project.add(
        counts(
            choose(["sort-equal-keys", "sort-unique"]),
            DAYS,
            lambda name, release: slower[release] if name == "sort-unique" else 5000.0,
        )
    )
    project.derive()
    site = publish(project.paths)
    ((name, graph, _, index, last, best, _),) = rows(site)
    cell = "'sort-unique', 'small-1', 1, 'default'"
    assert name == f"joins.track_instructions({cell}) on elephant, bs8"
    assert (site / graph).is_file()
    assert (index, last, best) == (1, 1100.0, 1000.0)
    (entry,) = entries(site)
    assert "p-workload=%27sort-unique%27" in entry["link"]
