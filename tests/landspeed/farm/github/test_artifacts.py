"""What workflow runs left in artifacts: recovered when nobody pushed it, once, and ours alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks.records.record import Record
from landspeed.farm.merge import result_files
from landspeed.farm.tar import pack_files
from tests.kits.farm.farm_kit import Farm
from tests.kits.farm.github_api import Failure, GitHubApi, github_api
from tests.kits.made_up.synthetic import Point, record

pytestmark = pytest.mark.slow

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def api(tmp_path: Path) -> Iterator[GitHubApi]:
    with github_api() as made:
        made.stubs = tmp_path / "stubs"
        yield made


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    return Farm.make(tmp_path, commits=1)


def left(
    api: GitHubApi, run: int, name: str = "results-count-1", number: int | None = None
) -> Path:
    """An artifact of *run* with one record; the file in it."""
    assert api.stubs is not None
    place = api.stubs / "elsewhere" / f"{run}-{name}"
    elsewhere = Farm(root=place, upstream=None)  # type: ignore[arg-type]  no sources are asked for
    elsewhere.records.add(
        Record.from_json(record(Point(machine="m"), number=run if number is None else number))
    )
    elsewhere.records.seal()
    file = api.stubs / "artifacts" / str(run) / name / "results.tar"
    pack_files(file, elsewhere.paths.results, result_files(elsewhere.paths.results))
    return file


def ended(api: GitHubApi, run: int, conclusion: str, *, hour: int = 0, **more: Any) -> None:
    """Run number *run* began *hour* hours after noon and ended half an hour later."""
    workflow = more.pop("workflow", "track.yml")
    api.ended(run, NOON + timedelta(hours=hour), conclusion, workflow)
    end = NOON + timedelta(hours=hour, minutes=more.pop("minutes", 30))
    api.runs[0] |= {"updated_at": end.isoformat(), **more}


def recovered(farm: Farm, api: GitHubApi, **environment: str) -> int:
    """How many files are recovered now."""
    done = farm.landspeed(
        *("farm", "results", "recover", "--json"),
        **{"LANDSPEED_MACHINE": "m", **api.environment(), **environment},
    )
    return int(json.loads(done.stdout)["recovered"])


def test_what_a_run_that_ended_badly_left_is_recovered_once(farm, api):
    for run, how in enumerate(("failure", "cancelled", "timed_out"), start=1):
        ended(api, run, how, hour=run)
        left(api, run)
    assert recovered(farm, api) == 3
    assert farm.records.table(["id"]).num_rows == 3
    assert recovered(farm, api) == 0


def test_the_workflow_is_told_how_much_it_was(farm, api, tmp_path):
    ended(api, 1, "failure")
    left(api, 1)
    assert recovered(farm, api, GITHUB_OUTPUT=str(tmp_path / "outputs")) == 1
    assert "recovered<<" in (tmp_path / "outputs").read_text()


def test_what_there_was_before_a_run_that_ended_well_was_recovered_by_that(farm, api):
    for run in (1, 2, 3):
        left(api, run)
    ended(api, 1, "failure", hour=0)
    ended(api, 2, "success", hour=2)
    # a bisection that began before and ended after it
    ended(api, 3, "failure", hour=1, minutes=200, workflow="bisect.yml")
    assert recovered(farm, api) == 1
    assert farm.records.table(["id"]).num_rows == 1
    assert len(api.calls) == 1 + 1 + 1


def test_a_bisection_that_ended_well_says_nothing_of_what_track_left(farm, api):
    left(api, 1)
    ended(api, 1, "failure", hour=0)
    ended(api, 2, "success", hour=2, workflow="bisect.yml")
    assert recovered(farm, api) == 1


def test_nothing_to_recover_is_one_call(farm, api):
    ended(api, 1, "success")
    assert recovered(farm, api) == 0
    assert len(api.calls) == 1


def test_the_run_that_we_are_is_not_looked_at(farm, api):
    left(api, 7)
    ended(api, 7, "failure")
    assert recovered(farm, api, GITHUB_RUN_ID="7") == 0


@pytest.mark.parametrize(
    "more", [{"event": "pull_request"}, {"head_repository": {"id": 2}}, {"head_repository": None}]
)
def test_what_others_can_start_leaves_nothing_for_us(farm, api, more):
    left(api, 1)
    ended(api, 1, "failure", **more)
    assert recovered(farm, api) == 0


def test_a_comparison_leaves_nothing_whatever_its_artifact_is_called(farm, api):
    left(api, 1, "results-compare")
    left(api, 1)
    ended(api, 1, "cancelled", workflow="compare.yml", event="workflow_dispatch")
    assert recovered(farm, api) == 0


def test_only_results_are_recovered_and_what_is_damaged_keeps_nothing_else_out(farm, api):
    ended(api, 1, "failure")
    left(api, 1)
    left(api, 1, "build-18.1")
    left(api, 1, "results-count-2").write_bytes(b"no tar")
    done = farm.landspeed("farm", "results", "recover", LANDSPEED_MACHINE="m", **api.environment())
    assert 'not taken: the artifact "results-count-2"' in done.stderr
    assert farm.records.table(["id"]).num_rows == 1


def test_a_job_that_counted_brings_nothing_of_another_machine(farm, api):
    ended(api, 1, "failure")
    left(api, 1)
    left(api, 1, "results-time-m", number=2)
    assert recovered(farm, api, LANDSPEED_MACHINE="counter") == 1


def test_our_token_stays_with_github_and_a_file_that_fails_is_asked_for_again(farm, api):
    ended(api, 1, "failure")
    left(api, 1)
    api.failures = [Failure(500, where="zip")]
    # the place that it is read from refuses who shows it a token: see GitHubApi
    assert recovered(farm, api) == 1


def test_an_api_that_does_not_answer_is_one_clear_error(farm, api):
    api.failures = [Failure(403, message="Resource not accessible by integration")]
    done = farm.landspeed("farm", "results", "recover", check=False, **api.environment())
    assert done.returncode != 0
    assert "the permission actions: read" in done.stderr
