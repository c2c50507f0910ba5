"""Issues brought up to date with the records: opened, written anew, closed; each one once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from base.files import digest_text
from landspeed.farm.github import Facts, GitHub
from landspeed.farm.issue_text import Mark, SubjectOf, body, title
from landspeed.farm.regressions import Regression
from landspeed.results.series import PlaceOf

LABEL = "landspeed-regression"
_STATE = re.compile(r"The state is `([^`\n]+)-\d+\.json`")


class IssueAction(StrEnum):
    """A IssueAction is what was done about a Regression."""

    OPENED = "opened"
    UPDATED = "updated"
    CLOSED = "closed"
    LEFT = "left as it is"


@dataclass(frozen=True, kw_only=True)
class IssueUpdate:
    """A Told is a Regression as its issue tells it, and what was done to that issue."""

    deed: IssueAction
    number: int | None
    title: str
    body: str

    def facts(self) -> dict[str, Any]:
        """It as JSON can hold it."""
        return {**vars(self), "deed": self.deed.value}


def tell(
    found: Sequence[Regression], place_of: PlaceOf, subject_of: SubjectOf, github: GitHub | None
) -> Iterator[IssueUpdate]:
    """Bring the issues up to date with *found*, one after the other; without *github* only say.

    What is gone and was never told stays untold; what a person closed stays closed.
    """
    if github is None:
        for one in found:
            yield _told(IssueAction.LEFT, None, one, subject_of)
        return
    issues = _each_once(github.issues(LABEL), github)
    for one in found:
        yield _tell(one, issues, place_of, subject_of, github)


def _tell(
    one: Regression,
    issues: list[Facts],
    place_of: PlaceOf,
    subject_of: SubjectOf,
    github: GitHub,
) -> IssueUpdate:
    issue = _issue_of(one, issues, place_of)
    if issue is None:
        if one.is_gone:
            return _told(IssueAction.LEFT, None, one, subject_of)
        _open(one, place_of, subject_of, github)
        # another run may have been as fast
        issues[:] = _each_once(github.issues(LABEL), github)
        made = _issue_of(one, issues, place_of)
        return _told(IssueAction.OPENED, made["number"] if made else None, one, subject_of)
    told = _told(IssueAction.LEFT, issue["number"], one, subject_of)
    if issue["state"] != "open":
        return told
    wanted = {"title": told.title, "body": told.body}
    if one.is_gone:
        wanted |= {"state": "closed", "state_reason": "completed"}
        github.update(f"issues/{issue['number']}", wanted)
        return _told(IssueAction.CLOSED, issue["number"], one, subject_of)
    if issue["title"] == told.title and _same(issue["body"], told.body):
        return told
    github.update(f"issues/{issue['number']}", wanted)
    return _told(IssueAction.UPDATED, issue["number"], one, subject_of)


def _each_once(issues: list[Facts], github: GitHub) -> list[Facts]:
    """*issues*, but of open ones that are about the very same the oldest; others are closed.

    They are of runs that found it at once and did not see each other's.
    """
    first: dict[Mark, int] = {}
    kept = []
    for issue in sorted(issues, key=lambda one: int(one["number"])):
        mark = Mark.read(issue.get("body") or "") if issue["state"] == "open" else None
        if mark is not None and mark in first:
            # without the mark it is nobody's
            text = f"The same as #{first[mark]}: two runs found it at once."
            wanted = {"state": "closed", "state_reason": "not_planned", "body": text}
            github.update(f"issues/{issue['number']}", wanted)
            continue
        if mark is not None:
            first[mark] = int(issue["number"])
        kept.append(issue)
    return kept


def _told(
    deed: IssueAction, number: int | None, one: Regression, subject_of: SubjectOf
) -> IssueUpdate:
    return IssueUpdate(
        deed=deed, number=number, title=title(one, subject_of), body=body(one, subject_of)
    )


def _open(one: Regression, place_of: PlaceOf, subject_of: SubjectOf, github: GitHub) -> Facts:
    wanted = {"title": title(one, subject_of), "body": body(one, subject_of), "labels": [LABEL]}
    return github.create("issues", wanted, lambda: _issue_of(one, github.issues(LABEL), place_of))


def _issue_of(one: Regression, issues: Iterable[Facts], place_of: PlaceOf) -> Facts | None:
    """The issue about *one*; of several an open one, else the oldest."""
    about = [
        issue
        for issue in issues
        if (mark := Mark.read(issue.get("body") or "")) and mark.is_about(one.span, place_of)
    ]
    return min(about, key=lambda one: (one["state"] != "open", one["number"]), default=None)


def _same(one: str | None, other: str) -> bool:
    # what comes by a browser has the line ends of one
    return (one or "").replace("\r\n", "\n").strip() == other.strip()


def comment(github: GitHub, number: int, report: str) -> IssueAction:
    """Put *report*, a bisection's Markdown, under the issue *number*; the same bisection once."""
    mark = f"<!-- landspeed-bisection {_identity(report)} -->"
    text = f"{mark}\n{report}"

    def existing() -> Facts | None:
        found = github.comments(number)
        return next((one for one in found if (one.get("body") or "").startswith(mark)), None)

    before = existing()
    if before is None:
        github.create(f"issues/{number}/comments", {"body": text}, existing)
        return IssueAction.OPENED
    if _same(before["body"], text):
        return IssueAction.LEFT
    github.update(f"issues/comments/{before['id']}", {"body": text})
    return IssueAction.UPDATED


def _identity(report: str) -> str:
    state = _STATE.search(report)
    return digest_text(state[1] if state else report.partition("\n")[0])[:16]
