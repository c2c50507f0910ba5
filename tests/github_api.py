"""A GitHub API of the test's own: keeps issues and comments, records calls, fails as told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Failure:
    """A Failure is an answer that was not asked for; ``done`` if it was done all the same."""

    status: int
    message: str = "nope"
    headers: Mapping[str, str] = field(default_factory=dict)
    done: bool = False


@dataclass
class GitHubApi:
    """A GitHubApi is the server's memory; ``failures`` are what it answers first, in turn."""

    url: str = ""
    repository: str = "example/landspeed"
    issues: list[dict[str, Any]] = field(default_factory=list)
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """What a workflow's job has."""
        return {
            "GITHUB_API_URL": self.url,
            "GITHUB_REPOSITORY": self.repository,
            "GITHUB_TOKEN": "a-token",
            "no_proxy": "127.0.0.1",
        }

    def writes(self) -> list[str]:
        """The calls that changed something."""
        return [f"{method} {path}" for method, path in self.calls if method != "GET"]

    def answer(  # noqa: PLR0911  one for each call
        self, method: str, path: str, facts: dict[str, Any]
    ) -> tuple[int, Any]:
        """Status and JSON of a call."""
        where = urlsplit(path)
        parts = where.path.removeprefix(f"/repos/{self.repository}/").split("/")
        query = {key: values[0] for key, values in parse_qs(where.query).items()}
        match method, parts:
            case "GET", ["issues"]:
                assert query["state"] == "all"
                found = [one for one in self.issues if query["labels"] in one["labels"]]
                return 200, _page(found, query)
            case "POST", ["issues"]:
                issue = {"number": len(self.issues) + 1, "state": "open", **facts}
                self.issues.append(issue)
                return 201, issue
            case "PATCH", ["issues", number] if number.isdecimal():
                self.issues[int(number) - 1] |= facts
                return 200, self.issues[int(number) - 1]
            case "GET", ["issues", number, "comments"]:
                return 200, _page(self.comments.get(int(number), []), query)
            case "POST", ["issues", number, "comments"]:
                made = {"id": 1000 + sum(map(len, self.comments.values())), **facts}
                self.comments.setdefault(int(number), []).append(made)
                return 201, made
            case "PATCH", ["issues", "comments", identifier]:
                every = (one for some in self.comments.values() for one in some)
                found = next(one for one in every if one["id"] == int(identifier))
                found |= facts
                return 200, found
        return 404, {"message": "Not Found"}


def _page(found: list[dict[str, Any]], query: Mapping[str, str]) -> list[dict[str, Any]]:
    size, page = int(query["per_page"]), int(query["page"])
    return found[(page - 1) * size : page * size]


@contextmanager
def github_api() -> Iterator[GitHubApi]:
    """A GitHubApi that is served on this machine."""
    memory = GitHubApi()

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            facts = json.loads(self.rfile.read(length) or b"{}")
            memory.calls.append((self.command, self.path))
            memory.tokens.add(self.headers.get("Authorization", ""))
            failure = memory.failures.pop(0) if memory.failures else None
            status, value = 200, None
            if failure is None or failure.done:
                status, value = memory.answer(self.command, self.path, facts)
            if failure is not None:
                status, value = failure.status, {"message": failure.message}
            self.send_response(status)
            for name, text in (failure.headers if failure else {}).items():
                self.send_header(name, text)
            body = json.dumps(value).encode()
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PATCH = _do

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        memory.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield memory
        finally:
            server.shutdown()
