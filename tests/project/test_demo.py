"""The whole pipeline on real PostgreSQL: from REFs to dots in a browser, and back to records."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from base.build import Build
from base.errors import RefError, SourceError
from base.files import remove_tree
from base.paths import Paths
from benchmarks.machine.lock import measuring
from tests.conftest import CHECKOUT, DATA, environment_of, make_project, program, run_in
from tests.kits.servers.cluster_kit import processes_in
from tests.kits.site_check import check_site

pytestmark = pytest.mark.postgres

# each is minutes of compiling
TARGETS = ("18", "13", "18:bs4")
# one short run of each point: what is tested is the way, not the numbers
# the name under which the tour registers a server in these tests
OURS = "landspeed-test"
CELLS = ("--preset", "quick", "--clients", "1", "--samples", "1", "--seconds", "2")


def landspeed(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_in(project, [program("landspeed"), *arguments])


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which all targets are measured once and published."""
    project = make_project(tmp_path_factory.mktemp("demo"))
    done = landspeed(project, "run", *TARGETS, *CELLS, "--publish", "--json")
    assert json.loads(done.stdout[: done.stdout.rindex("}") + 1])["measured"] == 2 * len(TARGETS)
    return project


@pytest.fixture(scope="module", autouse=True)
def nothing_of_ours_stays_registered() -> Iterator[None]:
    place = Paths.find().cache / "foreign" / OURS
    remove_tree(place)
    yield
    remove_tree(place)


def measured_rows(project: Path) -> list[dict[str, object]]:
    rows = json.loads(landspeed(project, "list", "--json").stdout)
    return [row for row in rows if row["runs"] and str(row["name"])[0].isdigit()]


def test_list_shows_what_is_built_and_measured(demo: Path) -> None:
    rows = {str(row["name"]): row for row in measured_rows(demo)}
    assert [name.split(".")[0] for name in rows] == ["13", "18"]
    newest = rows[max(rows)]
    assert newest["runs"] == {"bs8": 2, "bs4": 2}
    assert {"bs4", "bs8"} <= set(newest["built"])  # type: ignore[call-overload]


@pytest.mark.browser
def test_the_site_shows_one_point_per_release_in_a_browser_without_network(demo: Path) -> None:
    releases = [str(row["name"]) for row in measured_rows(demo)]
    check_site(
        demo / "site",
        releases=releases,
        fragment="read_only.track_latency?blocksize=8&p-clients=1",
    )


def test_a_second_run_builds_and_measures_nothing(demo: Path) -> None:
    before = sorted((demo / "results" / "records").rglob("*.*"))
    done = landspeed(demo, "run", *TARGETS, *CELLS, "--publish")
    assert f"0 built, 0 runs measured, {2 * len(TARGETS)} were recorded before" in done.stderr
    assert sorted((demo / "results" / "records").rglob("*.*")) == before


def test_instructions_are_counted_once_drawn_and_explained(demo: Path) -> None:
    words = ("--preset", "quick", "--mode", "read-only", "--metric", "instructions")
    done = landspeed(demo, "run", "18", "13", *words, "--publish", "--json")
    assert json.loads(done.stdout[: done.stdout.rindex("}") + 1])["measured"] == 4
    again = landspeed(demo, "run", "18", "13", *words)
    assert "0 runs measured, 4 were recorded before" in again.stderr
    (newest,) = (r["name"] for r in measured_rows(demo) if str(r["name"]).startswith("18."))
    shown = json.loads(landspeed(demo, "show", f"{newest}:bs8/read-only", "--json").stdout)
    counted = [point for point in shown if point["point"].endswith(("/warm", "/cold"))]
    assert len(counted) == 2
    flagged = json.loads((demo / "site" / "regressions.json").read_text())["regressions"]
    assert any("track_instructions_cold" in row[0] for row in flagged)
    # nothing is measured: what was executed where is kept
    explained = json.loads(
        landspeed(demo, "explain", "13", "18", "--scenario", "/////cold", "--json").stdout
    )
    assert explained["total_after"] > 1.1 * explained["total_before"]
    assert "pg_checksum_page" in [cost["function"] for cost in explained["costs"][:3]]
    assert Path(explained["svg"]).read_text().startswith("<?xml")


def test_a_dot_leads_to_its_records_and_their_provenance(demo: Path) -> None:
    (newest,) = (r["name"] for r in measured_rows(demo) if str(r["name"]).startswith("18."))
    done = landspeed(demo, "show", f"{newest}:bs4/read-write", "--json")
    (point,) = json.loads(done.stdout)
    (record,) = point["records"]
    assert record["build"]["variant"] == {"blocksize": 4, "wal_blocksize": 8}
    assert record["build"]["origin"]["release"] == newest
    assert record["pgbench"]["version"] == newest
    assert record["sample"]["transactions"] > 0
    assert record["sample"]["failed"] == 0
    assert record["sample"]["wal_bytes"] > 0
    assert record["settings"]["block_size"] == "4096"
    assert record["epoch"]["kernel"]
    assert len(record["series"]["tps"]) >= 1


def tour() -> list[list[str]]:
    """The commands of docs/tour.md, as argv with the programs of this environment."""
    text = (CHECKOUT / "docs/tour.md").read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    return [[program(Path(first).name), *rest] for first, *rest in words]


