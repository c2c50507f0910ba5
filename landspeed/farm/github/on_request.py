"""Comparisons that a maintainer asks for in a comment on an issue of the farm's repository.

The text of a comment is anybody's. It is parsed here by a strict grammar, reaches no shell, and
what it asks for is checked again by the workflow that it starts.
"""

from __future__ import annotations

import re
from typing import Any, Self

from pydantic import BaseModel, ValidationError

from base.errors import LandspeedError, UsageError
from benchmarks.workloads.catalog import SUITES
from builders.source.refs import parse_ref
from landspeed.console.markdown import code
from landspeed.farm.github.api import GitHub
from landspeed.farm.github.issues import put_comment

WORKFLOW = "compare.yml"
_MAY_WRITE = ("admin", "write")
_LONGEST = 200
_COMMAND = "/landspeed"
_SUITE = "standard"
_FORM = re.compile(rf"{_COMMAND} compare ([!-~]+)(?: --suite ({'|'.join(SUITES)}))?")


class _User(BaseModel):
    login: str


class _Comment(BaseModel):
    id: int
    body: str
    user: _User


class _Issue(BaseModel):
    number: int


class _Repository(BaseModel):
    default_branch: str


class CommentEvent(BaseModel):
    """A comment on an issue, as GitHub tells of it.

    https://docs.github.com/webhooks/webhook-events-and-payloads#issue_comment
    """

    action: str
    comment: _Comment
    issue: _Issue
    repository: _Repository

    @classmethod
    def parse(cls, facts: Any) -> Self:
        """Return the event that *facts* hold; UsageError if they are none."""
        try:
            return cls.model_validate(facts)
        except ValidationError as error:
            raise UsageError("this is no comment on an issue", detail=str(error)) from error


def parse_request(text: str) -> dict[str, str]:
    """Return what the first line of a comment *text* asks for, as the workflow's inputs.

    The ``patch`` is compared with master over the ``suite``. UsageError if it is no request,
    RefError if what is to be compared cannot be a ref.
    """
    line = text.partition("\n")[0].rstrip("\r ")
    match = _FORM.fullmatch(line) if len(line) <= _LONGEST else None
    if match is None:
        raise UsageError(
            "this is no request",
            hint=f"Write {_COMMAND} compare REF or "
            f"{_COMMAND} compare REF --suite {'|'.join(SUITES)}.",
        )
    parse_ref(match[1])
    return {"patch": match[1], "suite": match[2] or _SUITE}


def answer(github: GitHub, event: CommentEvent) -> str:
    """Start what the comment asks for, or say on its issue why not; return what was done.

    Only people who may write to the repository are answered.
    """
    text, who = event.comment.body, event.comment.user.login
    if event.action != "created" or not re.match(rf"{_COMMAND}\s", text):
        return "no request"
    if github.permission(who) not in _MAY_WRITE:
        return f"{who} may not write to the repository"
    try:
        inputs = {**parse_request(text), "issue": str(event.issue.number)}
    except LandspeedError as error:
        put_comment(
            github,
            event.issue.number,
            mark=f"<!-- landspeed-request {event.comment.id} -->",
            text="\n".join(map(code, error.lines())),
        )
        return str(error)
    github.dispatch(WORKFLOW, event.repository.default_branch, inputs)
    return f"started {WORKFLOW} with {inputs}"
