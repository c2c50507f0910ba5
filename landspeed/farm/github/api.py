"""The parts of GitHub's REST API that issues and artifacts need, with retries.

Our own rather than PyGithub: that repeats a POST whose answer was lost, which opens an issue twice,
and brings a dozen packages into the job that may write to the results branch.
https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from base.errors import RemoteError, UsageError
from landspeed.console.progress import say

_API = "https://api.github.com"
_VERSION = "2022-11-28"
_TRIES = 5
_PATIENCE_SECONDS = 900.0
_TIMEOUT_SECONDS = 30.0
_PAGE = 100
_FOUND, _GONE = 302, 410
_REPOSITORY = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")
_ADDRESS = ("https://", "http://")


class Answer(BaseModel):
    """What we read of an object that the API returns; it may have more."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Issue(Answer):
    """An issue, or a pull request, which the API lists among them.

    ``state``: ``open`` or ``closed``.
    """

    number: int
    state: str
    title: str = ""
    body: str | None = None
    pull_request: object = None


class Comment(Answer):
    """A comment on an issue."""

    id: int
    body: str | None = None


Some = TypeVar("Some", bound=Answer)


class IssuesDisabledError(RemoteError):
    """The repository has no issues, as forks have none by default."""


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirect: another server must not get our token."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(kw_only=True)
class GitHub:
    """The API of one repository.

    ``api``: The base address, without a slash at the end.
    ``repository``: OWNER/NAME.
    ``pause``: Waits for a number of seconds.
    ``calls``: The number of requests made.
    """

    api: str
    repository: str
    token: str
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    calls: int = 0
    _waited: float = field(default=0.0, init=False)

    @classmethod
    def find(cls) -> Self:
        """Read $GITHUB_API_URL, $GITHUB_REPOSITORY and $GITHUB_TOKEN; UsageError if one lacks."""
        repository, token = (os.environ.get(f"GITHUB_{n}", "") for n in ("REPOSITORY", "TOKEN"))
        if not _REPOSITORY.fullmatch(repository) or not token:
            raise UsageError(
                "no GitHub repository is configured",
                detail=f"GITHUB_REPOSITORY is {repository!r}, GITHUB_TOKEN is "
                f"{'set' if token else 'not set'}.",
                hint='Set both. "landspeed farm issues --dry-run" needs neither.',
            )
        api = (os.environ.get("GITHUB_API_URL") or _API).rstrip("/")
        if not api.startswith(_ADDRESS):
            raise UsageError(f'"{api}" is not the address of an API', hint="See GITHUB_API_URL.")
        return cls(api=api, repository=repository, token=token)

    def issues(self, label: str) -> list[Issue]:
        """Return every issue with *label*, open or closed. IssuesDisabledError if there are none.

        https://docs.github.com/rest/issues/issues#list-repository-issues
        """
        found = self.listed(f"issues?state=all&labels={quote(label)}", Issue)
        return [one for one in found if one.pull_request is None]

    def comments(self, number: int) -> list[Comment]:
        """Return every comment on the issue *number*."""
        return self.listed(f"issues/{number}/comments?", Comment)

    def permission(self, user: str) -> str:
        """Return what *user* may do in the repository: admin, write, read or none.

        https://docs.github.com/rest/collaborators/collaborators#get-repository-permissions-for-a-user
        """
        answer = self._ask("GET", f"collaborators/{quote(user, safe='')}/permission")
        return str(answer.get("permission", "none"))

    def dispatch(self, workflow: str, branch: str, inputs: Mapping[str, str]) -> None:
        """Start *workflow*, a file name, as it is on *branch*.

        https://docs.github.com/rest/actions/workflows#create-a-workflow-dispatch-event
        """
        path = f"actions/workflows/{workflow}/dispatches"
        self._ask("POST", path, {"ref": branch, "inputs": dict(inputs)})

    def create(
        self, path: str, content: Mapping[str, object], existing: Callable[[], object | None]
    ) -> None:
        """Create *content* at *path*, once even if an answer is lost.

        *existing* looks up what a request without an answer may have created.
        """
        self._ask("POST", path, content, existing=existing)

    def update(self, path: str, content: Mapping[str, object]) -> None:
        """Change what is at *path* to *content*."""
        self._ask("PATCH", path, content)

    def listed(
        self, path: str, kind: type[Some], key: str = "", *, pages: int = 1000
    ) -> list[Some]:
        """Return what at most *pages* of the list at *path* (with its query) hold below *key*."""
        found: list[Some] = []
        for page in range(1, pages + 1):
            where = f"{path}&per_page={_PAGE}&page={page}"
            some = self._read(where, TypeAdapter(list[kind]), key)  # type: ignore[valid-type]
            found += some
            if len(some) < _PAGE:
                break
        return found

    def found(self, path: str, kind: type[Some]) -> Some:
        """Return the object at *path*."""
        one: Some = self._read(path, TypeAdapter(kind))
        return one

    def _read(self, path: str, kind: TypeAdapter[Any], key: str = "") -> Any:
        answer = self._ask("GET", path)
        try:
            return kind.validate_python(answer[key] if key else answer)
        except (ValidationError, KeyError, TypeError) as error:
            raise RemoteError(
                f"the answer of {self.api} could not be understood",
                detail=f"GET {path.partition('?')[0]}: {error}",
            ) from error

    def download(self, path: str, file: Path) -> None:
        """Write what is at *path* to *file*; GitHub redirects to a server that gets no token."""
        for number in range(_TRIES):
            # The address is valid for a minute, so each attempt asks for a new one.
            where = str(self._ask("GET", path, redirects=True))
            if not where.startswith(_ADDRESS):
                raise RemoteError(
                    f"{self.api} redirected to no address", detail=f"GET {path}: {where!r}"
                )
            self.calls += 1
            opened = build_opener(_NoRedirect)
            try:
                with opened.open(where, timeout=_TIMEOUT_SECONDS) as got, file.open("wb") as out:
                    shutil.copyfileobj(got, out)
            except (OSError, HTTPException) as error:
                self._back_off(number, RemoteError("a download failed", detail=str(error)))
            else:
                return
        raise self._gave_up("GET", path)

    def _ask(
        self,
        method: str,
        path: str,
        content: Mapping[str, object] | None = None,
        *,
        existing: Callable[[], object | None] = lambda: None,
        redirects: bool = False,
    ) -> Any:
        """Return the API's JSON, or the address it redirects to if *redirects* is set.

        A request without an answer is not repeated once *existing* returns what it created.
        """
        for number in range(_TRIES):
            try:
                return self._open(method, path, content)
            except HTTPError as error:
                if redirects and error.code == _FOUND:
                    return error.headers.get("location", "")
                reason = _reason(error)
                wait = self._limit(error, reason)
                if wait is not None:
                    self._wait(wait)
                    continue
                failure = self._failure(error.code, method, path, reason)
                if error.code < 500:
                    raise failure from error
            except (OSError, HTTPException, ValueError) as error:
                failure = RemoteError(f"{self.api} did not answer", detail=str(error))
            self._back_off(number, failure)
            if existing() is not None:
                return None
        raise self._gave_up(method, path)

    def _gave_up(self, method: str, path: str) -> RemoteError:
        return RemoteError(
            f"a request to {self.api} failed after {_TRIES} attempts",
            detail=f"{method} {path}",
            hint="Repeat the command later: it skips what is done already.",
        )

    def _open(self, method: str, path: str, content: Mapping[str, object] | None) -> Any:
        self.calls += 1
        request = Request(  # noqa: S310  the address is http or https
            f"{self.api}/repos/{self.repository}/{path}",
            method=method,
            data=None if content is None else json.dumps(content).encode(),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
                "User-Agent": "landspeed",
                "X-GitHub-Api-Version": _VERSION,
            },
        )
        answer: HTTPResponse
        with build_opener(_NoRedirect).open(request, timeout=_TIMEOUT_SECONDS) as answer:
            return json.loads(answer.read() or b"null")

    def _limit(self, error: HTTPError, reason: str) -> float | None:
        """Return the seconds that a rate limit asks us to wait; None if *error* is no rate limit.

        https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api
        """
        headers = error.headers
        limited = headers.get("x-ratelimit-remaining") == "0" or "rate limit" in reason.lower()
        after = headers.get("retry-after")
        if error.code not in (403, 429) or not (limited or after or error.code == 429):
            return None
        if after and after.isdecimal():
            return float(after)
        reset = headers.get("x-ratelimit-reset", "")
        return max(1.0, float(reset) - self.clock()) if reset.isdecimal() else 60.0

    def _wait(self, seconds: float) -> None:
        self._waited += seconds
        if self._waited > _PATIENCE_SECONDS:
            raise RemoteError(
                f"the rate limit of {self.api} asks us to wait for {seconds:.0f} s",
                hint="Repeat the command later: it skips what is done already.",
            )
        say(f"waiting for {seconds:.0f} s: the rate limit of {self.api} is used up")
        self.pause(seconds)

    def _back_off(self, number: int, error: RemoteError) -> None:
        seconds = 2.0**number * random.uniform(0.5, 1.0)  # noqa: S311
        say(f"{error.message}: repeating the request in {seconds:.1f} s")
        self.pause(seconds)

    def _failure(self, code: int, method: str, path: str, reason: str) -> RemoteError:
        right = "actions: read" if path.startswith("actions/") else "issues: write"
        right = "actions: write" if path.endswith("/dispatches") else right
        hints = {
            401: "GITHUB_TOKEN is not valid, or has expired.",
            403: f"The job needs the permission {right}.",
            404: f"Does the repository {self.repository} exist, and may GITHUB_TOKEN see it?",
            _GONE: f"Issues are disabled in {self.repository}: enable them in its settings.",
        }
        kind = IssuesDisabledError if code == _GONE else RemoteError
        return kind(
            f"{self.api} answered {code}",
            detail=f"{method} {path.partition('?')[0]}: {reason}",
            hint=hints.get(code, ""),
        )


def _reason(error: HTTPError) -> str:
    """Return what the API says went wrong."""
    try:
        return str(json.loads(error.read().decode(errors="replace"))["message"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return str(error.reason)
