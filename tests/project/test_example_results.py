"""The recorded results that come with landspeed, and the site that ``make atlas`` makes of them."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from pathlib import Path, PurePosixPath

import pytest

from base.typed import from_json
from benchmarks.records.store import RecordStore
from landspeed.atlas.report import AtlasReport
from landspeed.bisect.journal import read_journal

PROJECT = Path(__file__).resolve().parents[2]
ARCHIVE = PROJECT / "examples" / "atlas" / "results.tar.xz"
CYCLE = ARCHIVE.with_name("cycle-18.tar.xz")
MOST_BYTES = 15 << 20


@pytest.mark.parametrize("path", [ARCHIVE, CYCLE], ids=lambda path: path.name)
def test_the_archives_are_small_and_hold_nothing_but_results(path: Path) -> None:
    assert ARCHIVE.stat().st_size + CYCLE.stat().st_size < MOST_BYTES
    with tarfile.open(path) as archive:
        members = archive.getmembers()
    assert all(one.isfile() or one.isdir() for one in members)
    assert {PurePosixPath(one.name).parts[0] for one in members} == {"results"}
    assert not any(".." in PurePosixPath(one.name).parts for one in members)


def test_a_search_has_the_record_of_each_of_its_counts(tmp_path: Path) -> None:
    subprocess.run(["tar", "-xJf", CYCLE, "-C", tmp_path], check=True)
    (journal,) = (tmp_path / "results" / "atlas").glob("atlas-*.json")
    _, events = read_journal(journal)
    counted = {event.record for event in events if event.event == "run"}
    assert len(counted) > 800
    assert counted <= {*RecordStore(tmp_path / "results" / "records").table()["id"].to_pylist()}


def test_the_table_of_the_cycle_has_the_commits_that_the_complete_search_found() -> None:
    with tarfile.open(CYCLE) as archive:
        member = archive.extractfile("results/atlas/e26810d01d-2652835d3e/report.json")
        assert member is not None
        report = from_json(AtlasReport, json.loads(member.read()))
    assert report.complete
    assert report.counted_again > len(report.changes)
    text = (PROJECT / "docs" / "atlas.md").read_text()
    _, _, table = text.partition("| kind | functions (largest workload) |\n")
    rows = table.partition("\n\n")[0].splitlines()[1:]
    found = [one.commit.ref[:10] for one in report.changes]
    assert [row.split("`")[1] for row in rows] == found
    largest = [f"`{one.workloads[0].workload}`" for one in report.changes]
    assert [row.split(" | ")[3].split(" ")[0] for row in rows] == largest


@pytest.mark.slow
def test_its_site_needs_no_server_and_shows_releases_the_upgrade_and_the_commit(
    tmp_path: Path,
) -> None:
    # tools/atlas works in the checkout around it
    for name in ("asv.conf.json", "landspeed.toml", "tools", "examples", ".venv"):
        (tmp_path / name).symlink_to(PROJECT / name)
    script = tmp_path / "atlas"
    script.write_text((PROJECT / "tools/atlas").read_text().replace('"$(dirname "$0")/.."', "."))
    environment = os.environ | {"LANDSPEED_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        ["bash", str(script)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    site = tmp_path / "build" / "atlas" / "site"
    assert "fc415edf8c" in (site / "atlas/e26810d01d-433d8f40e9/index.html").read_text()
    assert "data_checksums" in (site / "upgrade/17.11-bs8-18.6-bs8/index.html").read_text()
    assert "4feba03d8b" in (site / "atlas/e26810d01d-2652835d3e/index.html").read_text()
    assert "e26810d01d-433d8f40e9" in (site / "atlas/index.html").read_text()
    assert (site / "landspeed" / "workloads.html").is_file()
