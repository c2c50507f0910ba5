"""A GitHub API of the test's own: keeps issues and comments, records calls, fails as told."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zipfile import ZipFile


@dataclass
class Failure:
    """An answer that was not asked for; ``done`` if it was done all the same.

    It comes to the next call whose path has ``where`` in it.
    """

    status: int
    message: str = "nope"
    headers: Mapping[str, str] = field(default_factory=dict)
    done: bool = False
    where: str = ""


@dataclass
class GitHubApi:
    """The server's memory; ``failures`` are what it answers first, in turn.

    ``runs`` are those that ended, what their jobs left is in ``stubs`` (tests/actions/stub.py).
    """

    url: str = ""
    repository: str = "example/landspeed"
    issues: list[dict[str, Any]] = field(default_factory=list)
    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    permissions: dict[str, str] = field(default_factory=dict)
    dispatched: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    stubs: Path | None = None

    def ended(
        self, number: int, began: datetime, conclusion: str, workflow: str = "track.yml"
    ) -> None:
        """A run of *workflow* ended."""
        times = {"created_at": _time(began), "updated_at": _time(datetime.now(UTC))}
        how = {"status": "completed", "conclusion": conclusion, "event": "schedule"}
        here = {"path": f".github/workflows/{workflow}"}
        repositories = {"repository": {"id": 1}, "head_repository": {"id": 1}}
        self.runs.insert(0, {"id": number, **how, **here, **times, **repositories})

    def artifacts(self) -> list[dict[str, Any]]:
        """All artifacts, the newest first."""
        paths = (self.stubs or Path("/nowhere")).glob("artifacts/*/*")
        found = sorted(paths, key=lambda path: path.stat().st_mtime_ns, reverse=True)
        return [
            {
                "id": zlib.crc32(bytes(path)),
                "name": path.name,
                "expired": False,
                "created_at": _time(datetime.fromtimestamp(path.stat().st_mtime, UTC)),
                "workflow_run": {
                    "id": int(path.parent.name),
                    "repository_id": 1,
                    "head_repository_id": 1,
                },
                "path": path,
            }
            for path in found
        ]

    def zipped(self, identifier: int) -> bytes:
        """An artifact as it is downloaded."""
        (path,) = (one["path"] for one in self.artifacts() if one["id"] == identifier)
        out = BytesIO()
        with ZipFile(out, "w") as archive:
            for file in path.rglob("*"):
                archive.write(file, file.relative_to(path))
        return out.getvalue()

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

    def answer(  # noqa: PLR0911, PLR0912  one for each call
        self, method: str, path: str, facts: dict[str, Any]
    ) -> tuple[int, Any]:
        """Status and JSON of a call."""
        where = urlsplit(path)
        parts = where.path.removeprefix(f"/repos/{self.repository}/").split("/")
        query = {key: values[0] for key, values in parse_qs(where.query).items()}
        match method, parts:
            case "GET", ["actions", "runs"]:
                return 200, {"workflow_runs": _page(self.runs, query)}
            case "GET", ["actions", "runs", number]:
                return next((200, one) for one in self.runs if one["id"] == int(number))
            case "GET", ["actions", "runs", number, "jobs"]:
                some = next(one.get("jobs", []) for one in self.runs if one["id"] == int(number))
                return 200, {"jobs": _page(some, query)}
            case "GET", ["actions", "runs", number, "artifacts"]:
                every = self.artifacts()
                some = [one for one in every if one["workflow_run"]["id"] == int(number)]
                return 200, {"artifacts": _page(some, query)}
            case "GET", ["actions", "artifacts"]:
                some = [one for one in self.artifacts() if one["name"] == query["name"]]
                return 200, {"artifacts": _page(some, query)}
            case "GET", ["actions", "artifacts", identifier, "zip"]:
                return 302, {"location": f"{self.url}/blob/{identifier}"}
            case "GET", ["collaborators", user, "permission"]:
                return 200, {"permission": self.permissions.get(user, "read")}
            case "POST", ["actions", "workflows", workflow, "dispatches"]:
                self.dispatched.append((workflow, facts))
                return 204, None
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


def _time(moment: datetime) -> str:
    return moment.isoformat()


def _page(found: list[dict[str, Any]], query: Mapping[str, str]) -> list[dict[str, Any]]:
    size, page = int(query["per_page"]), int(query["page"])
    return found[(page - 1) * size : page * size]


@contextmanager
def github_api() -> Iterator[GitHubApi]:
    """A GitHubApi that is served on this machine."""
    memory = GitHubApi()

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            if self.path.startswith("/blob/"):
                # as Azure's: it knows nothing of our token, and refuses who shows it
                body = memory.zipped(int(self.path.rpartition("/")[2]))
                self.send_response(400 if "Authorization" in self.headers else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                return
            length = int(self.headers.get("Content-Length") or 0)
            facts = json.loads(self.rfile.read(length) or b"{}")
            memory.calls.append((self.command, self.path))
            memory.tokens.add(self.headers.get("Authorization", ""))
            failure = next((one for one in memory.failures if one.where in self.path), None)
            status, value = 200, None
            if failure is not None:
                memory.failures.remove(failure)
            if failure is None or failure.done:
                status, value = memory.answer(self.command, self.path, facts)
            if failure is not None:
                status, value = failure.status, {"message": failure.message}
            self.send_response(status)
            headers = failure.headers if failure else {}
            if status == 302 and failure is None:
                headers = value
            for name, text in headers.items():
                self.send_header(name, text)
            body = json.dumps(value, default=str).encode()
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
