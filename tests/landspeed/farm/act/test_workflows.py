"""Each workflow, unmodified, under the real act: which jobs ran where, what came out, no error.

The sources are real commits, git and asv are real, only the servers are made up.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from builders.catalog import Catalog
from landspeed.bisect.report_markdown import parse_reports, reports_markdown
from tests.kits.farm.act_kit import ActRun, Hub, needs_act
from tests.kits.farm.forked import forked
from tests.kits.farm.github_api import github_api
from tests.kits.farm.pretended_landspeed import command
from tests.kits.made_up.bisect_project import MadeUp, Pretence
from tests.kits.made_up.synthetic import Point, record

pytestmark = [needs_act, pytest.mark.slow]

COUNT, CULPRIT = 16, 11
WORLD = Pretence(steps={str(CULPRIT): 1.05}, noise=0.002)
RELEASES = [release.version for release in Catalog.load().releases[-2:]]
LABELS = '["self-hosted","landspeed-bench"]'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> MadeUp:
    return MadeUp.make(tmp_path_factory.mktemp("upstream"), COUNT)


@pytest.fixture(scope="module")
def landspeed() -> Iterator[list[str]]:
    """The command that is landspeed on made-up servers."""
    with forked("tests.kits.farm.pretended_landspeed") as command:
        yield command


def hub_of(made: MadeUp, root: Path, landspeed: list[str]) -> Hub:
    """A farm that tracks *made*'s upstream; its results branch is in a repository of its own."""
    hub = Hub.make(root, landspeed, {"Makefile": "lint test:\n\t@echo would $@\n"})
    origin = root / "origin.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(origin)], check=True)
    (root / "runs.log").write_text("")
    told = asdict(replace(WORLD, log=str(root / "runs.log")))
    (root / "world.json").write_text(json.dumps(told))
    hub.variables = {
        "LANDSPEED_UPSTREAM": str(made.upstream.directory),
        "LANDSPEED_RESULTS_REMOTE": str(origin),
    }
    hub.environment = {
        "LANDSPEED_TEST_WORLD": str(root / "world.json"),
        "LANDSPEED_CACHE": str(root / "cache"),
        "LANDSPEED_DATA": str(root / "data"),
        "LANDSPEED_MACHINE": "bench-1",
    }
    return hub


@pytest.fixture
def hub(made: MadeUp, tmp_path: Path, landspeed: list[str]) -> Hub:
    return hub_of(made, tmp_path, landspeed)


def runs_of(hub: Hub) -> list[str]:
    """The commits that were measured, one for each Run."""
    return (hub.root / "runs.log").read_text().splitlines()