@pytest.mark.parametrize("argv", [pytest.param(argv, id=" ".join(argv)) for argv in tour()])
def test_a_command_of_the_tour_does_what_it_says(
    demo: Path, newest_build: Build, argv: list[str]
) -> None:
    if "preview" in argv:
        with subprocess.Popen(
            [*argv, "--port", "0"], cwd=demo, env=environment_of(demo), stdout=subprocess.PIPE
        ) as server:
            assert server.stdout is not None
            address = server.stdout.readline().decode().strip()
            with urlopen(address) as page:
                assert b"landspeed" in page.read()
            server.send_signal(signal.SIGINT)
        return
    # Debian's package may not be installed: one of our builds stands for it,
    pg_config = str(newest_build.program("pg_config"))
    argv = [pg_config if a.endswith("/pg_config") else a.replace("debian15", OURS) for a in argv]
    # and the release of our build for the release of the package.
    argv = ["18" if a == "15" else a for a in argv]
    if "--confirm" in argv:
        (demo / "changes.json").write_text(landspeed(demo, "changes", "--json").stdout)
    if "bisect" in argv or argv[1:3] == ["farm", "plan"]:
        # Commits need a git upstream, which the demo does not have; test_real_bisect.py and
        # test_real_track.py have one.
        done = run_in(demo, argv, check=False)
        code = RefError.exit_code if "bisect" in argv else SourceError.exit_code
        assert (done.returncode, done.stdout) == (code, "")
        assert "[sources.git] upstream" in done.stderr
        return
    if "results" in argv:
        run_in(demo, ["git", "init", "--quiet", "--bare", "origin.git"])
    assert run_in(demo, [*argv, *shorter(argv)]).returncode == 0


def shorter(argv: list[str]) -> Sequence[str]:
    """Options with which a command of the tour runs in the demo's project, in seconds."""
    if "results" in argv:
        return ("--remote", "origin.git")
    # run goes its whole way with one client, or with what is counted already; compare and confirm
    # until their time is over
    if "run" in argv:
        return (*CELLS, "--mode", "read-only") if "--metric" in argv else CELLS
    budget = ("--budget", "20s", "--seconds", "1")
    return budget if {"compare", "--confirm"} & set(argv) else ()


def test_asv_knows_the_suite_the_results_and_the_site(demo: Path) -> None:
    run_in(demo, [sys.executable, "-m", "landspeed.site.asv_machine"])
    asv = program("asv")
    assert "No problems found" in run_in(demo, [asv, "check"]).stdout
    releases = [str(row["name"]) for row in measured_rows(demo)]
    assert "blocksize4" in run_in(demo, [asv, "show"]).stdout
    assert "read_only.track_latency" in run_in(demo, [asv, "show", releases[-1]]).stdout
    compared = run_in(demo, [asv, "compare", releases[0], releases[-1]]).stdout
    assert "read_write.track_latency" in compared
    run_in(demo, [asv, "publish", "--no-pull"])
    check_site(
        demo / "site",
        releases=releases,
        fragment="read_only.track_latency?blocksize=8&p-clients=1",
    )


def test_asv_previews_the_site(demo: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    argv = [program("asv"), "preview", "--port", str(port)]
    with subprocess.Popen(argv, cwd=demo, env=environment_of(demo)) as server:
        try:
            assert b"landspeed" in fetched(f"http://127.0.0.1:{port}/", server)
        finally:
            server.send_signal(signal.SIGINT)


def fetched(address: str, server: subprocess.Popen[bytes]) -> bytes:
    while server.poll() is None:
        try:
            with urlopen(address) as page:
                content: bytes = page.read()
                return content
        except URLError:
            time.sleep(0.1)
    raise AssertionError(f"the server ended with {server.returncode}")


def test_asv_run_leaves_the_same_records(demo: Path) -> None:
    run_in(demo, [sys.executable, "-m", "landspeed.site.asv_machine"])
    (newest,) = (str(r["name"]) for r in measured_rows(demo) if str(r["name"]).startswith("18."))
    before = len(json.loads(landspeed(demo, "show", newest, "--json").stdout))
    run_in(demo, [program("asv"), "run", f"{newest}^!", "--bench", "read_only.track_latency"])
    points = json.loads(landspeed(demo, "show", f"{newest}:bs8/read-only", "--json").stdout)
    assert before > 0
    # the preset quick, whole: its client_counts 1, 4 and 16, three samples each
    # (what was counted, and what compare asked for, are points of their own)
    published = [p for p in points if p["published"]]
    timed = [p for p in published if not p["point"].endswith(("/warm", "/cold"))]
    assert {len(p["records"]) for p in timed} == {3, 4}
    landspeed(demo, "publish")
    shown = run_in(demo, [program("asv"), "show", newest]).stdout
    assert "read_write.track_latency" in shown


def test_while_another_landspeed_measures_a_second_one_says_so(demo: Path) -> None:
    with measuring():
        done = run_in(
            demo,
            [program("landspeed"), "run", "18", *CELLS, "--samples", "2"],
            check=False,
        )
    assert done.returncode == 10
    assert "error:  another landspeed is measuring on this machine" in done.stderr
    assert str(os.getpid()) in done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_goes_on_where_it_was(
    tmp_path: Path, demo: Path, how: signal.Signals
) -> None:
    project = make_project(tmp_path / "project")
    loose = project / "results" / "records" / "loose"
    argv = [program("landspeed"), "run", "18", *CELLS, "--samples", "4"]
    process = subprocess.Popen(
        argv, cwd=project, env=environment_of(project), stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 120
    while len(list(loose.glob("*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(how)
    process.communicate()
    assert process.returncode == (130 if how is signal.SIGINT else -9)
    done = landspeed(project, *argv[1:], "--json")
    tally = json.loads(done.stdout)
    assert tally["present"] >= 2
    assert tally["present"] + tally["measured"] == 8
    assert processes_in(DATA) == {}
