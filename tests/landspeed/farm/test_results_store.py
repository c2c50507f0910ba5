"""Where results stay: an artifact or a directory in place of the branch, with nothing lost."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from benchmarks.records.record import Record
from tests.kits.farm.farm_kit import Farm
from tests.kits.farm.github_api import GitHubApi, github_api
from tests.kits.made_up.results_kit import write_journal
from tests.kits.made_up.synthetic import Point, record

pytestmark = pytest.mark.slow


@pytest.fixture
def api(tmp_path: Path) -> Iterator[GitHubApi]:
    with github_api() as made:
        made.stubs = tmp_path / "stubs"
        yield made


class Job:
    """A job on a machine of its own, in a farm that keeps its results as *keep* says (TOML)."""

    def __init__(self, root: Path, name: str, keep: str, api: GitHubApi) -> None:
        self.farm = Farm(root=root / name, upstream=None)  # type: ignore[arg-type]  not asked for
        self.farm.project.mkdir(parents=True)
        (self.farm.project / "asv.conf.json").write_text("{}")
        (self.farm.project / "landspeed.toml").write_text(f"[track]\n{keep}\n")
        self.name, self.api = name, api

    def results(self, *words: str, check: bool = True) -> str:
        """What ``landspeed farm results`` says."""
        done = self.farm.landspeed("farm", "results", *words, check=check, **self.api.environment())
        return done.stderr

    def measure(self, number: int) -> None:
        self.farm.records.add(Record.from_json(record(Point(machine=self.name), number=number)))

    def upload(self, run: int) -> None:
        """Upload what was pushed, as publish.yml does."""
        assert self.api.stubs is not None
        place = self.api.stubs / "artifacts" / str(run) / "landspeed-results"
        place.mkdir(parents=True)
        shutil.copy(self.farm.project / "landspeed-results.tar", place)
        self.api.ended(run, datetime.now(UTC), "success")

    @property
    def count(self) -> int:
        return self.farm.records.table(["id"]).num_rows


# --- a directory -----------------------------------------------------------------------------


def test_results_of_two_machines_meet_in_a_directory(tmp_path, api):
    kept = tmp_path / "kept"
    kept.mkdir()
    one, two = (Job(tmp_path, n, f'keep = "directory"\ndirectory = "{kept}"', api) for n in "ab")
    assert "nothing new there" in one.results("fetch")
    one.measure(1)
    two.measure(2)
    assert "pushed 1 file\n" in one.results("push")
    assert "pushed 1 file\n" in two.results("push")
    assert two.count == 2
    assert "1 file new here" in one.results("fetch")
    assert one.count == 2
    assert "nothing new to push" in one.results("push")
    assert "0 files packed" in one.results("pack", str(tmp_path / "results.tar"))
    one.measure(3)
    assert "1 file packed" in one.results("pack", str(tmp_path / "results.tar"))


def test_a_bisection_that_went_on_is_new_to_a_directory(tmp_path, api):
    kept = tmp_path / "kept"
    kept.mkdir()
    one = Job(tmp_path, "a", f'keep = "directory"\ndirectory = "{kept}"', api)
    for events in (1, 3):
        journal = write_journal(one.farm.paths.results, [1.0] * events)
        assert "pushed 1 file\n" in one.results("push")
    assert len(json.loads((kept / "bisect" / journal.name).read_text())["events"]) == 3
    assert "nothing new to push" in one.results("push")


def test_a_machine_that_does_not_see_the_directory_begins_none_of_its_own(tmp_path, api):
    one = Job(tmp_path, "a", f'keep = "directory"\ndirectory = "{tmp_path}/nowhere"', api)
    one.measure(1)
    assert "does not exist on this machine" in one.results("push", check=False)
    assert not (tmp_path / "nowhere").exists()
    assert one.count == 1


# --- an artifact -----------------------------------------------------------------------------


def test_results_that_stay_in_artifacts_are_all_in_the_latest(tmp_path, api):
    one, two = (Job(tmp_path, name, 'keep = "artifact"', api) for name in "ab")
    assert "nothing new there" in one.results("fetch")
    one.measure(1)
    assert "pushed 1 file\n" in one.results("push")
    one.upload(1)
    assert "1 file new here" in two.results("fetch")
    two.measure(2)
    assert "1 file packed" in two.results("pack", str(tmp_path / "results.tar"))
    assert "pushed 1 file\n" in two.results("push")
    two.upload(2)
    shutil.rmtree(tmp_path / "stubs" / "artifacts" / "1")  # its days are over
    third = Job(tmp_path, "c", 'keep = "artifact"', api)
    assert "2 files new here" in third.results("fetch")
    assert third.count == 2
    assert "nothing new to push" in third.results("push")
    assert not (third.farm.project / "landspeed-results.tar").exists()


def test_two_runs_that_end_at_once_lose_nothing(tmp_path, api):
    one, two = (Job(tmp_path, name, 'keep = "artifact"', api) for name in "ab")
    for number, job in enumerate((one, two), start=1):
        job.measure(number)
        job.results("push")
    one.upload(1)
    two.upload(2)
    third = Job(tmp_path, "c", 'keep = "artifact"', api)
    third.results("fetch")
    assert third.count == 2
    # the latest has one of them only, so the next is to have both
    assert "pushed 1 file\n" in third.results("push")
    assert (third.farm.project / "landspeed-results.tar").exists()


def test_an_artifact_of_a_fork_is_not_ours(tmp_path, api, monkeypatch):
    one = Job(tmp_path, "a", 'keep = "artifact"', api)
    one.measure(1)
    one.results("push")
    one.upload(1)
    original = GitHubApi.artifacts

    def of_a_fork(self: GitHubApi) -> list[dict[str, object]]:
        found = original(self)
        return [
            {**f, "workflow_run": {**f["workflow_run"], "head_repository_id": 2}} for f in found
        ]

    monkeypatch.setattr(GitHubApi, "artifacts", of_a_fork)
    assert "nothing new there" in Job(tmp_path, "b", 'keep = "artifact"', api).results("fetch")


@pytest.mark.parametrize(
    ("run", "says"),
    [
        ({"event": "pull_request"}, "nothing new there"),
        ({"path": ".github/workflows/compare.yml"}, "nothing new there"),
        (
            {
                "path": ".github/workflows/compare.yml",
                "jobs": [{"name": "Publish / Results", "conclusion": "success"}],
            },
            "1 file new here",
        ),
    ],
)
def test_only_what_publish_uploaded_counts_as_the_farms_results(tmp_path, api, run, says):
    one = Job(tmp_path, "a", 'keep = "artifact"', api)
    one.measure(1)
    one.results("push")
    one.upload(1)
    api.runs[0] |= run
    assert says in Job(tmp_path, "b", 'keep = "artifact"', api).results("fetch")


def test_the_names_of_the_jobs_that_publish_a_comparison_are_those_we_look_for() -> None:
    workflows = Path(__file__).parents[3] / ".github" / "workflows"
    caller = yaml.safe_load((workflows / "compare.yml").read_text())["jobs"]["publish"]
    called = yaml.safe_load((workflows / "publish.yml").read_text())["jobs"]["results"]
    assert f"{caller['name']} / {called['name']}" == "Publish / Results"


@pytest.mark.parametrize(
    ("keep", "says"),
    [
        ('keep = "cellar"', "instead of one of branch, artifact, directory"),
        ('keep = "directory"', "is not the full path"),
        ('keep = "directory"\ndirectory = "here"', "is not the full path"),
    ],
)
def test_where_nothing_can_be_kept_is_said(tmp_path, api, keep, says):
    assert says in Job(tmp_path, "a", keep, api).results("fetch", check=False)
