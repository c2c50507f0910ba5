"""landspeed compare on a real server: against itself it finds nothing, killed it goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from base.build import Build
from benchmarks.records.store import RecordStore
from tests.conftest import environment_of, make_project, program, run_in

pytestmark = pytest.mark.postgres
_HARMLESS = {"UNDECIDED", "SAME"}


def command(build: Build, budget: str) -> list[str]:
    name = str(build.origin.release)
    words = ("--seconds", "1", "--budget", budget, "--precision", "90%", "--json")
    return [program("landspeed"), "compare", name, "--aa", *words]


def answer(project: Path, build: Build, budget: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(run_in(project, command(build, budget)).stdout)
    return facts


def rows(project: Path) -> int:
    return int(RecordStore(project / "results" / "records").table(["id"]).num_rows)


def killed_after_runs(project: Path, build: Build, runs: int) -> None:
    """Start a long comparison and kill -9 it when it has recorded this many runs."""
    process = subprocess.Popen(
        command(build, "1h"),
        cwd=project,
        env=environment_of(project),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while rows(project) < runs:
            assert process.poll() is None, "it ended before it was killed"
            time.sleep(0.2)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def test_a_server_against_itself_is_never_faster_or_slower_and_goes_on_when_killed(
    tmp_path: Path, newest_build: Build
) -> None:
    project = make_project(tmp_path / "project")
    killed_after_runs(project, newest_build, 5)
    kept = rows(project)
    assert kept >= 5
    facts = answer(project, newest_build, "60s")
    (finding,) = facts["findings"]
    assert finding["verdict"] in _HARMLESS
    assert facts["runs"] == 2 * facts["blocks"]
    assert kept - 1 <= facts["runs"] <= rows(project)
    assert finding["further_blocks"] is not None
    # the answer again, from the records alone
    recorded = rows(project)
    again = answer(project, newest_build, "0")
    assert again["findings"] == facts["findings"]
    assert rows(project) == recorded
    presets = RecordStore(project / "results" / "records").table()["preset"].unique()
    assert presets.to_pylist() == ["ledger"]
