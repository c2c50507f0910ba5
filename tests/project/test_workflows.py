"""Check by reading that the workflows are safe, and run two linters over them.

A step is one command; landspeed decides everything else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.workloads.catalog import SUITES
from benchmarks.workloads.metrics import METRICS
from landspeed.bisect.commit_range import RangeKind
from landspeed.farm.matrix import MOST_JOBS
from landspeed.farm.runners import _LABELS
from tests.kits.farm.act_kit import WORKFLOWS, third_party
from tests.kits.verbs import every_command, every_verb

PROJECT = Path(__file__).resolve().parents[2]
FILES = sorted(WORKFLOWS.glob("*.yml"))
IN_A_FORK = PROJECT / "action.yml"
ACTIONS = [IN_A_FORK, *sorted(WORKFLOWS.parent.glob("actions/*/action.yml"))]
SETUP = "./.github/actions/setup"
HOSTED = re.compile(r"ubuntu-\d\d\.\d\d")
# A hosted machine, unless the farm's owner keeps its results on a machine of theirs.
WHERE_RESULTS_ARE = "${{ vars.LANDSPEED_RESULTS_LABEL || 'ubuntu-24.04' }}"
ALLOWED_RIGHTS = {
    "actions": {"read", "write"},
    "contents": {"read", "write"},
    "issues": {"write"},
    "pages": {"write"},
    "id-token": {"write"},
}
FROM_OUTSIDE = ("pull_request", "pull_request_target", "workflow_run", "issue_comment", "issues")


@cache
def workflow(path: Path) -> dict[str, Any]:
    """The workflow at *path*; its key ``on``, which YAML takes for true, is ``on``."""
    found = yaml.safe_load(path.read_text())
    return {("on" if key is True else key): value for key, value in found.items()}


def triggers(path: Path) -> set[str]:
    on = workflow(path)["on"]
    return {on} if isinstance(on, str) else set(on)


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in FILES:
        for name, job in workflow(path)["jobs"].items():
            yield f"{path.name}:{name}", job


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the steps of all jobs and of all local actions."""
    for path in ACTIONS:
        for step in workflow(path)["runs"]["steps"]:
            yield f"{path.parent.name}:{step['name']}", step
    for name, job in jobs():
        for number, step in enumerate(job.get("steps", ())):
            yield f"{name}:{step.get('name', number)}", step


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


def is_hosted(job: dict[str, Any]) -> bool:
    """Return whether a job runs on GitHub's machines only; an expression can mean any machine."""
    labels = job.get("runs-on")
    hosted = isinstance(labels, str) and HOSTED.fullmatch(labels) is not None
    return hosted or labels == WHERE_RESULTS_ARE


def test_there_are_the_workflows_that_the_documentation_tells_of():
    told = {"ci.yml", "atlas.yml", "bisect.yml", "compare.yml", "publish.yml", "track.yml"}
    assert {path.name for path in FILES} >= told


