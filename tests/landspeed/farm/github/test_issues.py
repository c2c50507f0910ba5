"""Issues: one for each confirmed regression, whatever the API answers, closed when it is gone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from base.errors import RemoteError
from base.typed import to_json
from benchmarks.workloads.metrics import metric_named
from landspeed.bisect.report_markdown import markdown
from landspeed.bisect.sweep import timed_sweep
from landspeed.changepoints.changepoint import Changepoint
from landspeed.farm.github.api import GitHub
from landspeed.farm.github.issue_text import Mark
from landspeed.farm.github.issues import LABEL, IssueAction, comment, update_issues, update_silences
from landspeed.farm.github.regressions import Span, regressions
from tests.kits.farm.farm_kit import Farm
from tests.kits.farm.github_api import Failure, GitHubApi, github_api
from tests.kits.made_up.changepoint_kit import place_of, step, subject_of
from tests.kits.made_up.synthetic_series import commit
from tests.landspeed.bisect.test_report import bisect_report

# --- the issues -------------------------------------------------------------------------------


# The digests by which earlier versions marked a comment: of the journal's name without its number
# and suffix, "aaa-bbb-12345678", and of a ranking's first line, "# latency of 18 by variant".
OLD_BISECTION, OLD_RANKING = "447fb0b9be5df48d", "ef16a8ca691265ca"


@pytest.fixture
def api() -> Iterator[GitHubApi]:
    with github_api() as made:
        yield made


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def github(api, waits, monkeypatch) -> GitHub:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return GitHub(
        api=api.url,
        repository=api.repository,
        token="a-token",
        pause=waits.append,
        clock=lambda: 1000.0,
    )


def actions(github: GitHub, *steps: Changepoint) -> list[IssueAction]:
    found = regressions(steps, place_of)
    return [one.action for one in update_issues(found, place_of, subject_of, github)]


def test_an_issue_is_opened_once_and_then_left_as_it_is(github, api):
    assert actions(github, step(3, 4)) == [IssueAction.OPENED]
    assert actions(github, step(3, 4)) == [IssueAction.UNCHANGED]
    assert api.writes() == ["POST /repos/example/landspeed/issues"]
    assert api.issues[0]["labels"] == [LABEL]
    assert api.tokens == {"Bearer a-token"}


def test_nothing_to_tell_is_one_call(github, api):
    assert actions(github) == []
    assert github.calls == len(api.calls) == 1


def test_an_issue_is_updated_when_more_is_known_of_where(github, api):
    actions(github, step(3, 9))
    assert actions(github, step(5, 6)) == [IssueAction.UPDATED]
    assert len(api.issues) == 1
    assert "0000000006" in api.issues[0]["title"]
    assert actions(github, step(5, 6)) == [IssueAction.UNCHANGED]


def test_another_regression_on_the_line_is_another_issue(github, api):
    actions(github, step(3, 4))
    assert actions(github, step(3, 4), step(6, 7)) == [IssueAction.UNCHANGED, IssueAction.OPENED]
    assert len(api.issues) == 2


def test_an_issue_is_closed_when_it_is_gone_and_stays_so(github, api):
    actions(github, step(3, 4))
    gone = (step(3, 4), step(8, 9, 1 / 1.01))
    assert actions(github, *gone) == [IssueAction.CLOSED]
    assert api.issues[0]["state"] == "closed"
    assert f"**Repaired by {commit(9)}" in api.issues[0]["body"]
    assert actions(github, *gone) == [IssueAction.UNCHANGED]
    assert len(api.writes()) == 2


def test_one_issue_of_which_two_regressions_come_is_closed_with_the_first_and_not_with_the_second(
    github, api
):
    actions(github, step(3, 9))  # by now known to be two, of which one is repaired
    two = (step(4, 5), step(10, 11, 1 / 1.01), step(7, 8, mode="read-write"))
    assert actions(github, *two) == [IssueAction.CLOSED, IssueAction.OPENED]
    assert [one["state"] for one in api.issues] == ["closed", "open"]
    assert "0000000005" in api.issues[0]["title"]
    assert "0000000008" in api.issues[1]["title"]
    assert actions(github, *two) == [IssueAction.UNCHANGED, IssueAction.UNCHANGED]


def test_what_was_gone_before_it_was_told_is_never_told(github, api):
    assert actions(github, step(3, 4), step(8, 9, 1 / 1.01)) == [IssueAction.UNCHANGED]
    assert api.issues == []


def test_what_a_person_closed_stays_closed_and_is_not_opened_anew(github, api):
    actions(github, step(3, 4))
    api.issues[0]["state"] = "closed"
    assert actions(github, step(3, 4), step(3, 4, metric="instructions_cold")) == [
        IssueAction.UNCHANGED
    ]
    assert len(api.issues) == 1


def test_an_issue_of_somebody_else_with_our_mark_but_not_our_label_is_not_ours(github, api):
    api.issues.append(
        {"number": 1, "state": "open", "labels": [], "title": "x", "body": str(mark(4))}
    )
    assert actions(github, step(3, 4)) == [IssueAction.OPENED]


def mark(number: int) -> Mark:
    return Mark.of(
        Span(line="master", before=commit(number - 1), last=commit(number), first=4, end=4)
    )


def test_what_two_runs_told_at_once_is_one_open_issue_the_older(github, api):
    actions(github, step(3, 4))
    twin = {**api.issues[0], "number": 2}
    api.issues.append(twin)
    assert actions(github, step(3, 4)) == [IssueAction.UNCHANGED]
    assert [one["state"] for one in api.issues] == ["open", "closed"]
    assert api.issues[1]["body"] == "The same as #1: two runs found it at once."
    # nobody's now: it is not the one that is closed, updated or believed
    assert actions(github, step(3, 4), step(8, 9, 1 / 1.01)) == [IssueAction.CLOSED]
    assert "**Repaired by" in api.issues[0]["body"]
    assert len(api.writes()) == 3


def test_who_opens_an_issue_looks_whether_another_was_as_fast(github, api):
    original = api.answer

    def another_first(method: str, path: str, facts: dict[str, Any]) -> tuple[int, Any]:
        if method == "POST" and not api.issues:
            original(method, path, facts)
        return original(method, path, facts)

    api.answer = another_first  # type: ignore[method-assign]
    found = regressions([step(3, 4)], place_of)
    (told,) = update_issues(found, place_of, subject_of, github)
    assert told.number == 1
    assert [one["state"] for one in api.issues] == ["open", "closed"]


def silences(github: GitHub, last: str, *waiting: str) -> list[IssueAction]:
    lasts = {"elephant": last, "mammoth": "2026-01-09T12:00:00.000Z"}
    now = datetime(2026, 1, 10, 11, tzinfo=UTC)
    return [one.action for one in update_silences(lasts, waiting, now, github)]


def test_a_machine_that_is_silent_for_a_day_has_one_issue_until_it_is_heard_of(github, api):
    silent, heard = "2026-01-09T10:59:00.000Z", "2026-01-10T10:30:00.000Z"
    assert silences(github, silent, "mammoth", "unknown") == []
    assert silences(github, silent, "elephant", "mammoth") == [IssueAction.OPENED]
    assert silences(github, silent, "elephant") == [IssueAction.UNCHANGED]
    assert api.issues[0]["title"] == "elephant has been silent since 2026-01-09T10:59 UTC"
    assert "`elephant` has something to measure" in api.issues[0]["body"]
    assert silences(github, heard) == [IssueAction.CLOSED]
    assert api.issues[0]["state"] == "closed"
    assert silences(github, heard, "elephant") == []


def test_the_issue_of_a_silent_machine_that_a_person_closed_stays_closed(github, api):
    silent = "2026-01-09T10:59:00.000Z"
    silences(github, silent, "elephant")
    api.issues[0]["state"] = "closed"
    assert silences(github, silent, "elephant") == [IssueAction.UNCHANGED]
    assert len(api.issues) == 1


def test_more_than_a_page_of_issues_is_read(github, api):
    for number in range(1, 151):
        text = str(mark(4)) if number == 130 else "nothing"
        issue = {"number": number, "state": "open", "title": "x", "body": text}
        api.issues.append(issue | {"labels": [LABEL]})
    assert actions(github, step(3, 4)) == [IssueAction.UPDATED]
    assert api.issues[129]["title"] != "x"


# --- what the API answers ------------------------------------------------------------------


def test_a_server_that_fails_is_asked_again_later_and_later(github, api, waits):
    api.failures = [Failure(500), Failure(502), Failure(503)]
    assert actions(github, step(3, 4)) == [IssueAction.OPENED]
    assert len(waits) == 3
    assert waits[2] > waits[0]


def test_a_server_that_goes_on_failing_is_one_clear_error(github, api):
    api.failures = [Failure(500)] * 99
    with pytest.raises(RemoteError, match="failed after 5 attempts"):
        actions(github, step(3, 4))
    api.failures = []
    assert actions(github, step(3, 4)) == [IssueAction.OPENED]


def test_an_issue_whose_answer_was_lost_is_not_opened_twice(github, api):
    original = api.answer

    def lose_the_first(method: str, path: str, facts: dict[str, Any]) -> tuple[int, Any]:
        status, value = original(method, path, facts)
        if method == "POST" and len(api.writes()) == 1:
            return 502, {"message": "lost"}
        return status, value

    api.answer = lose_the_first  # type: ignore[method-assign]
    assert actions(github, step(3, 4)) == [IssueAction.OPENED]
    assert len(api.issues) == 1
    assert len(api.writes()) == 1


def test_a_rate_limit_is_waited_for_as_long_as_it_says(github, api, waits):
    api.failures = [
        Failure(403, headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1042"}),
        Failure(429, headers={"retry-after": "7"}),
        Failure(403, message="You have exceeded a secondary rate limit"),
    ]
    assert actions(github, step(3, 4)) == [IssueAction.OPENED]
    assert waits == [42.0, 7.0, 60.0]


def test_a_rate_limit_that_takes_too_long_is_one_clear_error(github, api, waits):
    api.failures = [Failure(429, headers={"retry-after": "3600"})]
    with pytest.raises(RemoteError, match="wait for 3600 s"):
        actions(github, step(3, 4))
    assert waits == []


def test_what_is_forbidden_is_one_clear_error_at_once(github, api, waits):
    api.failures = [Failure(403, message="Resource not accessible by integration")]
    with pytest.raises(RemoteError, match="answered 403") as caught:
        actions(github, step(3, 4))
    assert "not accessible" in caught.value.detail
    assert "issues: write" in caught.value.hint
    assert len(api.calls) == 1
    assert waits == []


@pytest.mark.parametrize(("status", "hint"), [(401, "not valid"), (404, "see it")])
def test_other_refusals_say_what_they_may_mean(status, hint, github, api):
    api.failures = [Failure(status)]
    with pytest.raises(RemoteError) as caught:
        actions(github)
    assert hint in caught.value.hint


def test_a_repository_without_issues_is_said_once_and_ends_nothing(github, api, capsys):
    api.failures = [Failure(410, "Issues are disabled for this repo")]
    assert actions(github, step(3, 4), step(6, 7)) == [IssueAction.UNCHANGED] * 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "Issues are disabled in example/landspeed" in line
    assert len(api.calls) == 1


def test_an_answer_that_is_not_one_of_the_api_is_one_clear_error(github, api):
    api.issues.append({"number": "x", "labels": [LABEL]})
    with pytest.raises(RemoteError, match="could not be understood"):
        actions(github)


def test_a_redirect_is_not_followed_so_that_nobody_else_gets_the_token(github, api):
    with github_api() as other:
        api.failures = [Failure(307, headers={"location": other.url})]
        with pytest.raises(RemoteError, match="answered 307"):
            actions(github)
        assert other.calls == []


def test_nobody_there_is_one_clear_error(github):
    github.api = "http://127.0.0.1:9"
    with pytest.raises(RemoteError, match="failed after"):
        actions(github)


# --- comments, and the verb ------------------------------------------------------------------


def test_a_bisections_report_is_one_comment_however_often_it_runs(github, api):
    report = bisect_report(state="aaa-bbb-12345678-1.json")
    assert comment(github, 5, [report]) is IssueAction.OPENED
    assert comment(github, 5, [report]) is IssueAction.UNCHANGED
    again = replace(report, state="aaa-bbb-12345678-2.json", runs=99)
    assert comment(github, 5, [again]) is IssueAction.UPDATED
    other = replace(report, state="aaa-bbb-87654321-1.json")
    assert comment(github, 5, [other]) is IssueAction.OPENED
    assert len(api.comments[5]) == 2
    assert "99 runs" in api.comments[5][0]["body"]


@pytest.mark.parametrize(
    ("digest", "report"),
    [
        (OLD_BISECTION, bisect_report(state="aaa-bbb-12345678-3.json")),
        (
            OLD_RANKING,
            timed_sweep(
                {"bs4": [1.0, 1.1], "bs8": [1.0, 1.1]},
                metric_named("latency"),
                title="latency of 18 by variant",
                confidence=0.95,
            ),
        ),
    ],
)
def test_a_comment_of_an_earlier_version_is_updated(digest, report, github, api):
    api.comments[5] = [{"id": 1000, "body": f"<!-- landspeed-bisection {digest} -->\n# old\n"}]
    assert comment(github, 5, [report]) is IssueAction.UPDATED
    assert len(api.comments[5]) == 1
    assert "# old" not in api.comments[5][0]["body"]


def test_the_verb_says_what_is_missing_and_dry_run_asks_nobody(tmp_path):
    farm = Farm.make(tmp_path, commits=2)
    done = farm.landspeed("farm", "issues", check=False)
    assert done.returncode == 2
    assert "GITHUB_TOKEN is not set" in done.stderr
    done = farm.landspeed("farm", "issues", "--dry-run", "--json")
    assert json.loads(done.stdout) == []
    assert "no confirmed regression; 0 API calls" in done.stderr
    done = farm.landspeed("farm", "issues", "--comment", "3", check=False)
    assert done.returncode == 2


def test_a_number_of_an_issue_is_checked_before_there_is_a_report(tmp_path):
    farm = Farm.make(tmp_path, commits=1)
    done = farm.landspeed("farm", "issues", "--dry-run", "--comment", "42")
    assert "would comment on issue 42" in done.stderr
    for wrong in ("0", "-1", "#42", "42; id", "$(id)", "::set-output name=a::b"):
        done = farm.landspeed("farm", "issues", "--dry-run", "--comment", wrong, check=False)
        assert done.returncode == 2, wrong
        assert "invalid value for '--comment'" in done.stderr


def test_the_verb_comments_what_a_file_holds(tmp_path: Path, api):
    farm = Farm.make(tmp_path, commits=1)
    file = tmp_path / "bisect.json"
    report = bisect_report()
    file.write_text(json.dumps(to_json(report)))
    farm.landspeed("farm", "issues", "--comment", "3", str(file), **api.environment())
    assert api.comments[3][0]["body"].endswith(f"{markdown(report)}\n")
    file.write_text("# found\n")
    done = farm.landspeed(
        "farm", "issues", "--comment", "3", str(file), check=False, **api.environment()
    )
    assert "is not JSON" in done.stderr
    file.write_text("")
    told = api.environment() | {"GITHUB_RUN_ID": "77"}
    farm.landspeed("farm", "issues", "--comment", "3", str(file), **told)
    file.unlink()
    farm.landspeed("farm", "issues", "--comment", "3", str(file), **told)
    assert [one["body"].splitlines()[1] for one in api.comments[3][1:]] == [
        "There is no report. The log of workflow run 77 says why."
    ]
