"""Studies from a command to a report, on real servers: the smallest that shows the way."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.clients.sysbench import sysbench_reason
from benchmarks.server.pooler import pooler_reason
from benchmarks.workloads.scenario import BYTES_PER_SCALE
from benchmarks.workloads.sysbench_modes import ROWS_PER_SCALE
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
    told = study(project, "archaeology", "13", "18", "--clients", "1", *ONCE)
    assert (told["measured"], told["errors"]) == (4, [])
    text = (Path(str(told["report"])).parent / "report.md").read_text()
    assert len(re.findall(r"^\| 1[38]\.\d+ \| [\d,.]+ \|$", text, re.M)) == 8
    index = (project / "site/studies/index.html").read_text()
    assert "archaeology/quick/index.html" in index
    assert "page-size/quick/index.html" in index


def test_the_other_load_generator_reads_and_writes_tables_of_its_own(project: Path) -> None:
    reason = sysbench_reason()
    if reason:
        pytest.skip(reason)
    modes = ("--mode", "oltp-point-select", "--mode", "oltp-read-write")
    told = study(project, "sysbench", "18", *modes, "--clients", "2", *ONCE)
    assert (told["measured"], told["errors"]) == (2, [])
    shown = run_in(project, [program("landspeed"), "show", "18", "--json"])
    found = [one for one in json.loads(shown.stdout) if "/oltp-" in one["point"]]
    records = {one["records"][0]["sysbench"]["script"]: one["records"][0] for one in found}
    assert set(records) == {"oltp_point_select", "oltp_read_write"}
    for record in records.values():
        sample, rows = record["sample"], record["sysbench"]["rows"]
        assert record["run"]["argv"][0] == "sysbench"
        assert f"--rand-seed={record['run']['seed']}" in record["run"]["argv"]
        assert sample["latency_ms"] == pytest.approx(2000 / sample["tps"], rel=1e-3)
        assert sample["latency_p50_ms"] <= sample["latency_p99_ms"]
        # as large as pgbench's, and in memory
        size = record["cell"]["scale"] * BYTES_PER_SCALE
        assert record["database_bytes"] == pytest.approx(size, rel=0.25)
        assert rows == record["cell"]["scale"] * ROWS_PER_SCALE
    reads, writes = records["oltp_point_select"], records["oltp_read_write"]
    # a key is found by at least a root, a leaf and a heap page; the others change rows
    assert reads["sample"]["blocks_hit"] >= 3 * reads["sample"]["transactions"]
    assert writes["sample"]["wal_bytes"] > 100 * writes["sample"]["transactions"]
    assert all("--mode oltp-" in one["repeat"][-1] for one in found)
    again = study(project, "sysbench", "18", *modes, "--clients", "2", *ONCE)
    assert (again["measured"], again["present"]) == (0, 2)


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
    assert f"--configuration {profile}" in " ".join(point["repeat"])