def branch_of(hub: Hub) -> list[str]:
    """The files on the results branch."""
    argv = ["git", "-C", str(hub.root / "origin.git"), "ls-tree", "-r", "--name-only", "results"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


def dispatch(hub: Hub, made: MadeUp, **inputs: object) -> ActRun:
    ends = {"good": made.commits[0], "bad": made.commits[COUNT]}
    return hub.run("bisect.yml", inputs={**ends, **inputs})


def assert_fine(run: ActRun) -> None:
    assert run.code == 0, run.told()
    assert run.errors == [], run.told()


# --- ci --------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", ["pull_request", "push"])
def test_ci_lints_and_tests(hub, event):
    run = hub.run("ci.yml", event)
    assert_fine(run)
    assert run.jobs == {"lint": "success", "test": "success"}
    assert "would lint" in run.log("lint")
    assert "would test" in run.log("test")


# --- bisect ----------------------------------------------------------------------------------


def test_a_counted_bisection_needs_no_machine_of_ours_and_its_report_is_the_summary(hub, made):
    with github_api() as api:
        hub.environment |= api.environment()
        run = dispatch(hub, made, issue=42)
    assert_fine(run)
    assert run.jobs == dict.fromkeys(
        (
            *("check", "bisect", "comment"),
            *("publish/results", "publish/site", "publish/deploy"),
        ),
        "success",
    )
    assert run.outputs("check")["runner"] == '["ubuntu-24.04"]'
    assert f"commit {CULPRIT}" in run.summary("bisect")
    (report,) = (hub.stubs / "artifacts").glob("*/report/bisect.json")
    assert (
        reports_markdown(parse_reports(json.loads(report.read_text()))).strip()
        == run.summary("bisect").strip()
    )
    (comment,) = api.comments[42]
    assert run.summary("bisect").strip() in comment["body"]
    # a count is one for good: it is drawn like any other
    assert (hub.stubs / "pages" / "index.html").is_file()


def test_a_timed_bisection_asks_for_the_bench_and_goes_on_where_it_stopped(hub, made):
    first = dispatch(hub, made, metric="latency", scenario="read-write//small/c4", budget="10s")
    assert first.outputs("check")["runner"] == LABELS
    published = {"publish/results": "success", "publish/site": "success"}
    assert first.jobs == {"check": "success", "bisect": "failure", **published}
    # what was timed to decide is no dot, so there is nothing to deploy
    assert first.outputs("publish/site")["published"] == "false"
    assert "Undecided" in first.summary("bisect")
    (journal,) = [name for name in branch_of(hub) if name.startswith("bisect/")]
    before = runs_of(hub)
    assert before

    second = dispatch(hub, made, metric="latency", scenario="read-write//small/c4", budget="8h")
    assert_fine(second)
    assert f"continuing after {len(before)} runs" in second.log("bisect")
    assert f"commit {CULPRIT}" in second.summary("bisect")
    assert [name for name in branch_of(hub) if name.startswith("bisect/")] == [journal]


def test_a_runner_that_is_killed_goes_on_from_the_results_that_it_keeps(hub, made):
    kept = hub.root / "kept"
    hub.environment["LANDSPEED_RESULTS"] = str(kept)
    inputs = {"good": made.commits[0], "bad": made.commits[COUNT], "metric": "latency"}
    hub.run_and_kill("bisect.yml", lambda: len(runs_of(hub)) >= 4, inputs=inputs)
    before = events_in(kept)
    # at most the one that was cut short is not there
    assert sum(event["event"] == "run" for event in before) >= len(runs_of(hub)) - 1
    run = hub.run("bisect.yml", inputs=inputs)
    assert_fine(run)
    assert "continuing after" in run.log("bisect")
    assert events_in(kept)[: len(before)] == before


def events_in(results: Path) -> list[dict[str, object]]:
    """The events of the one bisection of which *results* have the state."""
    (journal,) = results.glob("bisect/*.json")
    return list(json.loads(journal.read_text())["events"])


def test_block_sizes_are_ranked_from_the_form(hub, made):
    end = made.commits[COUNT]
    inputs = {"good": f"{end}:bs4", "bad": f"{end}:bs16", "over": "variants", "metric": "latency"}
    run = hub.run("bisect.yml", inputs=inputs)
    assert_fine(run)
    assert "by variant" in run.summary("bisect")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("good", "$(touch pwned)", "is not a ref"),
        ("over", "lunch", "invalid value for '--over'"),
        ("metric", "happiness", "invalid value for '--metric'"),
        ("scenario", "read-only; id", "does not exist"),
        ("blocksize", "3", "block"),
        ("budget", "0", "a budget of zero measures nothing"),
        ("issue", "the first", "invalid value for '--comment'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(hub, made, name, value, says):
    run = dispatch(hub, made, **{name: value})
    assert run.jobs == {"check": "failure"}, run.told()
    assert says in run.log("check")
    assert runs_of(hub) == []
    assert list(hub.root.rglob("pwned")) == []


# --- compare ---------------------------------------------------------------------------------


def test_a_patch_of_a_listed_remote_is_compared_and_of_no_other(hub, made, tmp_path):
    fork = tmp_path / "fork"
    subprocess.run(["git", "clone", "--quiet", str(made.upstream.directory), str(fork)], check=True)
    who = ["-c", "user.name=A Hacker", "-c", "user.email=hacker@example.org"]
    argv = ["git", *who, "commit", "--quiet", "--allow-empty", "--message=commit 17"]
    subprocess.run(["git", "checkout", "--quiet", "-b", "fast/path"], cwd=fork, check=True)
    subprocess.run(argv, cwd=fork, check=True)
    inputs = {"base": "master", "patch": "hacker/fast/path", "metric": "latency"}

    refused = hub.run("compare.yml", inputs=inputs)
    assert refused.jobs == {"check": "failure"}
    assert 'the git upstream has no "hacker/fast/path"' in refused.log("check")

    hub.variables["LANDSPEED_REMOTES"] = f"hacker={fork}"
    run = hub.run("compare.yml", inputs=inputs)
    assert_fine(run)
    jobs = ("check", "compare", "publish/results", "publish/site")
    assert run.jobs == dict.fromkeys(jobs, "success")
    assert run.outputs("check")["runner"] == LABELS
    assert "is the SAME" in run.summary("compare")
    (answer,) = (hub.stubs / "artifacts").glob("*/answer/compare.json")
    assert json.loads(answer.read_text())["findings"][0]["verdict"] == "SAME"


def test_a_maintainers_comment_starts_a_comparison_and_a_strangers_starts_no_machine(hub):
    def commented(body: str, association: str) -> ActRun:
        user = {"login": "somebody"}
        comment = {"id": 9, "body": body, "user": user, "author_association": association}
        payload = {
            "action": "created",
            "comment": comment,
            "issue": {"number": 42},
            "repository": {"default_branch": "main"},
        }
        return hub.run("request.yml", "issue_comment", payload=payload)

    with github_api() as api:
        api.permissions["somebody"] = "write"
        hub.environment |= api.environment()
        for body, association in (
            ("/landspeed compare mine", "NONE"),
            ("/landspeed compare mine", "CONTRIBUTOR"),
            ("Thanks!\n/landspeed compare mine", "OWNER"),
        ):
            assert commented(body, association).cells == []
        hostile = commented('/landspeed compare "$(touch pwned)"`touch pwned`', "OWNER")
        assert_fine(hostile)
        assert api.dispatched == []
        assert "this is no request" in api.comments[42][0]["body"]
        assert list(hub.root.rglob("pwned")) == []
        assert_fine(commented("/landspeed compare cf/5000", "COLLABORATOR"))
    inputs = {"patch": "cf/5000", "suite": "standard", "issue": "42"}
    assert api.dispatched == [("compare.yml", {"ref": "main", "inputs": inputs})]


def test_what_a_request_names_and_nobody_has_is_answered_on_the_issue(hub, made):
    with github_api() as api:
        hub.environment |= api.environment()
        inputs = {"base": "master", "patch": "nobody/has-it", "suite": "small", "issue": "42"}
        run = hub.run("compare.yml", inputs=inputs)
    assert run.jobs == {"check": "failure", "comment": "success"}, run.told()
    (comment,) = api.comments[42]
    assert f"There is no report. The log of workflow run {run.number}" in comment["body"]


# --- publish ---------------------------------------------------------------------------------


def test_what_jobs_left_gets_to_the_results_branch_and_the_site_to_pages(hub, tmp_path):
    packed = hub.stubs / "artifacts" / "1001" / "results-somewhere"
    packed.mkdir(parents=True)
    results = tmp_path / "elsewhere"
    loose = results / "records" / "loose"
    loose.mkdir(parents=True)
    for release in map(str, RELEASES):
        for number in range(3):
            one = record(Point(release=release), number=number)
            (loose / f"{one['id']}.json").write_text(json.dumps(one))
    environment = {**hub.environment, **hub.variables, "LANDSPEED_RESULTS": str(results)}
    argv = [*command(), "farm", "results", "pack", str(packed / "results.tar")]
    subprocess.run(argv, cwd=hub.repository, env=_full(environment), check=True)

    run = hub.run("publish.yml")
    assert_fine(run)
    assert run.jobs == {"results": "success", "site": "success", "deploy": "success"}
    assert run.outputs("site")["published"] == "true"
    assert any(name.endswith(".parquet") for name in branch_of(hub))
    assert (hub.stubs / "pages" / "index.html").is_file()
    assert "elephant" in (hub.stubs / "pages" / "index.json").read_text()
    assert "not drawn" not in run.log("site")

    # with nothing new the branch stays as it is
    tip = branch_of(hub)
    again = hub.run("publish.yml")
    assert_fine(again)
    assert "nothing new to push" in again.log("results")
    assert branch_of(hub) == tip


def test_a_farm_without_pages_is_told_so_by_a_variable(hub):
    hub.variables["LANDSPEED_PAGES"] = "off"
    run = hub.run("publish.yml")
    assert_fine(run)
    assert run.jobs == {"results": "success", "site": "success"}


def _full(environment: dict[str, str]) -> dict[str, str]:
    return {**os.environ, **environment}