@pytest.mark.parametrize("path", [*FILES, *ACTIONS], ids=lambda path: path.name)
def test_every_action_is_pinned_to_a_full_sha_with_its_version_beside_it(path):
    lines = [line for line in path.read_text().splitlines() if re.match(r"\s*(- )?uses:", line)]
    remote = [line for line in lines if "uses: ./" not in line]
    pinned = re.compile(r"\s*(- )?uses: [\w.-]+(/[\w.-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [line for line in remote if not pinned.fullmatch(line)] == []


def test_one_action_has_one_version_everywhere():
    refs: dict[str, set[str]] = {}
    for action, ref in [*third_party(PROJECT / ".github"), *third_party(IN_A_FORK)]:
        refs.setdefault(action, set()).add(ref)
    assert {action: found for action, found in refs.items() if len(found) > 1} == {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_is_permitted_but_to_a_job_and_then_the_least(path):
    assert workflow(path)["permissions"] == {}
    for name, job in workflow(path)["jobs"].items():
        rights = job.get("permissions")
        assert isinstance(rights, dict), f"{name} names no permissions"
        assert {key for key, v in rights.items() if v not in ALLOWED_RIGHTS[key]} == set()


def test_a_job_on_a_machine_of_ours_may_only_read():
    held = {
        name: job["permissions"]
        for name, job in jobs()
        if not is_hosted(job) and "uses" not in job and set(job["permissions"].values()) != {"read"}
    }
    assert held == {}
    # those that may write are with the results, on GitHub's machines by default
    assert {name for name, job in jobs() if job.get("runs-on") == WHERE_RESULTS_ARE} == {
        "track.yml:plan",
        "track.yml:report",
        "publish.yml:results",
        "publish.yml:site",
    }


def test_what_may_write_to_the_repository_unpacks_nothing_that_another_job_can_leave_in_a_cache():
    writers = {
        name: job
        for name, job in jobs()
        if "steps" in job and job["permissions"].get("contents") == "write"
    }
    assert set(writers) == {"publish.yml:results"}
    for step in (step for job in writers.values() for step in job["steps"]):
        assert "cache" not in step.get("uses", "")
        assert step.get("with", {}).get("sources", "false") == "false"
    inputs = workflow(WORKFLOWS.parent / "actions/setup/action.yml")["inputs"]
    assert inputs["sources"]["default"] == "false"
    cached = [step for _, step in steps() if step.get("name") == "Restore the sources"]
    assert [step["if"] for step in cached] == ["inputs.sources == 'true'"]


def test_every_job_sets_up_by_the_one_local_action_before_anything_measured_can_change_it():
    for name, job in jobs():
        uses = [step.get("uses", "") for step in job.get("steps", ())]
        local = [number for number, used in enumerate(uses) if used.startswith("./")]
        assert local in ([], [1]), name
        assert [uses[number] for number in local] in ([], [SETUP]), name
        assert not local or uses[0].startswith("actions/checkout@"), name
    run = [step["run"] for _, step in steps() if "run" in step]
    # of a job's action, and of the one for forks
    assert [one for one in run if "tools/setup" in one] == ['tools/setup "$OPTION"'] * 2


def test_a_checkout_leaves_no_token_behind():
    checkouts = [(name, step) for name, step in steps() if "checkout@" in step.get("uses", "")]
    assert checkouts
    left = [name for name, s in checkouts if s.get("with", {}).get("persist-credentials", True)]
    assert left == []
    # and what is checked out is what the workflow file itself came from
    assert [n for n, s in checkouts if {"ref", "repository"} & set(s.get("with", {}))] == []


def test_a_token_is_given_to_single_steps_of_ours_only():
    wide = [
        name
        for name, job in jobs()
        for text in strings(job.get("env", {}))
        if "token" in text or "secrets." in text
    ]
    assert wide == []
    for name, step in steps():
        if any("token" in text or "secrets." in text for text in strings(step)):
            ours = re.match(
                r"\.venv/bin/landspeed (publish|farm (results|issues|plan))\b", step.get("run", "")
            )
            assert ours, name


def test_no_expression_is_in_what_a_shell_runs():
    assert [name for name, step in steps() if "${{" in step.get("run", "")] == []
    assert [name for name, step in steps() if "github-script" in step.get("uses", "")] == []


def test_what_a_dispatch_gives_is_only_in_the_environment_and_quoted_in_the_shell():
    for path in FILES:
        given = workflow(path)
        for name, job in given["jobs"].items():
            for step in job.get("steps", ()):
                with_ = {k: v for k, v in step.items() if k != "env"}
                assert "inputs." not in "".join(strings(with_)), f"{path.name}:{name}"
    for name, step in steps():
        for word in re.findall(r".?\$\{?\w+\}?.?", step.get("run", "")):
            assert re.fullmatch(r'"\$[A-Z_]+"', word), f"{name}: {word}"


def test_a_step_is_one_command_of_at_most_three_lines():
    for name, step in steps():
        run = step.get("run", "")
        assert run.count("\n") < 3, name
        assert not re.search(r"&&|\|\||;|\||`|\$\(|^\s*(if|for|while)\b", run), name


def test_no_event_from_outside_reaches_a_machine_of_ours():
    for path in FILES:
        if triggers(path) & set(FROM_OUTSIDE) and path.name != "request.yml":
            assert triggers(path) <= {"pull_request", "push"}, path.name
            for name, job in workflow(path)["jobs"].items():
                assert is_hosted(job), f"{path.name}:{name}"
                assert set(job["permissions"].values()) <= {"read"}, f"{path.name}:{name}"


def test_a_comment_starts_one_job_for_those_who_may_write_and_no_shell_sees_its_text():
    (path,) = [path for path in FILES if triggers(path) & {"issue_comment", "issues"}]
    assert path.name == "request.yml"
    assert triggers(path) == {"issue_comment"}
    ((_, job),) = workflow(path)["jobs"].items()
    assert is_hosted(job)
    assert job["permissions"] == {"contents": "read", "issues": "write", "actions": "write"}
    assert "author_association" in job["if"]
    assert "github.event" not in str(job["steps"])
    assert [step["run"] for step in job["steps"] if "run" in step] == [
        '.venv/bin/landspeed farm issues --request "$GITHUB_EVENT_PATH"'
    ]
    # no other job may start workflows
    writers = {name for name, job in jobs() if job["permissions"].get("actions") == "write"}
    assert writers == {"request.yml:start"}


def test_what_a_patch_of_anybody_leaves_reaches_no_results_branch():
    publish = workflow(WORKFLOWS / "compare.yml")["jobs"]["publish"]
    assert "needs.check.outputs.listed == 'true'" in publish["if"]


def test_what_comes_by_a_pull_request_is_given_no_secret():
    for path in FILES:
        if "pull_request" in triggers(path):
            assert "secrets" not in path.read_text()
            assert "token" not in path.read_text()


def test_the_action_for_forks_needs_no_secret_and_saves_a_cache_before_the_branchs_code_runs():
    text = IN_A_FORK.read_text()
    assert "secrets" not in text
    assert "token" not in text.partition("runs:")[2]
    names = [step["name"] for step in workflow(IN_A_FORK)["runs"]["steps"]]
    assert names.index("Save the base's counts") < names.index("Compare")
    for step in workflow(IN_A_FORK)["runs"]["steps"][: names.index("Save the base's counts")]:
        assert "github.sha" not in str(step) or "--dry-run" in step["run"], step["name"]


def test_a_report_that_nobody_wrote_stops_no_comment():
    downloads = [step for _, step in steps() if step["name"] == "Download the report"]
    assert len(downloads) == 2
    assert all(step["continue-on-error"] for step in downloads)


def test_the_cache_of_the_action_for_forks_is_of_the_workloads_and_of_the_base():
    named = {step["name"]: step for step in workflow(IN_A_FORK)["runs"]["steps"]}
    keys = [named[f"{verb} the base's counts"]["with"]["key"] for verb in ("Restore", "Save")]
    counted, before = "${{ inputs.workloads || inputs.suite }}", "${{ steps.base.outputs.before }}"
    assert keys == [f"landspeed-{counted}-{before}"] * 2


def test_a_job_after_one_that_may_be_skipped_says_itself_when_it_runs():
    # Without a status function in "if", success() is assumed, which is false after a skipped job.
    # https://docs.github.com/actions/reference/workflows-and-actions/expressions#status-check-functions
    for path in FILES:
        found = workflow(path)["jobs"]
        for name, job in found.items():
            needs = job.get("needs", [])
            needed = [needs] if isinstance(needs, str) else needs
            # the jobs of publish.yml also follow those that its caller has skipped
            if any("if" in found[one] for one in needed) or (needed and path.name == "publish.yml"):
                assert re.search(r"(always|cancelled)\(\)", job.get("if", "")), f"{path}:{name}"


def test_what_is_hosted_runs_on_an_image_that_does_not_move():
    for path in [*FILES, PROJECT / "landspeed/farm/runners.py"]:
        assert not re.search(r"(ubuntu|windows|macos)-latest", path.read_text()), path


def test_dependabot_looks_after_every_action_and_every_package():
    config = yaml.safe_load((WORKFLOWS.parent / "dependabot.yml").read_text())
    assert {one["package-ecosystem"] for one in config["updates"]} == {"github-actions", "pip"}
    (actions,) = [one for one in config["updates"] if "directories" in one]
    assert actions["directories"] == ["/", "/.github/actions/*"]
    assert {path.parent.parent for path in ACTIONS[1:]} == {WORKFLOWS.parent / "actions"}


def test_every_job_ends_by_itself():
    endless = [name for name, job in jobs() if "uses" not in job and "timeout-minutes" not in job]
    assert endless == []


def test_the_choices_of_a_form_are_those_of_landspeed():
    for name in ("bisect.yml", "compare.yml"):
        form = workflow(WORKFLOWS / name)["on"]["workflow_dispatch"]["inputs"]
        assert form["metric"]["options"] == [metric.name for metric in METRICS]
        assert len(form) <= 10  # what GitHub's form holds everywhere
    form = workflow(WORKFLOWS / "atlas.yml")["on"]["workflow_dispatch"]["inputs"]
    assert f"suite of workloads: {', '.join(SUITES)}" in form["suite"]["description"].lower()
    assert f"at most {MOST_JOBS}" in form["jobs"]["description"]
    form = workflow(WORKFLOWS / "bisect.yml")["on"]["workflow_dispatch"]["inputs"]
    assert form["over"]["options"] == [over.value for over in RangeKind]


def test_what_the_environment_sets_is_an_option_that_there_is():
    known = {
        f"LANDSPEED_{'_'.join(path)}_{parameter.name}".upper().replace("-", "_")
        for path, command in every_command().items()
        for parameter in command.params
    }
    verbs = "|".join(every_verb())
    for path in [*FILES, IN_A_FORK]:
        for name in re.findall(rf"^ +(LANDSPEED_(?:{verbs.upper()})_\w+):", path.read_text(), re.M):
            assert name in known, f"{path.name}: {name}"


@pytest.mark.parametrize("page", ["docs/your-own-farm.md", "docs/runner.md"])
def test_a_variable_that_a_page_tells_of_is_read_by_something(page):
    places = [*FILES, *PROJECT.glob("tools/runner/*"), *PROJECT.glob("b*/**/*.py")]
    read = "".join(path.read_text() for path in [*places, *PROJECT.glob("landspeed/**/*.py")])
    told = set(re.findall(r"LANDSPEED_[A-Z_]*[A-Z]", (PROJECT / page).read_text()))
    assert {name for name in told if name not in read} == set()


def test_labels_of_our_own_are_known_to_actionlint():
    config = yaml.safe_load((PROJECT / ".github/actionlint.yaml").read_text())
    own = {
        label
        for _, default in _LABELS.values()
        for label in default.split()
        if not HOSTED.fullmatch(label) and label != "self-hosted"
    }
    assert set(config["self-hosted-runner"]["labels"]) >= own


def linter(name: str) -> str:
    places = (PROJECT / ".venv/bin", Path(sys.executable).parent)
    found = shutil.which(name, path=":".join([*map(str, places), os.environ["PATH"]]))
    if found is None:
        pytest.skip(f"no {name} here: tools/setup --dev installs it")
    return found


@pytest.mark.parametrize(
    "argv",
    [
        ["actionlint"],
        ["zizmor", "--offline", "--no-progress", "--persona=auditor", ".github", "action.yml"],
    ],
    ids=lambda argv: argv[0],
)
def test_the_linters_find_nothing(argv):
    done = subprocess.run(
        [linter(argv[0]), *argv[1:]], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_waived_of_a_linter_says_why():
    waived = re.compile(r"zizmor: *ignore|shellcheck disable")
    for path in FILES:
        for line in path.read_text().splitlines():
            if waived.search(line):
                assert re.search(r"zizmor: ignore\[[\w-]+\] \S+ \S+", line), f"{path.name}: {line}"
