"""Comments on issues that ask for a comparison: a strict grammar, for those who may write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from base.errors import LandspeedError, UsageError
from landspeed.campaign.suite_compare import SuiteComparison
from landspeed.campaign.suite_report import suite_mail
from landspeed.cli.farm.issues import issues_
from landspeed.farm.github.api import GitHub
from landspeed.farm.github.on_request import CommentEvent, answer, parse_request
from tests.kits.farm.github_api import GitHubApi, github_api
from tests.landspeed.campaign.test_suite_compare import CODE, comparison


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHubApi]:
    with github_api() as made:
        made.permissions = {"maintainer": "write", "owner": "admin"}
        for name, value in made.environment().items():
            monkeypatch.setenv(name, value)
        yield made


def event(body: str, who: str = "maintainer", **changes: Any) -> dict[str, Any]:
    return {
        "action": "created",
        "comment": {"id": 9, "body": body, "user": {"login": who}},
        "issue": {"number": 42},
        "repository": {"default_branch": "main"},
        **changes,
    }


def told(api: GitHubApi, facts: dict[str, Any]) -> str:
    return answer(GitHub.find(), CommentEvent.parse(facts))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/landspeed compare hacker/fast-path", ("hacker/fast-path", "standard")),
        ("/landspeed compare cf/5000 --suite small", ("cf/5000", "small")),
        ("/landspeed compare 21e958c303~2\r\nThanks!", ("21e958c303~2", "standard")),
    ],
)
def test_a_request_is_one_line_of_one_form(text, expected):
    assert parse_request(text) == dict(zip(("patch", "suite"), expected, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "/landspeed compare",
        "/landspeed compare master ; touch pwned",
        "/landspeed compare $(id)",
        "/landspeed compare `id`",
        "/landspeed compare a|b",
        "/landspeed compare --patch=/etc/passwd",
        "/landspeed compare -- master",
        "/landspeed compare master --suite huge",
        "/landspeed compare master --suite small --json",
        "/landspeed compare master --suite  small",
        "/landspeed compare ../../etc/passwd",
        "/landspeed compare refs/heads/../x",
        "/landspeed compare master@{1}",
        "/landspeed compare master:bs4",
        "/landspeed compare ${{ secrets.TOKEN }}",
        "/landspeed compare master\u2028--suite small",
        "/landspeed compare m\u0430ster",
        "/landspeed compare ::set-output",
        f"/landspeed compare {'a' * 300}",
        "/landspeed bisect 17 18",
        "/landspeed\tcompare master",
    ],
)
def test_everything_else_is_refused_and_starts_nothing(api, text):
    with pytest.raises(LandspeedError):
        parse_request(text)
    assert "error:" in told(api, event(text))
    assert api.dispatched == []
    (reply,) = api.comments[42]
    # what it says of the comment is in code spans: no mention, link or HTML
    assert all(
        line.startswith(("<!-- landspeed-request 9 -->", "`"))
        for line in reply["body"].splitlines()
    )


@pytest.mark.parametrize("text", ["", "Look: /landspeed compare master", "/landspeedy compare x"])
def test_a_comment_that_is_no_request_is_left_alone(api, text):
    assert told(api, event(text)) == "no request"
    assert api.calls == []


def test_a_request_starts_the_workflow_of_the_default_branch_which_answers_on_the_issue(api):
    told(api, event("/landspeed compare cf/5000 --suite small"))
    inputs = {"patch": "cf/5000", "suite": "small", "issue": "42"}
    assert api.dispatched == [("compare.yml", {"ref": "main", "inputs": inputs})]
    assert api.comments == {}


@pytest.mark.parametrize("text", ["/landspeed compare master", "/landspeed compare $(id)"])
def test_who_may_not_write_is_not_answered(api, text):
    assert "may not write" in told(api, event(text, who="stranger"))
    assert api.dispatched == []
    assert api.comments == {}


def test_an_edited_comment_starts_nothing(api):
    assert told(api, event("/landspeed compare master", action="edited")) == "no request"


def test_the_verb_reads_the_event_from_its_file(api, tmp_path: Path):
    file = tmp_path / "event.json"
    file.write_text(json.dumps(event("/landspeed compare mine", who="owner")))
    issues_.main(["--request", str(file)], standalone_mode=False)
    assert [name for name, _ in api.dispatched] == ["compare.yml"]
    file.write_text("{}")
    with pytest.raises(UsageError, match="no comment on an issue"):
        issues_.main(["--request", str(file)], standalone_mode=False)


def test_the_report_of_a_suite_is_a_comment_that_holds_no_markdown_of_others(
    api, tmp_path, monkeypatch
):
    monkeypatch.setenv("GITHUB_RUN_ID", "77")
    found = comparison(CODE)
    file = tmp_path / "compare.json"
    facts = json.loads(json.dumps(found.facts()))
    assert SuiteComparison.parse(facts) == found
    file.write_text(json.dumps(facts | {"patch": "```\n@everybody <script>"}))
    issues_.main(["--comment", "42", str(file)], standalone_mode=False)
    (posted,) = api.comments[42]
    mark, fence, *lines, end = posted["body"].strip().splitlines()
    assert (mark, fence, end) == ("<!-- landspeed-run 77 -->", "````", "````")
    assert lines[0] == suite_mail(found).splitlines()[0]
    with pytest.raises(UsageError, match="no comparison over a suite"):
        SuiteComparison.parse({"changes": 1})
    for cost in (0, -1, float("inf"), float("nan")):
        changes = [facts["changes"][0] | {"before": cost}]
        with pytest.raises(UsageError, match="no comparison over a suite"):
            SuiteComparison.parse(facts | {"changes": changes})
        part = facts["changes"][0]["parts"][0] | {"before": cost}
        changes = [facts["changes"][0] | {"parts": [part, part]}]
        with pytest.raises(UsageError, match="no comparison over a suite"):
            SuiteComparison.parse(facts | {"changes": changes})


@pytest.mark.parametrize("text", ["5", "true", '"changes"', pytest.param("[" * 100_000, id="deep")])
def test_a_file_that_is_no_report_is_one_error(api, tmp_path: Path, text: str):
    file = tmp_path / "report.json"
    file.write_text(text)
    with pytest.raises(LandspeedError):
        issues_.main(["--comment", "42", str(file)], standalone_mode=False)
    assert api.comments == {}
