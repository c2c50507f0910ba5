"""What GitHub really does, each with the page that says so, and what the workflows do about it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from landspeed.farm.plan import MeasureKind
from tests.project.test_workflows import ACTIONS, FILES, WORKFLOWS, jobs, steps, workflow


@pytest.mark.parametrize("name", ["atlas.yml", "bisect.yml", "compare.yml", "track.yml"])
def test_a_question_is_cancelled_by_no_other_question(name):
    # A group holds one run that waits, and a third cancels it; names of groups ignore case.
    # https://docs.github.com/actions/how-tos/write-workflows/choose-when-workflows-run/control-workflow-concurrency
    given = workflow(WORKFLOWS / name)
    group = given["concurrency"]["group"]
    asked = dict.fromkeys(re.findall(r"inputs\.(\w+)", group))
    assert list(asked) == list(given["on"]["workflow_dispatch"]["inputs"])
    # with "max" all wait; hourly runs do not, so a dispatch with inputs is alone in its group
    assert given["concurrency"].get("queue") == "max" or "github.run_id" in group


def test_counts_wait_for_no_machine_that_takes_the_time():
    # A job waits for a runner until GitHub ends it after a day, and what needs it waits, too.
    # https://docs.github.com/actions/reference/limits
    given = workflow(WORKFLOWS / "track.yml")
    counts, times = (one["cron"] for one in given["on"]["schedule"])
    kind = f"github.event.schedule == '{times}' && 'times' || inputs.measure || 'counts'"
    assert counts != times
    assert kind in given["concurrency"]["group"]
    (plan,) = (one for one in given["jobs"]["plan"]["steps"] if one.get("id") == "new")
    assert kind in plan["env"]["LANDSPEED_FARM_PLAN_MEASURE"]
    options = given["on"]["workflow_dispatch"]["inputs"]["measure"]["options"]
    assert options == [kind.value for kind in MeasureKind]


def minutes(of: dict[str, Any]) -> int:
    """The timeout of a job or step where it runs on a machine of GitHub's."""
    text = str(of["timeout-minutes"])
    bench = (
        r"\$\{\{ contains\(needs\.check\.outputs\.runner, 'self-hosted'\) && \d+ \|\| (\d+) \}\}"
    )
    return int(found[1] if (found := re.fullmatch(bench, text)) else text)


def test_what_may_run_on_githubs_machines_ends_and_packs_before_github_ends_it():
    # https://docs.github.com/actions/reference/limits: six hours, whatever timeout-minutes says.
    for name, job in jobs():
        if "uses" in job or name == "track.yml:time":  # on machines of ours only
            continue
        assert minutes(job) <= 330, name
        found = [step.get("name") for step in job["steps"]]
        if "Pack new results" in found and "Build" not in found:
            measuring = [step for step in job["steps"] if "timeout-minutes" in step]
            assert [minutes(step) for step in measuring] == [300], name
            assert found.index(measuring[0]["name"]) == found.index("Pack new results") - 1
    (confirm,) = (s for _, s in steps() if "--confirm" in s.get("run", ""))
    assert confirm["env"]["LANDSPEED_CHANGES_TOTAL"] == "4h"


def test_a_job_has_no_more_of_the_caches_than_it_uses():
    # The cache service enforces it, whatever measured code does with the token of its job.
    # https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax#cache-mode
    writers = set()
    for path in FILES:
        assert workflow(path)["cache-mode"] == "none", path
        for name, job in workflow(path)["jobs"].items():
            used = [step.get("uses", "") for step in job.get("steps", ())]
            saves = any("cache/save@" in one for one in used)
            restores = any("cache/restore@" in one for one in used) or any(
                step.get("with", {}).get("sources") == "true" for step in job.get("steps", ())
            )
            mode = "write" if saves or "uses" in job else "read" if restores else "none"
            assert job.get("cache-mode", "none") == mode, f"{path.name}:{name}"
            writers |= {f"{path.name}:{name}"} if saves else set()
    assert writers == {"track.yml:plan", "track.yml:build", "publish.yml:site"}


def test_an_action_is_at_a_major_that_runs_on_a_node_that_runners_have():
    # https://github.blog/changelog/2025-09-19-deprecation-of-node-20-on-github-actions-runners
    first = {"checkout": 5, "cache": 5, "upload-artifact": 6, "download-artifact": 7}
    first |= {"deploy-pages": 5, "upload-pages-artifact": 5}
    text = "".join(path.read_text() for path in [*FILES, *ACTIONS])
    found = set(re.findall(r"uses: actions/([\w-]+)(?:/\w+)?@\w+ # v(\d+)", text))
    assert {name for name, _ in found} == set(first)
    assert {name: major for name, major in found if int(major) < first[name]} == {}


def test_the_token_of_a_run_is_not_taken_for_one_of_another_repository():
    # https://docs.github.com/actions/concepts/security/github_token
    (push,) = (step for _, step in steps() if "results push" in step.get("run", ""))
    assert push["env"]["LANDSPEED_RESULTS_KEY"] == "${{ secrets.LANDSPEED_RESULTS_KEY }}"
    callers = [job for _, job in jobs() if "uses" in job]
    names = ["LANDSPEED_RESULTS_KEY", "LANDSPEED_MACHINE_KEYS"]
    assert [list(job["secrets"]) for job in callers] == [names] * 4


def test_the_keys_of_machines_reach_the_steps_that_tell_who_measured_and_no_others():
    # A job that builds or measures could sign what it likes with them.
    keys = "${{ secrets.LANDSPEED_MACHINE_KEYS }}"
    found = {
        step["run"].split("landspeed ")[1].split(" -")[0]
        for _, step in steps()
        if keys in step.get("env", {}).values()
    }
    assert found == {"farm results recover", "farm results unpack", "publish"}
    assert all(keys not in str(job.get("env")) for _, job in jobs())


def test_a_job_of_the_farm_hands_in_only_what_the_plan_assigned_to_it():
    for name, step in (("track.yml", "new"), ("atlas.yml", "plan")):
        jobs_of = workflow(WORKFLOWS / name)["jobs"]
        assigned = f"${{{{ steps.{step}.outputs.assigned }}}}"
        assert jobs_of["plan"]["outputs"]["assigned"] == assigned
        assert jobs_of["publish"]["with"] == {"assigned": "${{ needs.plan.outputs.assigned }}"}
    (unpack,) = (
        step
        for step in workflow(WORKFLOWS / "publish.yml")["jobs"]["results"]["steps"]
        if "results unpack" in step.get("run", "")
    )
    # what a job was asked for reaches no shell as code
    assert unpack["env"]["ASSIGNED"] == "${{ inputs.assigned }}"
    assert '--assigned "$ASSIGNED"' in unpack["run"]
