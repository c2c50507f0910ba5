"""The data of the heat map, of the status page, and of the samples for everybody."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from base.build import Origin, Variant
from benchmarks.records.columns import COLUMNS
from benchmarks.records.identical_builds import FailedBuild
from benchmarks.workloads.catalog import choose
from landspeed.results.points import Dots
from landspeed.results.queue import Queue
from landspeed.site.pages.data import PageInputs
from landspeed.site.pages.page_files import sync
from landspeed.site.pages.samples import SAMPLES, write_samples
from landspeed.site.pages.status import status_facts
from landspeed.site.pages.workloads import run_ids
from tests.kits.made_up.pages_kit import (
    commit_points,
    files_of,
    hash_of,
    place_of,
    releases,
    runs,
    table_of,
    whole_table,
)
from tests.kits.made_up.synthetic import RELEASES
from tests.kits.made_up.workload_counts import counts

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "data.md"
CHOSEN = choose(["sort-*", "select-1-*"])


def level(name: str, release: str) -> float:
    return 1000.0 + 100 * list(RELEASES).index(release) if name == "sort-unique" else 500.0


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return table_of(counts(CHOSEN, RELEASES, level), runs(releases(), count=2))


def workloads_of(table: pa.Table, *profiles: str) -> dict[str, Any]:
    files = files_of(
        table, PageInputs(commits={}, profiles=dict.fromkeys(profiles, Path("some.json.gz")))
    )
    return dict(json.loads(files["workloads.json"]))


def test_the_heat_map_has_each_workload_at_each_version_in_the_catalogs_order(
    table: pa.Table,
) -> None:
    facts = workloads_of(table)
    (one,) = facts["maps"]
    assert one["versions"] == [version["name"] for version in facts["versions"]] == list(RELEASES)
    assert [row["mode"] for row in one["rows"]] == [workload.name for workload in CHOSEN]
    row = next(row for row in one["rows"] if row["mode"] == "sort-unique")
    assert row["family"] == row["group"] == "joins"
    assert row["values"]["instructions"] == [1000.0, 1100.0, 1200.0, 1300.0, 1400.0]
    assert row["asv"]["p-workload"] == "'sort-unique'"
    assert "instructions_cold" not in row["values"]
    assert {facts["catalog"][row["mode"]]["title"] for row in one["rows"]}


def test_a_cell_names_its_profile_if_one_is_kept_and_the_profile_is_copied(
    table: pa.Table, tmp_path: Path
) -> None:
    kept = next(row for row in table.to_pylist() if row["mode"] == "sort-unique")["id"]
    facts = workloads_of(table, kept, "f" * 32)
    assert run_ids(facts) == {kept}
    profile = tmp_path / "profile.json.gz"
    profile.write_bytes(b"\x1f\x8bprofile")
    inputs = PageInputs(commits={}, profiles={kept: profile, "f" * 32: profile})
    sync(files_of(table, inputs), tmp_path / "pages")
    (copied,) = (tmp_path / "pages" / "profiles").iterdir()
    assert (copied.name, copied.read_bytes()) == (f"{kept}.json.gz", b"\x1f\x8bprofile")


def test_without_a_counted_run_there_is_no_map() -> None:
    assert workloads_of(whole_table())["maps"] == []


def test_the_status_tells_of_each_machine_what_it_measures_and_its_newest_commit() -> None:
    table = table_of(
        counts(CHOSEN, RELEASES, level),
        runs(commit_points(3), modes=("read-only",), machine="mammoth"),
    )
    facts = status_facts(Dots(table), place_of, [], [])
    one, other = facts["machines"]
    assert (one["name"], one["counted"], one["timed"], one["tips"]) == (
        "elephant",
        len(CHOSEN),
        [],
        [],
    )
    assert (other["name"], other["counted"], other["timed"]) == ("mammoth", 0, ["read-only"])
    assert [(tip["branch"], tip["name"]) for tip in other["tips"]] == [("master", hash_of(2)[:10])]
    assert other["first"] < other["last"]


def test_a_delay_is_that_of_commits_made_since_the_branch_is_followed() -> None:
    times = ["2026-01-10T09:00", "2026-01-10T12:00", "2026-01-11T00:00"]
    points = [
        {"release": None, "commit": hash_of(number), "date": f"{date}:00+00:00"}
        for number, date in enumerate(["2025-12-31T09:00", *times])
    ]
    made = []
    first_runs = ("2026-01-10T08:00", "2026-01-10T10:00", "2026-01-10T14:00", "2026-01-11T10:00")
    for point, moment in zip(points, first_runs, strict=True):
        (record,) = runs([point], count=1, clients=(1,), modes=("read-only",))
        made.append(record | {"time": f"{moment}:00.000Z"})
    (machine,) = status_facts(Dots(table_of(made)), place_of, [], [])["machines"]
    assert machine["months"] == [{"month": "2026-01", "commits": 3, "median": 2.0, "p95": 9.2}]


def test_a_failed_build_is_listed_until_its_source_is_measured(table: pa.Table) -> None:
    def note(release: str, time: str, variant: str = "bs8") -> FailedBuild:
        origin = Origin(release=release, commit=None, tree="t", date="2026-01-01")
        of = {"origin": origin, "variant": Variant.parse(variant)}
        return FailedBuild(**of, time=time, message="gcc\u202e failed")

    notes = [
        *(note("18.1", "2026-01-01"), note("9.0.1", "2026-01-02"), note("9.1.1", "2026-01-03")),
        note("18.1", "2026-01-04", "bs4"),  # only its other variant is measured
    ]
    failures = status_facts(Dots(table), place_of, notes, [])["failures"]
    assert [one["name"] for one in failures] == ["18.1", "9.1.1", "9.0.1"]
    assert "\u202e" not in failures[0]["reason"]


def test_what_is_next_on_a_machine_is_what_was_planned_and_not_measured_since() -> None:
    points = commit_points(3)
    made = [one | {"time": "2026-01-10T12:00:00.000Z"} for one in runs(points[:1], count=1)]
    origin = Origin(release=None, commit=hash_of(1), tree="t", date="2026-01-01")
    failure = FailedBuild(origin=origin, variant=Variant(), time="2026-01-10T13:00:00Z")
    targets = tuple(f"{hash_of(number)}:bs8" for number in range(3))
    queues = [
        Queue(machine=machine, time=time, targets=targets, due=due)
        for machine, time, due in (
            (made[0]["machine"]["name"], "2026-01-10T11:00:00+00:00", 5),
            (made[0]["machine"]["name"], "2026-01-09T11:00:00+00:00", 9),
            ("mammoth", "2026-01-10T14:00:00+00:00", 3),
        )
    ]
    machines = status_facts(Dots(table_of(made)), place_of, [failure], queues)["machines"]
    one, never = machines
    assert (one["queue"]["targets"], one["queue"]["due"]) == ([f"{hash_of(2)[:10]}:bs8"], 3)
    assert (never["name"], never["last"], never["runs"]) == ("mammoth", None, 0)
    assert (len(never["queue"]["targets"]), never["queue"]["due"]) == (3, 3)


def test_the_samples_of_a_year_are_written_again_only_if_they_changed(tmp_path: Path) -> None:
    first = whole_table()
    assert write_samples(first, tmp_path) == ["2026.parquet"]
    path = tmp_path / SAMPLES / "2026.parquet"
    read = pq.read_table(path)
    assert read.num_rows == first.num_rows
    assert read["id"].to_pylist() == first["id"].to_pylist()
    before = path.stat().st_mtime_ns
    write_samples(first, tmp_path)
    assert path.stat().st_mtime_ns == before
    write_samples(first.slice(1), tmp_path)
    assert pq.read_metadata(path).num_rows == first.num_rows - 1
    path.write_bytes(b"damaged")
    write_samples(first, tmp_path)
    assert pq.read_metadata(path).num_rows == first.num_rows


@pytest.fixture
def at_samples(table: pa.Table, tmp_path: Path) -> Iterator[Path]:
    write_samples(table, tmp_path)
    here = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(here)


def test_the_documented_queries_answer_what_their_questions_ask(at_samples: Path) -> None:
    view, *queries = re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    with duckdb.connect() as base:
        base.execute(view)
        changed, latencies, noise = (base.execute(one).fetchall() for one in queries)
    assert changed[0][:2] == ("sort-unique", "warm")
    assert changed[0][-1] == round(100 * (1400 / 1300 - 1), 2)
    assert {row[0] for row in changed} == {one.name for one in CHOSEN}
    assert len(changed) == len(CHOSEN)
    assert {(row[0], row[1], row[2]) for row in latencies} == {
        (release, clients, 2) for release in RELEASES for clients in (1, 4)
    }
    assert all(row[4] <= row[3] <= row[5] for row in latencies)
    assert {(row[0], row[1]) for row in noise} == {
        ("elephant", mode) for mode in ("read-only", "read-write")
    }
    assert all(0 < row[3] <= row[4] < 20 for row in noise)


def test_each_column_of_the_samples_is_documented() -> None:
    _, _, columns = DOCUMENT.read_text().partition("## The columns")
    assert {one.name for one in COLUMNS} <= set(re.findall(r"`(\w+)`", columns))
