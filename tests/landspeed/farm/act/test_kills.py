"""track.yml, unmodified, under the real act, after bad luck: what is lost, what is done twice.

Killed is act with all that it has started: GitHub, the runners and what they run, at once. What
GitHub keeps (artifacts, caches) and the repositories stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.kits.farm.act_kit import needs_act
from tests.kits.farm.farmer_kit import Farmer, new_remote
from tests.kits.farm.github_api import Failure
from tests.kits.farm.track_kit import TIMES
from tests.kits.farm.track_world import (
    NOTHING_NEW,
    TRACK,
    TrackWorld,
    assert_fine,
    hook,
    pretended_farm,
    track_world,
    world,
)

__all__ = ["pretended_farm", "world"]  # fixtures
pytestmark = [needs_act, pytest.mark.slow]

COUNTED = ("warm", "cold")


def test_runners_killed_in_a_build_a_count_and_the_push_lose_nothing_and_nothing_counts_twice(
    world, tmp_path
):
    """On hosted runners, which keep nothing: what a job handed on is all that is left of it."""
    tracked = world.tracked
    world.commit(1)
    world.killed_at("build 2", lambda: kept(world, "caches/build-*") != [])
    assert world.deeds("count") == {}
    built, ready = world.deeds("build").total(), len(kept(world, "caches/build-*"))

    # of five commits a job counts four, the first one is left to another, which dies in it
    world.killed_at("count 0 ", lambda: kept(world, "artifacts/*/results-count-*") != [])
    # five and the client, but for those that were ready; several are made at once
    built += len(world.farm.commits) + 1 - ready
    assert world.deeds("build").total() == built
    assert len(world.deeds("count")) > 4 * len(COUNTED)
    assert tracked.git("branch") == ""

    unhook = hook(world, "pre-receive", f"touch {tmp_path}/pushing; sleep 900")
    tracked.killed((tmp_path / "pushing").exists)
    unhook()
    assert tracked.git("branch") == ""
    before = world.deeds("count")

    run = tracked.track()
    assert_fine(run)
    assert "recovered from failed runs" in run.log("plan")
    assert run.jobs == dict.fromkeys(
        ("plan", "publish/results", "publish/site", "publish/deploy", "report"), "success"
    )
    idle = tracked.track()
    assert_fine(idle)
    assert idle.jobs == NOTHING_NEW
    assert "nothing to recover" in idle.log("plan")

    assert tracked.records(("commit", "buffers")) == {
        (commit, buffers): 1 for commit in world.farm.commits for buffers in COUNTED
    }
    # what the one job had done whose machine died is gone with it, and made again; nothing else
    assert world.deeds("count") == before
    assert twice(world, "count") <= {f"count 0 read-only {buffers}" for buffers in COUNTED}
    assert world.deeds("build").total() == built


def kept(world: TrackWorld, pattern: str) -> list[Path]:
    """What GitHub keeps of jobs: artifacts and caches."""
    return list(world.tracked.hub.stubs.glob(pattern))


def twice(world: TrackWorld, kind: str) -> set[str]:
    """What was done more than once."""
    return {deed for deed, times in world.deeds(kind).items() if times > 1}


@pytest.fixture
def bench(tmp_path: Path, pretended_farm: list[str]) -> Iterator[TrackWorld]:
    """A farm with three commits and a machine that takes the time and keeps its results."""
    track = f'{TRACK}\nmachines = ["bench-1"]'
    with track_world(tmp_path, pretended_farm, track) as made:
        made.commit(3)
        made.be(homes={"bench-1": str(tmp_path / "kept")})
        yield made


def test_a_machine_that_is_killed_while_it_takes_the_time_goes_on_and_makes_no_run_again(bench):
    tracked = bench.tracked
    counting = tracked.track()
    assert_fine(counting)
    assert "publish/site" in counting.jobs
    assert "time" not in counting.jobs
    tracked.schedule = TIMES
    bench.killed_at("time 1 read-only c4 2")
    before = bench.deeds("time")
    assert len(before) > 9  # in the second round

    run = tracked.track()
    assert_fine(run)
    assert "count" not in run.jobs
    (timed,) = (cell for cell in run.cells if cell.job == "time")
    assert timed.matrix["machine"] == "bench-1"
    assert timed.matrix["labels"] == ["self-hosted", "landspeed-bench", "bench-1"]
    steps = ("Register the builds", "Time", "Pack new results", "Upload new results")
    assert {name: run.steps("time").get(name) for name in steps} == dict.fromkeys(steps, "success")
    assert (tracked.site / "graphs").is_dir()

    ladder = (1, 4, 16)
    assert bench.deeds("time") == {
        f"time {number} read-only c{clients} {sample}": 1
        + (f"{number} c{clients} {sample}" == "1 c4 2")
        for number in range(3)
        for clients in ladder
        for sample in (1, 2, 3)
    }
    records = tracked.records(("commit", "machine", "clients", "buffers"))
    assert records == {
        **{(c, "bench-1", n, None): 3 for c in bench.farm.commits for n in ladder},
        **{(c, "counter", 1, b): 1 for c in bench.farm.commits for b in COUNTED},
    }
    again = tracked.track()
    assert_fine(again)
    assert again.jobs == NOTHING_NEW


def test_a_program_that_is_killed_is_one_job_that_fails_and_all_else_goes_on(world):
    world.be(costs={"2": 1.01}, kill="build 2")
    first = world.tracked.track()
    assert [job for job, result in first.jobs.items() if result != "success"] == ["build"]
    # who counts and who puts to the test make it for themselves
    assert world.deeds("build")["build 2"] == 3
    (issue,) = world.tracked.api.issues

    world.commit(2)
    world.be(kill="count 4 ")
    second = world.tracked.track()
    assert second.jobs["count"] == "failure"
    # what it had counted until then is handed on
    assert second.jobs["publish/results"] == "success"

    third = world.tracked.track()
    assert_fine(third)
    assert world.tracked.track().jobs == NOTHING_NEW
    assert world.tracked.api.issues == [issue]
    records = world.tracked.records(("commit", "buffers"))
    assert {(c, b) for c in world.farm.commits for b in COUNTED} == set(records)
    # the bisection counts its two ends for itself, and the confirmation warm, cold or both
    assert set(records.values()) <= {1, 2, 3}
    assert sum(records.values()) - len(records) in (4, 6)


def test_two_runs_at_once_both_end_well_and_keep_what_both_found_in_one_issue(world):
    world.be(costs={"2": 1.01})
    with ThreadPoolExecutor() as pool:
        runs = list(pool.map(lambda _: world.tracked.track(), range(2)))
    for run in runs:
        assert_fine(run)
    # both counted, and the branch has what each did; nobody forced anything
    counted = world.deeds("count")
    assert set(world.tracked.records(("commit", "buffers"))) == {
        (commit, buffers) for commit in world.farm.commits for buffers in COUNTED
    }
    assert sum(world.tracked.records(("commit",)).values()) == sum(counted.values())
    commits = world.tracked.git("log", "--format=%h %p", "results").splitlines()
    assert sorted(len(one.split()) for one in commits) == [1, 2]
    after = world.tracked.track()
    assert_fine(after)
    assert after.jobs == NOTHING_NEW
    issue, *doubles = world.tracked.api.issues
    assert issue["state"] == "open"
    assert world.farm.commits[2][:10] in issue["title"]
    assert [one["state"] for one in doubles] == ["closed"] * len(doubles)


def test_what_the_api_refuses_the_next_run_does_and_a_branch_that_moved_has_both(world, tmp_path):
    tracked, api = world.tracked, world.tracked.api
    other = Farmer(tmp_path, new_remote(tmp_path), "elsewhere")
    other.measure(3)
    other.branch.push()
    theirs = other.branch.remote.url
    moved = f"""[ -e {tmp_path}/moved ] && exit
