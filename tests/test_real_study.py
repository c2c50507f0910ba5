"""Two studies from a command to a report, on real servers: the smallest that shows the way."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.pooler import pooler_reason
from tests.conftest import make_project, program, run_in

pytestmark = pytest.mark.postgres
ONCE = ("--samples", "1", "--seconds", "1")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with this checkout's studies, and results of its own."""
    return make_project(tmp_path_factory.mktemp("study"))


def study(project: Path, *words: str) -> dict[str, object]:
    """What ``landspeed study`` says that it did."""
    done = run_in(project, [program("landspeed"), "study", *words, "--json"])
    return dict(json.loads(done.stdout))


def test_page_sizes_are_measured_reported_and_published(project: Path) -> None:
    words = ("page-size", "18:bs4", "18:bs8", *ONCE)
    told = study(project, *words)
    # blocks and WAL blocks ask the same of these two servers, larger rows another thing
    assert (told["measured"], told["errors"]) == (4, [])
    page = Path(str(told["report"]))
    text = (page.parent / "report.md").read_text()
    assert re.search(r"^\| 4 \| 1 \| [\d,.]+ \| - \|", text, re.M)
    samples = pq.read_table(page.parent / "samples.parquet").to_pylist()
    sizes = {row["part"]: row["database_bytes"] for row in samples if row["blocksize"] == 8}
    assert sizes["larger rows"] > 2.5 * sizes["blocks"]
    assert (project / "site/studies/page-size/quick/index.html").read_text() == page.read_text()
    again = study(project, *words)
    assert (again["measured"], again["present"]) == (0, 4)


def test_releases_are_compared_and_the_list_has_both_reports(project: Path) -> None:
    told = study(project, "archaeology", "17", "18", "--clients", "1", *ONCE)
    assert (told["measured"], told["errors"]) == (4, [])
    text = (Path(str(told["report"])).parent / "report.md").read_text()
    assert len(re.findall(r"^\| 1[78]\.\d+ \| [\d,.]+ \|$", text, re.M)) == 8
    index = (project / "site/studies/index.html").read_text()
    assert "archaeology/quick/index.html" in index
    assert "page-size/quick/index.html" in index


def test_a_pooler_takes_more_clients_than_the_server_and_data_may_lie_in_memory(
    project: Path,
) -> None:
    reason = pooler_reason()
    if reason:
        pytest.skip(reason)
    told = study(project, "pooler", "18", "--mode", "read-only", "--clients", "64", *ONCE)
    assert (told["measured"], told["errors"]) == (1, [])
    profile = "default-with-max_connections=40-via-pgbouncer"
    shown = run_in(project, [program("landspeed"), "show", f"*/*/*/*/*/{profile}", "--json"])
    (point,) = json.loads(shown.stdout)
    assert point["records"][0]["pooler"]["pool_mode"] == "transaction"
    assert point["records"][0]["settings"]["max_connections"] == "40"
    assert f"--profile {profile}" in " ".join(point["repeat"])
