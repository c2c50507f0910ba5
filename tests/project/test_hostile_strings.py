"""Words of others in workflows: no shell runs them, no runner obeys them, no page renders them.

Branch names, tags, authors, subjects of commits and the inputs of a dispatch hold what would do
harm in each place that they come to: shell, workflow command, output, Markdown, HTML.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.kits.builds.sourcekit import GitUpstream
from tests.kits.farm.act_kit import WORKFLOWS, ActRun, Hub, needs_act
from tests.kits.farm.forked import forked
from tests.kits.farm.github_api import github_api
from tests.kits.farm.track_world import TRACK, TrackWorld, assert_fine, pretended_farm, track_world
from tests.kits.made_up.bisect_project import Pretence

__all__ = ["pretended_farm"]  # a fixture
pytestmark = [needs_act, pytest.mark.slow]

SUBJECT = (
    "::set-output name=runner::evil $(touch pwned) `touch pwned` ${{ github.token }} "
    "\"';touch pwned; "
    "<script>alert(1)</script><img src=x onerror=alert(2)> @octocat closes #1 | **bold** "
    "[x](https://evil.example) ##[add-path]/tmp/pwned"
)
# git itself takes angle brackets out of names, and colons where they begin
AUTHOR = "x::add-mask::y ##[add-path]/tmp $(touch pwned) @octocat **bold**"
# all of it may be the name of a branch or tag: git-check-ref-format(1)
NAME = "$(touch${IFS}pwned);`touch${IFS}pwned`'\"<img/src=x>##set-output&&@octocat#1|x"
COMMITS = 6


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> GitUpstream:
    found = GitUpstream(tmp_path_factory.mktemp("hostile") / "upstream")
    for number in range(COMMITS):
        subject = SUBJECT if number == 3 else f"commit {number}"
        found.commit("19devel", subject, when=1_700_000_000 + 3600 * number)
        found.git("commit", "--quiet", "--amend", "--no-edit", f"--author={AUTHOR} <a@b>")
    found.git("branch", NAME)
    found.git("tag", f"REL_18_0{NAME}")
    return found


@pytest.fixture(scope="module")
def landspeed() -> Iterator[list[str]]:
    with forked("tests.kits.farm.pretended_landspeed") as command:
        yield command


@pytest.fixture
def hub(upstream: GitUpstream, tmp_path: Path, landspeed: list[str]) -> Hub:
    made = Hub.make(tmp_path, landspeed, {})
    origin = tmp_path / "origin.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(origin)], check=True)
    world = Pretence(steps={"3": 1.05}, noise=0.002, numbers={SUBJECT: 3})
    (tmp_path / "world.json").write_text(json.dumps(asdict(world)))
    made.variables = {
        "LANDSPEED_UPSTREAM": str(upstream.directory),
        "LANDSPEED_RESULTS_REMOTE": str(origin),
    }
    made.environment = {
        "LANDSPEED_TEST_WORLD": str(tmp_path / "world.json"),
        "LANDSPEED_CACHE": str(tmp_path / "cache"),
        "LANDSPEED_DATA": str(tmp_path / "data"),
    }
    return made


def assert_harmless(hub: Hub, run: ActRun) -> None:
    """Nothing was executed, and no line that a step printed was taken for a command."""
    assert list(hub.root.rglob("pwned*")) == []
    assert run.commands() == []
    assert "evil" not in json.dumps([run.outputs(job) for job in run.jobs])


def rendered(markdown: str) -> str:
    """What of *markdown* is not code: text, HTML, and where links lead to."""

    def pieces(tokens: Sequence[Token]) -> Iterator[str]:
        for token in tokens:
            yield from pieces(token.children or ())
            if token.type in ("text", "html_inline", "html_block"):
                yield token.content
            yield from map(str, token.attrs.values())

    return "\n".join(pieces(MarkdownIt("commonmark").enable("table").parse(markdown)))


def test_a_hostile_subject_and_author_stay_words_from_the_summary_to_the_artifact(hub, upstream):
    commits = upstream.git("rev-list", "--reverse", "master").split()
    with github_api() as api:
        hub.environment |= api.environment()
        inputs = {"good": commits[0], "bad": commits[-1], "issue": 7}
        run = hub.run("bisect.yml", inputs=inputs)
    assert run.code == 0, run.told()
    assert run.errors == [], run.told()
    assert_harmless(hub, run)
    assert run.outputs("check")["runner"] == '["ubuntu-24.04"]'
    (comment,) = api.comments[7]
    for text in (run.summary("bisect"), comment["body"]):
        assert "touch pwned" in text
        for bad in ("<script", "<img", "@octocat", "closes #1", "bold", "evil.example", "pwned"):
            assert bad not in rendered(text), rendered(text)
    pages = [path.read_text(errors="replace") for path in (hub.stubs / "pages").rglob("*.html")]
    assert pages
    assert "<script>alert(1)" not in "".join(pages)


@pytest.mark.parametrize("end", [NAME, f"REL_18_0{NAME}", f"{SUBJECT}\n::add-path::/tmp\nEOF"])
def test_hostile_ends_of_a_bisection_are_refused_as_words(hub, upstream, end):
    first = upstream.git("rev-list", "--max-parents=0", "master")
    run = hub.run("bisect.yml", inputs={"good": first, "bad": end})
    assert run.jobs == {"check": "failure"}, run.told()
    assert_harmless(hub, run)


def form(workflow: str) -> dict[str, object]:
    """The inputs of *workflow* that a person who dispatches it gives."""
    on = yaml.safe_load((WORKFLOWS / workflow).read_text())[True]
    return dict(on["workflow_dispatch"]["inputs"])


@pytest.mark.parametrize(
    ("workflow", "name"),
    [
        (workflow, name)
        for workflow in ("atlas.yml", "bisect.yml", "compare.yml")
        for name in form(workflow)
    ],
)
def test_a_hostile_input_of_any_kind_does_nothing(hub, upstream, workflow, name):
    commits = upstream.git("rev-list", "--reverse", "master").split()
    ends = ("base", "patch") if workflow == "compare.yml" else ("good", "bad")
    evil = f"{SUBJECT}\n::set-output name=runner::evil\nrunner=evil\n"
    inputs = dict(zip(ends, (commits[0], commits[-1]), strict=True)) | {name: evil}
    run = hub.run(workflow, inputs=inputs)
    assert run.jobs == {"check": "failure"}, run.told()
    assert_harmless(hub, run)


def test_a_hostile_branch_is_compared_by_no_other_name(hub):
    run = hub.run("compare.yml", inputs={"base": "master", "patch": NAME, "metric": "latency"})
    assert run.jobs == {"check": "failure"}
    assert_harmless(hub, run)


def test_a_label_that_is_none_is_refused(hub, upstream):
    commits = upstream.git("rev-list", "--reverse", "master").split()
    hub.variables["LANDSPEED_EXACT_LABELS"] = 'ubuntu-24.04"]; evil'
    run = hub.run("bisect.yml", inputs={"good": commits[0], "bad": commits[-1]})
    assert run.jobs == {"check": "failure"}
    assert "is not a valid runner label" in run.log("check")
    assert_harmless(hub, run)


# --- track -----------------------------------------------------------------------------------


@pytest.fixture
def hostile(tmp_path: Path, pretended_farm: list[str]) -> Iterator[TrackWorld]:
    """A farm that tracks every branch of an upstream where nobody means well."""
    with track_world(tmp_path, pretended_farm, TRACK.replace('"master"', '"*"')) as made:
        made.be(costs={"2": 1.01}, subjects={SUBJECT: 2})
        upstream = made.farm.upstream
        for number in range(5):
            if number == 3:
                upstream.git("checkout", "--quiet", "-b", NAME)
            made.farm.commit(SUBJECT if number == 2 else f"commit {number}")
            upstream.git("commit", "--quiet", "--amend", "--no-edit", f"--author={AUTHOR} <a@b>")
            made.farm.commits[-1] = upstream.git("rev-parse", "HEAD").strip()
        upstream.git("tag", f"REL_18_0{NAME}")
        yield made


def test_what_is_tracked_stays_words_from_the_plan_to_the_issue_and_the_site(hostile):
    tracked = hostile.tracked
    run = tracked.track()
    assert_fine(run)
    assert_harmless(tracked.hub, run)
    culprit = hostile.farm.commits[2]
    (issue,) = tracked.api.issues
    assert culprit[:10] in issue["title"]
    for text in (run.summary("plan"), issue["title"], issue["body"]):
        assert "touch pwned" in text
        for bad in ("<script", "<img", "@octocat", "closes #1", "bold", "evil.example", "pwned"):
            assert bad not in rendered(text), rendered(text)
    for path in tracked.site.rglob("*.html"):
        assert "<script>alert(1)" not in path.read_text()


@pytest.mark.parametrize("name", list(form("track.yml")))
def test_a_hostile_input_of_track_measures_nothing(hostile, name):
    run = hostile.tracked.track(**{name: f"{SUBJECT}\n::set-output name=builds::evil\n"})
    assert run.jobs == {"plan": "failure"}, run.told()
    assert_harmless(hostile.tracked.hub, run)
    assert hostile.deeds("") == {}


def test_the_test_can_see_a_command(hub):
    # a workflow that does print what it is given: what is asserted above would notice
    workflow = hub.repository / ".github/workflows/bad.yml"
    workflow.write_text(
        "name: bad\non: workflow_dispatch\njobs:\n  bad:\n    runs-on: ubuntu-24.04\n"
        '    steps:\n      - run: printf "%s\\n" "$SUBJECT"\n'
        "        env:\n          SUBJECT: ${{ github.event.inputs.subject }}\n"
    )
    hub.commit()
    run = hub.run("bad.yml", inputs={"subject": SUBJECT})
    with pytest.raises(AssertionError):
        assert_harmless(hub, run)
