"""What is new: asked upstream, planned within a budget, told to the workflow."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from base.build import Origin
from base.errors import LandspeedError, UsageError
from benchmarks.records.record import Record
from landspeed.changepoints.scan import scan_records
from landspeed.farm import plan
from landspeed.farm.jobs import track_outputs
from landspeed.results.queue import Queue
from landspeed.session.session import Session
from landspeed.session.tracking_config import TrackingConfig
from tests.kits.farm.farm_kit import MACHINE, Farm
from tests.kits.made_up.synthetic import Point, record

pytestmark = pytest.mark.slow


@pytest.fixture
def farm(tmp_path: Path) -> Farm:
    return Farm.make(tmp_path)


def new(farm: Farm, *arguments: str, **environment: str) -> dict[str, Any]:
    return json.loads(farm.landspeed("farm", "plan", "--json", *arguments, **environment).stdout)


def refs(farm: Farm, *arguments: str, **environment: str) -> list[int]:
    """The positions on master of what is planned, in its order."""
    found = new(farm, *arguments, **environment)["refs"]
    return [farm.commits.index(ref) for ref in found]


def test_of_a_branch_nobody_knows_the_tip_comes_first_then_the_middle(farm):
    assert refs(farm) == [3, 1, 2, 0]


def test_what_is_counted_is_not_planned_again_and_nothing_new_is_said(farm):
    farm.count(farm.commits)
    done = farm.landspeed("farm", "plan", "--json")
    told = json.loads(done.stdout)
    assert (told["counts_count"], told["builds_count"], told["confirms_count"]) == (0, 0, 0)
    assert told["builds"] == told["counts"] == []
    assert "nothing new: everything tracked is measured" in done.stderr


def test_a_new_commit_comes_before_old_gaps(farm):
    farm.count([farm.commits[0], farm.commits[2]])
    farm.commit("newer")
    farm.commit("newest")
    assert refs(farm) == [5, 4, 3, 1]


def test_half_a_count_is_no_count(farm):
    farm.count(farm.commits[:3])
    farm.count(farm.commits[3:], modes=["read-only"])
    assert refs(farm) == [3]
    assert refs(farm, LANDSPEED_TRACK_MODES="read-only") == []


def test_what_another_machine_counted_is_not_ours(farm):
    farm.count(farm.commits, machine="somebody")
    assert len(refs(farm)) == 4


def test_a_twin_of_what_is_counted_is_skipped(farm):
    farm.count(farm.commits[:3])
    known = farm.records.table(["digest", "commit"]).to_pylist()
    digest = next(row["digest"] for row in known if row["commit"] == farm.commits[2])
    origin = Origin(release=None, commit=farm.commits[3], tree="t", date="2026-01-01")
    farm.records.identical_builds.add({"digest": digest, "origin": vars(origin)})
    assert refs(farm) == []


def test_what_failed_to_build_twice_is_passed_over_and_said(farm):
    farm.count(farm.commits[:3])
    origin = Origin(release=None, commit=farm.commits[3], tree="t", date="2026-01-01")
    for time in ("1", "2"):
        assert refs(farm) == [3]
        note = {"origin": vars(origin), "variant": "bs8", "time": time, "message": "no"}
        farm.records.failures.add(note)
    done = farm.landspeed("farm", "plan", "--json")
    assert json.loads(done.stdout)["refs"] == []
    assert "1 skipped: they do not build" in done.stderr


def test_the_budget_cuts_and_what_is_left_comes_later(farm):
    done = farm.landspeed("farm", "plan", "--json", "--budget", "12min")
    assert [farm.commits.index(ref) for ref in json.loads(done.stdout)["refs"]] == [3, 1]
    assert "2 to measure on counter in about 12 min" in done.stderr
    assert "2 later" in done.stderr


@pytest.mark.parametrize("budget", ["0", "1s"])
def test_a_budget_that_is_too_small_for_anything_does_one(farm, budget):
    assert refs(farm, "--budget", budget) == [3]


def test_what_records_say_it_costs_is_what_the_budget_goes_by(farm):
    farm.count(farm.commits[:1])
    assert len(refs(farm, "--budget", "1min")) == 3


def test_outputs_are_appended_where_the_workflow_asks_with_a_row_for_each_build(farm, tmp_path):
    output, summary = tmp_path / "output", tmp_path / "summary"
    farm.landspeed("farm", "plan", GITHUB_OUTPUT=str(output), GITHUB_STEP_SUMMARY=str(summary))
    lines = output.read_text().splitlines()
    told = {line.split("<<")[0]: lines[at + 1] for at, line in enumerate(lines) if "<<" in line}
    builds = json.loads(told["builds"])
    assert told["builds_count"] == "5"
    assert builds[0]["target"].endswith(":bs8")
    assert builds[0]["identifier"].startswith("18.")
    assert builds[1]["target"] == f"{farm.commits[3]}:bs8"
    assert builds[1]["identifier"].startswith("19devel-bs8-")
    (count,) = json.loads(told["counts"])
    assert count["targets"].split() == [row["target"] for row in builds[1:]]
    assert json.loads(told["assigned"])[f"results-count-{count['name']}"]["refs"] == sorted(
        target.partition(":")[0] for target in count["targets"].split()
    )
    assert json.loads(told["confirms"]) == [{"labels": ["ubuntu-24.04"], "machine": MACHINE}]
    assert "`Change 3`" in summary.read_text()


def test_what_is_left_to_measure_is_noted_for_the_status_page_if_asked(farm):
    assert new(farm)["waiting"] == MACHINE
    store = farm.records.queues
    assert store.read(Queue) == []
    new(farm, "--note", "--budget", "1s", "--measure", "times")
    (queue,) = store.read(Queue)
    assert (queue.machine, queue.due) == (MACHINE, 4)
    assert queue.targets == (f"{farm.commits[3]}:bs8",)


def test_hostile_names_and_subjects_reach_no_command_and_no_markup(farm, tmp_path):
    farm.upstream.git("checkout", "--quiet", "-b", "$(touch${IFS}pwned)`id`'\"<b>")
    farm.commit("x\n::set-output name=count::99\n")
    farm.commit("| `` @everyone <script>alert(1)</script> $(touch pwned)")
    branch = farm.upstream.git("rev-parse", "--abbrev-ref", "HEAD")
    output, summary = tmp_path / "output", tmp_path / "summary"
    shown = farm.landspeed(
        *("farm", "plan", "--branch", "*"),
        **{"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)},
        GITHUB_ACTIONS="true",
    )
    text = output.read_text()
    assert branch not in text
    assert "$(" not in text
    assert "set-output" not in text
    assert "```\\| `` @everyone <script>alert(1)</script> $(touch pwned)```" in summary.read_text()
    assert not any(line.lstrip().startswith("::") for line in shown.stdout.splitlines())
    assert not list(tmp_path.rglob("pwned"))


def test_releases_are_watched_by_major_the_newest_of_each_first(farm):
    farm.upstream.git("tag", "REL_17_0", farm.commits[0])
    farm.upstream.git("tag", "REL_17_1", farm.commits[1])
    farm.upstream.git("tag", "REL9_6_1", farm.commits[1])
    farm.upstream.git("tag", "REL_17_BETA1", farm.commits[1])
    farm.count(farm.commits)
    found = new(farm, LANDSPEED_TRACK_RELEASES="17")["refs"]
    assert set(found) >= {"17.0", "17.1"}
    assert found.index("17.1") < found.index("17.0")
    assert not any(ref.startswith("9.6") for ref in found)


def test_machines_that_take_the_time_have_a_share_of_their_own(farm):
    farm.count(farm.commits)
    told = new(farm, LANDSPEED_TRACK_MACHINES="one two", LANDSPEED_TRACK_BUDGET="5min")
    assert told["counts_count"] == 0
    assert [row["machine"] for row in told["timings"]] == ["one", "two"]
    assert told["timings"][0]["labels"] == ["self-hosted", "landspeed-bench", "one"]
    assert [row["machine"] for row in told["confirms"]] == ["one", "two"]
    assert told["builds_count"] == 1 + len(told["refs"])


def test_a_run_that_counts_waits_for_no_machine_that_times_and_the_other_way_round(farm):
    machines = {"LANDSPEED_TRACK_MACHINES": "one", "LANDSPEED_TRACK_BUDGET": "5min"}
    counts = new(farm, "--measure", "counts", **machines)
    assert (counts["timings"], bool(counts["counts"])) == ([], True)
    assert [row["machine"] for row in counts["confirms"]] == ["counter"]
    times = new(farm, "--measure", "times", **machines)
    assert (times["counts"], bool(times["timings"])) == ([], True)
    assert [row["machine"] for row in times["confirms"]] == ["one"]
    assert times["builds_count"] == 1 + len(times["refs"])


def test_a_job_that_counts_gets_no_more_than_fits_into_githubs_six_hours(farm, monkeypatch):
    assert [len(row["targets"].split()) for row in new(farm)["counts"]] == [4]
    farm.count(farm.commits[:1], seconds=3600.0)
    targets = [row["targets"].split() for row in new(farm, "--budget", "200h")["counts"]]
    assert max(map(len, targets)) < 3


def test_a_machine_that_is_named_twice_is_one_job(farm):
    told = new(farm, LANDSPEED_TRACK_MACHINES="one one")
    assert [row["machine"] for row in told["timings"]] == ["one"]
    assert [row["machine"] for row in told["confirms"]] == ["counter", "one"]


def test_no_matrix_has_more_jobs_than_github_takes(farm, monkeypatch):
    monkeypatch.setattr(plan, "MOST_JOBS", 3)
    monkeypatch.chdir(farm.project)
    for name, value in farm.environment().items():
        monkeypatch.setenv(name, value)
    session = Session()
    track = TrackingConfig(machines=("one",), budget="200h")
    session.builder.sources.refresh()
    made = plan.tracking_plan(session, track, scan_records(session))
    # the client is built too
    assert [len(one.targets) for one in made.assignments] == [2, 2]
    assert [one.due for one in made.assignments] == [4, 4]
    assert len(track_outputs(session, track, made)["builds"]) == 3


def timed(
    farm: Farm, commit: str, samples: int, machine: str, *, day: int = 2, **more: Any
) -> None:
    for clients in (1, 4, 16):
        for number in range(samples):
            cell = {"clients": clients, "seconds": 2, **more}
            point = Point(release=None, commit=commit, machine=machine, **cell)
            at = datetime(2026, 1, day, tzinfo=UTC) + timedelta(minutes=number)
            made = record(point, number=number, at=at)
            farm.records.add(Record.from_json(made | {"run": made["run"] | {"preset": "quick"}}))


def test_what_was_timed_in_every_cell_that_the_machine_has_is_not_due(farm):
    farm.count(farm.commits)
    for commit in farm.commits[:3]:
        timed(farm, commit, 3, "one")
    timed(farm, farm.commits[3], 2, "one")
    told = new(farm, LANDSPEED_TRACK_MACHINES="one")
    assert [row["targets"] for row in told["timings"]] == [f"{farm.commits[3]}:bs8"]


@pytest.mark.parametrize("more", [{"clients": 8}, {"protocol": "simple"}, {"scale": 100}])
def test_a_run_by_hand_of_other_cells_makes_nothing_due_again(farm, more):
    farm.count(farm.commits)
    for commit in farm.commits[:3]:
        timed(farm, commit, 3, "one")
    timed(farm, farm.commits[0], 2, "one", day=1, **more)
    told = new(farm, LANDSPEED_TRACK_MACHINES="one")
    assert [row["targets"] for row in told["timings"]] == [f"{farm.commits[3]}:bs8"]


def test_a_new_scale_of_a_tier_is_what_is_measured_from_then_on(farm):
    farm.count(farm.commits)
    for commit in farm.commits:
        timed(farm, commit, 3, "one", day=1)
    timed(farm, farm.commits[3], 3, "one", scale=100)
    told = new(farm, LANDSPEED_TRACK_MACHINES="one")
    assert farm.commits[3] not in str(told["timings"])
    assert farm.commits[0] in str(told["timings"])


def test_steps_that_nobody_put_to_the_test_are_told_of_even_with_nothing_new(farm):
    farm.count(farm.commits[:2], 40_000.0)
    farm.count(farm.commits[2:], 41_000.0)
    done = farm.landspeed("farm", "plan", "--json")
    told = json.loads(done.stdout)
    assert told["counts_count"] == 0
    assert [row["machine"] for row in told["confirms"]] == [MACHINE]
    assert "changepoints to confirm on counter" in done.stderr


def test_a_branch_that_is_not_there_is_one_clear_error(farm):
    done = farm.landspeed("farm", "plan", "--branch", "nowhere", check=False)
    assert done.returncode == 3
    assert "no branch upstream is tracked" in done.stderr
    assert "such as line" in done.stderr or "such as master" in done.stderr


def test_without_an_upstream_nothing_can_be_new(farm):
    (farm.project / "landspeed.toml").write_text("")
    done = farm.landspeed("farm", "plan", check=False)
    assert done.returncode == 5
    assert "no git upstream is configured" in done.stderr


def test_an_upstream_that_cannot_be_reached_ends_it_and_plans_nothing(farm, tmp_path):
    farm.upstream.directory.rename(tmp_path / "away")
    output = tmp_path / "output"
    done = farm.landspeed("farm", "plan", check=False, GITHUB_OUTPUT=str(output))
    assert done.returncode == 5
    assert not output.exists()


# --- what is tracked ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('branch = ["master"]', "unknown key branch"),
        ("depth = 0", "depth must be at least 1"),
        ('depth = "many"', "depth cannot be"),
        ('preset = "slow"', "does not exist"),
        ('variants = ["bs3"]', "invalid block size"),
        ('modes = ["write-only"]', "write-only"),
        ('budget = "much"', "is not a duration"),
        ('releases = "x"', "is not a PostgreSQL version"),
        ('machines = ["a b"]', '"a b" is not the name'),
        ('machines = ["$(id)"]', "is not the name"),
    ],
)
def test_what_cannot_be_tracked_is_refused(text, said, tmp_path):
    path = tmp_path / "landspeed.toml"
    path.write_text(f"[track]\n{text}\n")
    with pytest.raises(LandspeedError) as caught:
        TrackingConfig.load(path)
    assert said in str(caught.value)


def test_the_environment_outranks_the_file_and_an_empty_variable_says_nothing(
    tmp_path, monkeypatch
):
    path = tmp_path / "landspeed.toml"
    path.write_text('[track]\nbranches = ["master"]\ndepth = 5\n')
    monkeypatch.setenv("LANDSPEED_TRACK_BRANCHES", "master REL_*_STABLE")
    monkeypatch.setenv("LANDSPEED_TRACK_DEPTH", "")
    found = TrackingConfig.load(path)
    assert found.branches == ("master", "REL_*_STABLE")
    assert found.depth == 5
    assert TrackingConfig.load(tmp_path / "nowhere.toml").depth == 200
    monkeypatch.setenv("LANDSPEED_TRACK_DEPTH", "x")
    with pytest.raises(UsageError):
        TrackingConfig.load(path)
