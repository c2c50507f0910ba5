"""GitHub's REST API, as much of it as issues and artifacts need: asked again when that helps, one
clear error when it does not. https://docs.github.com/rest/issues/issues, /rest/using-the-rest-api/
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
from email.message import Message
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, Self
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, Request, build_opener

from base.errors import RemoteError, UsageError

_API = "https://api.github.com"
_VERSION = "2022-11-28"
_TRIES = 5
_PATIENCE_SECONDS = 900.0
_TIMEOUT_SECONDS = 30.0
_PAGE = 100
_FOUND = 302
_REPOSITORY = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")
Facts = dict[str, Any]


class _Unclear(RemoteError):
    """What was asked for may have been done, or not."""


class _NoRedirect(HTTPRedirectHandler):
    """Somebody else's server is not given our token."""

    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(kw_only=True)
class GitHub:
    """A GitHub is the API at ``api``, for one ``repository`` (owner/name), by ``token``.

    ``calls`` counts requests; ``pause`` waits so many seconds.
    """

    api: str
    repository: str
    token: str
    say: Callable[[str], None]
    pause: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    calls: int = 0
    _waited: float = field(default=0.0, init=False)

    @classmethod
    def find(cls, say: Callable[[str], None]) -> Self:
        """What $GITHUB_API_URL, $GITHUB_REPOSITORY and $GITHUB_TOKEN name; UsageError if none."""
        repository, token = (os.environ.get(f"GITHUB_{n}", "") for n in ("REPOSITORY", "TOKEN"))
        if not _REPOSITORY.fullmatch(repository) or not token:
            raise UsageError(
                "nobody knows in which repository issues are kept",
                detail=f"GITHUB_REPOSITORY is {repository!r}, GITHUB_TOKEN is "
                f"{'set' if token else 'not set'}.",
                hint="Set both, or look at what would be written with --dry-run.",
            )
        api = (os.environ.get("GITHUB_API_URL") or _API).rstrip("/")
        if not api.startswith(("https://", "http://")):
            raise UsageError(f'"{api}" is not the address of an API', hint="See GITHUB_API_URL.")
        return cls(api=api, repository=repository, token=token, say=say)

    # -- issues ------------------------------------------------------------------------------

    def issues(self, label: str) -> list[Facts]:
        """Every issue with *label*, open or closed; pull requests, which the API mixes in, not."""
        found = self.listed(f"issues?state=all&labels={quote(label)}")
        return [one for one in found if "pull_request" not in one]

    def comments(self, number: int) -> list[Facts]:
        """Every comment on the issue *number*."""
        return self.listed(f"issues/{number}/comments?")

    def create(
        self, path: str, facts: Mapping[str, Any], existing: Callable[[], Facts | None]
    ) -> Facts:
        """What *facts* make at *path*; made once, though an answer was lost.

        *existing* looks whether it is there after all.
        """
        for number in range(_TRIES):
            try:
                return dict(self._ask("POST", path, facts, once=True))
            except _Unclear as error:
                self._back_off(number, error)
                found = existing()
                if found is not None:
                    return found
        return dict(self._ask("POST", path, facts, once=True))

    def update(self, path: str, facts: Mapping[str, Any]) -> Facts:
        """What is at *path* with *facts* changed."""
        return dict(self._ask("PATCH", path, facts))

    def listed(self, path: str, key: str = "", *, pages: int = 1000) -> list[Facts]:
        """What is listed at *path* (with its query), of at most so many *pages*; below *key*."""
        found: list[Facts] = []
        for page in range(1, pages + 1):
            answer = self._ask("GET", f"{path}&per_page={_PAGE}&page={page}")
            some = answer[key] if key else answer
            found += some
            if len(some) < _PAGE:
                break
        return found

    # -- files -------------------------------------------------------------------------------

    def download(self, path: str, file: Path) -> None:
        """Write to *file* what is at *path*, which GitHub keeps elsewhere: no token goes there."""
        for number in range(_TRIES):
            # where it is holds for a minute: asked for anew each time
            where = str(self._ask("GET", path, moved=True))
            if not where.startswith(("https://", "http://")):
                raise RemoteError(f"{self.api} sends us nowhere", detail=f"GET {path}: {where!r}")
            try:
                self._load(where, file)
            except (OSError, HTTPException) as error:
                failure = RemoteError("a file of GitHub's could not be read", detail=str(error))
                self._back_off(number, failure)
            else:
                return
        raise self._in_vain("GET", path)

    def _load(self, where: str, file: Path) -> None:
        self.calls += 1
        opener = build_opener(_NoRedirect)
        answer: HTTPResponse
        with opener.open(where, timeout=_TIMEOUT_SECONDS) as answer, file.open("wb") as out:
            shutil.copyfileobj(answer, out)

    # -- asking ------------------------------------------------------------------------------

    def _ask(
        self,
        method: str,
        path: str,
        facts: Mapping[str, Any] | None = None,
        *,
        once: bool = False,
        moved: bool = False,
    ) -> Any:
        """The JSON that the API answers, or where it sends us if what we ask for is *moved*.

        It is asked *once* only where asking again could do it twice.
        """
        for number in range(_TRIES):
            try:
                return self._open(method, path, facts)
            except HTTPError as error:
                if moved and error.code == _FOUND:
                    return error.headers.get("location", "")
                said = _said(error)
                wait = self._wait(error, said)
                if wait is not None:
                    self._rest(wait)
                    continue
                failure = self._failure(error.code, method, path, said)
                if error.code < 500:
                    raise failure from error
            except (OSError, HTTPException, ValueError) as error:
                failure = RemoteError(f"{self.api} did not answer", detail=str(error))
            if once:
                raise _Unclear(failure.message, detail=failure.detail, hint=failure.hint)
            self._back_off(number, failure)
        raise self._in_vain(method, path)

    def _in_vain(self, method: str, path: str) -> RemoteError:
        return RemoteError(
            f"{self.api} did not do it, though asked {_TRIES} times",
            detail=f"{method} {path}",
            hint="Give the same command again later: what is done already is not done again.",
        )

    def _open(self, method: str, path: str, facts: Mapping[str, Any] | None) -> Any:
        self.calls += 1
        request = Request(  # noqa: S310  the address is http or https
            f"{self.api}/repos/{self.repository}/{path}",
            method=method,
            data=None if facts is None else json.dumps(facts).encode(),
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

    def _wait(self, error: HTTPError, said: str) -> float | None:
        """Seconds after which a rate limit lets us again; None if that is not what it is."""
        headers: Message = error.headers
        limited = headers.get("x-ratelimit-remaining") == "0" or "rate limit" in said.lower()
        after = headers.get("retry-after")
        if error.code not in (403, 429) or not (limited or after or error.code == 429):
            return None
        if after and after.isdecimal():
            return float(after)
        reset = headers.get("x-ratelimit-reset", "")
        return max(1.0, float(reset) - self.clock()) if reset.isdecimal() else 60.0

    def _rest(self, seconds: float) -> None:
        self._waited += seconds
        if self._waited > _PATIENCE_SECONDS:
            raise RemoteError(
                f"{self.api} asks us to wait for {seconds:.0f} s: its rate limit is used up",
                hint="Give the same command again later: what is done already is not done again.",
            )
        self.say(f"{self.api} asks us to wait for {seconds:.0f} s")
        self.pause(seconds)

    def _back_off(self, number: int, error: RemoteError) -> None:
        seconds = 2.0**number * random.uniform(0.5, 1.0)  # noqa: S311
        self.say(f"{error.message}: asking again in {seconds:.1f} s")
        self.pause(seconds)

    def _failure(self, code: int, method: str, path: str, said: str) -> RemoteError:
        right = "actions: read" if path.startswith("actions/") else "issues: write"
        hints = {
            401: "GITHUB_TOKEN is not valid, or not any more.",
            403: f"The job needs the permission {right}.",
            404: f"Is there a repository {self.repository} that GITHUB_TOKEN may see?",
            410: f"Issues are disabled in {self.repository}.",
        }
        return RemoteError(
            f"{self.api} answered {code}",
            detail=f"{method} {path.partition('?')[0]}: {said}",
            hint=hints.get(code, ""),
        )


def _said(error: HTTPError) -> str:
    """What the API says went wrong, in its own words."""
    try:
        text = error.read().decode(errors="replace")
        return str(json.loads(text)["message"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return str(error.reason)