touch {tmp_path}/moved
unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_DIR
exec git --git-dir={tracked.origin} fetch --quiet {theirs} results:results"""
    hook(world, "pre-receive", moved)

    world.be(costs={"2": 1.01})
    api.failures = [Failure(500, where="/issues")] * 5
    run = tracked.track()
    assert [job for job, result in run.jobs.items() if result != "success"] == ["report"]
    assert "failed after 5 attempts" in run.log("report")
    assert "another machine pushed results first" in run.log("publish/results")
    assert {machine for (machine,) in tracked.records(("machine",))} == {"counter", "elsewhere"}
    records = tracked.records(("machine", "commit", "buffers"))

    limit = {"x-ratelimit-remaining": "0", "retry-after": "7200"}
    for failure, says in (
        (Failure(403, message="Resource not accessible", where="/issues"), "issues: write"),
        (Failure(403, headers=limit, where="/issues"), "asks us to wait for"),
    ):
        api.failures = [failure]
        run = tracked.track()
        assert run.jobs == {"plan": "success", "report": "failure"}
        assert says in run.log("report")
    # of what may be lost nothing is known: nothing is measured that may be there
    api.failures = [Failure(500, where="/actions/")] * 5
    assert tracked.track().jobs == {"plan": "failure"}
    assert api.issues == []

    # a short limit is waited for, and an answer that was lost is looked for
    api.failures = [
        Failure(429, headers={"retry-after": "7"}, where="/issues"),
        Failure(502, where="labels", done=False),
    ]
    run = tracked.track()
    assert_fine(run)
    assert "waiting for 7 s" in run.log("report")
    (issue,) = api.issues
    assert issue["state"] == "open"
    assert api.writes() == ["POST /repos/example/landspeed/issues"]
    # the results are what they were after the first run
    assert tracked.records(("machine", "commit", "buffers")) == records
