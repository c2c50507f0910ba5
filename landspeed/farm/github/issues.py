"""GitHub issues kept in step with the records: one for each regression and silent machine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import TypeVar

from base.files import digest_text
from landspeed.bisect.report_markdown import AnyReport, reports_markdown
from landspeed.console.markdown import code
from landspeed.console.progress import say
from landspeed.farm.github.api import Comment, GitHub, Issue, IssuesDisabledError
from landspeed.farm.github.issue_text import Mark, SubjectOf, body, title
from landspeed.farm.github.regressions import Regression
from landspeed.results.series import PlaceOf

Told = TypeVar("Told", Issue, Comment)
LABEL = "landspeed-regression"
SILENT_LABEL = "landspeed-silent"
_SILENT_AFTER = timedelta(days=1)
_SILENCE = (
    "its last result is older than a day. Look whether its runner works: docs/runner.md.\n\n"
    "landspeed closes this issue when the machine has a new result. If you close it, it stays "
    "closed until then.\n"
)


class IssueAction(StrEnum):
    """What was done to an issue or comment."""

    OPENED = "opened"
    UPDATED = "updated"
    CLOSED = "closed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, kw_only=True)
class IssueUpdate:
    """The issue of a regression, and what was done to it.

    ``number``: None if the regression has no issue.
    ``body``: Markdown.
    """

    action: IssueAction
    number: int | None
    title: str
    body: str


def update_issues(
    found: Sequence[Regression], place_of: PlaceOf, subject_of: SubjectOf, github: GitHub | None
) -> Iterator[IssueUpdate]:
    """Open, update or close the issue of each regression in *found*; without *github* only list.

    A regression that was repaired before it had an issue gets none. An issue that a person closed
    stays closed. If the repository has issues disabled, say so once and change nothing.
    """
    texts = [(one, title(one, subject_of), body(one, subject_of)) for one in found]
    issues: list[Issue] = []
    if github is not None:
        try:
            issues = _without_duplicates(github.issues(LABEL), github)
        except IssuesDisabledError as error:
            say(f"no issue is opened or updated. {error.hint}")
            github = None
    for one, heading, text in texts:
        if github is None:
            action, number = IssueAction.UNCHANGED, None
        else:
            wanted = {"title": heading, "body": text}
            action, number = _update(one, wanted, issues, place_of, github)
        yield IssueUpdate(action=action, number=number, title=heading, body=text)


def _update(
    one: Regression,
    wanted: Mapping[str, str],
    issues: list[Issue],
    place_of: PlaceOf,
    github: GitHub,
) -> tuple[IssueAction, int | None]:
    issue = _issue_of(one, issues, place_of)
    if issue is None:
        if one.is_repaired:
            return IssueAction.UNCHANGED, None
        github.create(
            "issues",
            {**wanted, "labels": [LABEL]},
            lambda: _issue_of(one, github.issues(LABEL), place_of),
        )
        # Another run may have opened one at the same time.
        issues[:] = _without_duplicates(github.issues(LABEL), github)
        made = _issue_of(one, issues, place_of)
        return IssueAction.OPENED, made.number if made else None
    if issue.state != "open":
        return IssueAction.UNCHANGED, issue.number
    is_new = issue.title != wanted["title"] or not _is_same(issue.body, wanted["body"])
    if not (is_new or one.is_repaired):
        return IssueAction.UNCHANGED, issue.number
    closed = {"state": "closed", "state_reason": "completed"} if one.is_repaired else {}
    github.update(f"issues/{issue.number}", {**wanted, **closed})
    # It is of this regression now: another within its old span has an issue of its own.
    issues[issues.index(issue)] = issue.model_copy(update={**wanted, **closed})
    return IssueAction.CLOSED if closed else IssueAction.UPDATED, issue.number


def update_silences(
    lasts: Mapping[str, str], waiting: Collection[str], now: datetime, github: GitHub | None
) -> Iterator[IssueUpdate]:
    """Open one issue for each of the machines *waiting* whose last result is older than a day.

    *lasts* has the time of each machine's last result, *waiting* the names of those that have
    something to measure. An issue is closed when its machine has a new result; one that a person
    closed stays closed until then. A machine without any result gets none.
    """
    digests = {name: digest_text(f"{name} {last}")[:16] for name, last in lasts.items()}
    marks = {name: f"<!-- {SILENT_LABEL} {digest} -->" for name, digest in digests.items()}
    try:
        known = github.issues(SILENT_LABEL) if github else []
    except IssuesDisabledError:  # said when the regressions were told
        return
    for issue in known:
        if github and issue.state == "open" and _with_mark([issue], *marks.values()) is None:
            github.update(f"issues/{issue.number}", {"state": "closed"})
            yield IssueUpdate(
                action=IssueAction.CLOSED, number=issue.number, title=issue.title, body=""
            )
    for name in sorted(lasts.keys() & set(waiting)):
        if now - datetime.fromisoformat(lasts[name]) < _SILENT_AFTER:
            continue
        mark, heading = marks[name], f"{name} has been silent since {lasts[name][:16]} UTC"
        text = f"{mark}\n{code(name)} has something to measure, but {_SILENCE}"
        found, action = _with_mark(known, mark), IssueAction.UNCHANGED
        if github and found is None:
            content = {"title": heading, "body": text, "labels": [SILENT_LABEL]}
            github.create("issues", content, partial(_marked, github, mark))
            action = IssueAction.OPENED
        number = found.number if found else None
        yield IssueUpdate(action=action, number=number, title=heading, body=text)


def _marked(github: GitHub, mark: str) -> Issue | None:
    return _with_mark(github.issues(SILENT_LABEL), mark)


def _with_mark(told: Iterable[Told], *marks: str) -> Told | None:
    return next((one for one in told if (one.body or "").startswith(marks)), None)


def _without_duplicates(issues: list[Issue], github: GitHub) -> list[Issue]:
    """Close all but the oldest of several open issues with one mark; return the others.

    Two runs that find a regression at the same time open an issue each.
    """
    first: dict[Mark, int] = {}
    kept = []
    for issue in sorted(issues, key=lambda one: one.number):
        mark = Mark.read(issue.body or "") if issue.state == "open" else None
        if mark is not None and mark in first:
            # The new text has no mark, so no later run takes it for the regression's issue.
            text = f"The same as #{first[mark]}: two runs found it at once."
            wanted = {"state": "closed", "state_reason": "not_planned", "body": text}
            github.update(f"issues/{issue.number}", wanted)
            continue
        if mark is not None:
            first[mark] = issue.number
        kept.append(issue)
    return kept


def _issue_of(one: Regression, issues: Iterable[Issue], place_of: PlaceOf) -> Issue | None:
    """Return the issue about *one*: of several an open one, else the oldest."""
    about = [
        issue
        for issue in issues
        if (mark := Mark.read(issue.body or "")) and mark.is_about(one.span, place_of)
    ]
    return min(about, key=lambda issue: (issue.state != "open", issue.number), default=None)


def _is_same(one: str | None, other: str) -> bool:
    # A text that was edited in a browser has the line ends of one.
    return (one or "").replace("\r\n", "\n").strip() == other.strip()


def comment(github: GitHub, number: int, reports: Sequence[AnyReport]) -> IssueAction:
    """Put *reports* of a bisection under the issue *number*; the same bisection has one comment."""
    mark = f"<!-- landspeed-bisection {digest_text(reports[0].identity)[:16]} -->"
    return put_comment(github, number, mark=mark, text=reports_markdown(reports))


def put_comment(github: GitHub, number: int, *, mark: str, text: str) -> IssueAction:
    """Put *text* under the issue *number*: in the comment that begins with *mark*, if any does."""
    text = f"{mark}\n{text}\n"

    def existing() -> Comment | None:
        return _with_mark(github.comments(number), mark)

    before = existing()
    if before is None:
        github.create(f"issues/{number}/comments", {"body": text}, existing)
        return IssueAction.OPENED
    if _is_same(before.body, text):
        return IssueAction.UNCHANGED
    github.update(f"issues/comments/{before.id}", {"body": text})
    return IssueAction.UPDATED
