"""Workflows under the real act, unmodified, without a network: what ran, what came out of it.

A `Hub` is a repository as GitHub would have it: this checkout's ``.github``, but for two keys
that act 0.2.89 does not know (``cache-mode`` and ``queue``), and
around it what the test puts there. act copies its files into a workspace of each job as checkout
does. GitHub's own actions are stood in for by those of tests/actions, at whatever SHA a workflow
names them; act is told so for each, and refuses what has no stand-in.

act's peculiarities are met here: it runs a job with an empty matrix once, so look at ``cells``; it
does not check the choices of a dispatch; a failed job's workspace stays, so each run has its own.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
STUBS = CHECKOUT / "tests" / "actions"
WORKFLOWS = CHECKOUT / ".github" / "workflows"
CHECKOUT_ACTION = "actions/checkout"  # act does that one itself
_USES = re.compile(r"^\s*(?:-\s+)?uses:\s*([\w.-]+/[\w.-]+)([\w./-]*)@([\w.-]+)", re.M)
_NEWER_THAN_ACT = re.compile(r"^ *(cache-mode: .*|queue: max)\n", re.M)
_LABELS = ("ubuntu-24.04", "self-hosted", "landspeed-bench")
_IDENTITY = {
    "GIT_AUTHOR_NAME": "A Maintainer",
    "GIT_AUTHOR_EMAIL": "maintainer@example.org",
    "GIT_COMMITTER_NAME": "A Maintainer",
    "GIT_COMMITTER_EMAIL": "maintainer@example.org",
}
# What of the tests' own environment a job may see: a runner's is nearly empty. The lock is
# the tests' own: a job waits for no landspeed that measures beside them.
_PASSED = ("PATH", "HOME", "LANG", "TMPDIR", "USER", "LOGNAME", "LANDSPEED_MEASURE_LOCK")


def act_program() -> str | None:
    """act, on PATH or where tools/setup puts it; None if it is not there."""
    places = (CHECKOUT / ".venv/bin", Path(sys.executable).parent)
    return shutil.which("act", path=":".join([*map(str, places), os.environ["PATH"]]))


needs_act = pytest.mark.skipif(
    act_program() is None, reason="no act on PATH (tools/setup --test installs it where Go is)"
)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A job that ran once: its id, the matrix values it had, how it ended."""

    job: str
    matrix: Mapping[str, Any]
    result: str


@dataclass(frozen=True, kw_only=True)
class ActRun:
    """What act told of one workflow run, record by record; ``number`` is its id."""

    number: int
    code: int
    records: Sequence[Mapping[str, Any]]
    stderr: str

    @cached_property
    def cells(self) -> list[Cell]:
        """Every job that ran to an end, once for each of its matrix cells, in that order."""
        return [
            Cell(job=self._job(one), matrix=one.get("matrix") or {}, result=one["jobResult"])
            for one in self.records
            if one.get("jobResult") in ("success", "failure")
        ]

    @property
    def jobs(self) -> dict[str, str]:
        """How each job ended, a failure in one cell counting; in the order of their ends."""
        found: dict[str, str] = {}
        for cell in self.cells:
            bad = "failure" in (cell.result, found.get(cell.job))
            found[cell.job] = "failure" if bad else cell.result
        return found

    @property
    def errors(self) -> list[str]:
        """What act or an action called an error."""
        return [str(one["msg"]) for one in self.records if one.get("level") in ("error", "fatal")]

    def outputs(self, job: str) -> dict[str, str]:
        """The outputs that steps of *job* set, by name; the last one's if several set it."""
        return {
            str(one["name"]): str(one["arg"])
            for one in self._of(job)
            if one.get("command") == "set-output"
        }

    def commands(self) -> list[str]:
        """The lines that a step printed and that were taken for a workflow command."""
        return [str(one["raw"]) for one in self.records if "raw" in one and "command" in one]

    def summary(self, job: str) -> str:
        """The step summaries of *job*, one after the other."""
        return "\n".join(
            str(one["content"]) for one in self._of(job) if one.get("command") == "summary"
        )

    def log(self, job: str | None = None) -> str:
        """What the steps of *job*, or of all, printed."""
        some = self.records if job is None else self._of(job)
        return "".join(str(one["msg"]).rstrip("\n") + "\n" for one in some if one.get("raw_output"))

    def steps(self, job: str) -> dict[str, str]:
        """How each step of *job* that ran ended, by its name."""
        return {
            str(one["step"]): str(one["stepResult"])
            for one in self._of(job)
            if one.get("stepResult") and one.get("stage") == "Main" and len(one["stepID"]) == 1
        }

    def told(self) -> str:
        """All of it for a person: shown when an assertion fails."""
        shown = [f"[{self._job(one)}] {one['msg']}".rstrip() for one in self.records]
        return "\n".join([*shown, self.stderr])

    def _of(self, job: str) -> Iterator[Mapping[str, Any]]:
        return (one for one in self.records if self._job(one) == job)

    @staticmethod
    def _job(record: Mapping[str, Any]) -> str:
        # the jobs of a reusable workflow are called CALLER/JOB, padded to one width
        name, job = str(record.get("job", "")).strip(), str(record.get("jobID", ""))
        caller = name.split("/")[1:-1]
        return "/".join([*(one.strip() for one in caller), job])


@dataclass(kw_only=True)
class Hub:
    """A repository on a GitHub of the test's own; ``stubs`` has artifacts and caches.

    ``environment`` is that of the runner, ``variables`` are the repository's, ``secrets`` too.
    ``actions`` are directories with actions that are not stood in for, by OWNER/NAME.
    """

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=lambda: {"GITHUB_TOKEN": "a-token"})
    actions: dict[str, Path] = field(default_factory=dict)
    name: str = "example/landspeed"
    _numbers: Iterator[int] = field(default_factory=lambda: count(1001))

    @property
    def repository(self) -> Path:
        return self.root / "repository"

    @property
    def stubs(self) -> Path:
        return self.root / "stubs"

    @classmethod
    def make(cls, root: Path, landspeed: Sequence[str], files: Mapping[str, str]) -> Hub:
        """A Hub below *root*; *landspeed* is the command that ``.venv/bin/landspeed`` stands for.

        *files* are further files of the repository. Its tools/setup makes just that program.
        """
        hub = cls(root=root)
        shutil.copytree(CHECKOUT / ".github", hub.repository / ".github")
        for path in (hub.repository / ".github/workflows").iterdir():
            path.write_text(_NEWER_THAN_ACT.sub("", path.read_text()))
        written = {
            **{name: (CHECKOUT / name).read_text() for name in ("asv.conf.json", "landspeed.toml")},
            ".gitignore": (CHECKOUT / ".gitignore").read_text(),
            "tools/setup": pretended_setup(landspeed),
            **files,
        }
        for name, text in written.items():
            path = hub.repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755 if text.startswith("#!") else 0o644)
        hub.git("init", "--quiet", "--initial-branch=main")
        hub.commit()
        return hub

    def git(self, *arguments: str) -> str:
        """git in the repository; what it prints."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.repository,
            env=os.environ | _IDENTITY,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self) -> None:
        """Commit all that is in the repository's directory."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=as it is")

    def run(
        self,
        workflow: str,
        event: str = "workflow_dispatch",
        *,
        inputs: Mapping[str, object] | None = None,
        payload: Mapping[str, Any] | None = None,
        ref: str = "refs/heads/main",
        timeout: float = 600.0,
    ) -> ActRun:
        """One run of *workflow* (a file name) for *event*, dispatched with *inputs*."""
        number, work, process = self._started(workflow, event, inputs or {}, payload or {}, ref)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired as late:
            last = (work / "log").read_text().splitlines()[-20:]
            told = "\n".join([f"{late}; it runs:", *self._jobs().values(), "it said:", *last])
            self._kill(process)
            raise AssertionError(told) from None
        lines, stderr = (work / "log").read_text().splitlines(), (work / "errors").read_text()
        records = [json.loads(line) for line in lines if line.startswith("{")]
        shutil.rmtree(work, ignore_errors=True)
        return ActRun(number=number, code=code, records=records, stderr=stderr)

    def run_and_kill(
        self,
        workflow: str,
        when: Callable[[], bool],
        *,
        event: str = "workflow_dispatch",
        inputs: Mapping[str, object] | None = None,
        payload: Mapping[str, Any] | None = None,
        timeout: float = 900.0,
    ) -> int:
        """Begin a run, and when *when* comes true kill the runner with all that it has started.

        The number of that run.
        """
        main = "refs/heads/main"
        number, work, process = self._started(workflow, event, inputs or {}, payload or {}, main)
        end = time.monotonic() + timeout
        try:
            while not when():
                assert process.poll() is None, f"it ended:\n{(work / 'log').read_text()}"
                assert time.monotonic() < end, f"too late:\n{(work / 'log').read_text()}"
                time.sleep(0.02)
        finally:
            self._kill(process)
        shutil.rmtree(work, ignore_errors=True)
        return number

    def _jobs(self) -> dict[int, str]:
        """What jobs of this Hub are running, by process: they have its stubs in their environment.

        Each with what it waits for in the kernel.
        """
        mark, found = f"ACT_STUBS={self.stubs}".encode(), {}
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (path / "environ").read_bytes().split(b"\0"):
                    command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    waits = (path / "wchan").read_text()
                    found[int(path.name)] = f"{path.name} ({waits}) {command[:300]}"
        return found

    def _kill(self, runner: subprocess.Popen[bytes]) -> None:
        """Kill *runner* and what jobs of this Hub are running."""
        runner.kill()
        for _ in range(3):  # one may start another while it is looked for
            for process in self._jobs():
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)
        runner.wait()

    def _started(
        self,
        workflow: str,
        event: str,
        inputs: Mapping[str, object],
        payload: Mapping[str, Any],
        ref: str,
    ) -> tuple[int, Path, subprocess.Popen[bytes]]:
        """A run's number, the directory of its own, with ``log`` and ``errors``, and its runner."""
        number = next(self._numbers)
        work = self.root / f"act-{number}"
        work.mkdir()
        text = {name: _word(value) for name, value in inputs.items()}
        told = {**({"inputs": text} if text else {}), "ref": ref, **payload}
        (work / "event.json").write_text(json.dumps(told))
        (work / "empty").write_text("")
        with (work / "log").open("w") as log, (work / "errors").open("w") as errors:
            process = subprocess.Popen(
                [str(act_program()), event, *self._options(workflow, work, number, ref)],
                cwd=self.repository,
                env=self._environment(work),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=errors,
            )
        return number, work, process

    def _options(self, workflow: str, work: Path, number: int, ref: str) -> Iterator[str]:
        yield from ("--workflows", f".github/workflows/{workflow}")
        yield from ("--eventpath", str(work / "event.json"))
        for label in _LABELS:
            yield from ("--platform", f"{label}=-self-hosted")
        for name in ("env", "secret", "var", "input"):
            yield from (f"--{name}-file", str(work / "empty"))
        yield from ("--pull=false", "--no-cache-server", "--action-offline-mode", "--json")
        yield from ("--action-cache-path", str(work / "actions"), "--concurrent-jobs", "1")
        known = {"GITHUB_RUN_ID": number, "GITHUB_RUN_NUMBER": number, "GITHUB_RUN_ATTEMPT": 1}
        branch = {"GITHUB_REF": ref, "GITHUB_REF_NAME": ref.removeprefix("refs/heads/")}
        for key, value in {**known, **branch, "GITHUB_REPOSITORY": self.name}.items():
            yield from ("--env", f"{key}={value}")
        for key, value in self.environment.items():
            if key.startswith("GITHUB_"):
                yield from ("--env", f"{key}={value}")
        for key, value in self.variables.items():
            yield from ("--var", f"{key}={value}")
        for key in self.secrets:
            yield from ("--secret", key)  # its value is in act's environment
        places = [
            self.repository / ".github",
            *(one / "action.yml" for one in self.actions.values()),
        ]
        for action, ref_ in (one for place in places for one in third_party(place)):
            if action != CHECKOUT_ACTION:
                directory = self.actions.get(action) or _stub(action)
                yield from ("--local-repository", f"{action}@{ref_}={directory}")

    def _environment(self, work: Path) -> dict[str, str]:
        passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
        # each of act's jobs starts node to learn where it is; no action of ours is run by it
        node = work / "bin/node"
        node.parent.mkdir()
        node.write_text("#!/bin/sh\necho /usr/bin/node\n")
        node.chmod(0o755)
        passed["PATH"] = f"{node.parent}:{passed['PATH']}"
        stubs = {
            "ACT_STUBS": str(self.stubs),
            "ACT_STUBS_PROGRAM": str(STUBS / "stub.py"),
            "ACT_STUBS_PYTHON": sys.executable,
        }
        # no configuration of a person's own act is read, and no Docker is looked for
        own = {"XDG_CONFIG_HOME": str(work), "XDG_CACHE_HOME": str(work), "DOCKER_HOST": ""}
        return {**passed, **own, **stubs, **self.secrets, **self.environment}


def third_party(directory: Path) -> list[tuple[str, str]]:
    """The actions that workflows in or below *directory* use, OWNER/NAME and each one's ref."""
    found = []
    paths = sorted(directory.rglob("*.y*ml")) if directory.is_dir() else [directory]
    for path in paths:
        found += [(action, ref) for action, _, ref in _USES.findall(path.read_text())]
    return list(dict.fromkeys(found))


def _stub(action: str) -> Path:
    path = STUBS / action
    assert path.is_dir(), f"tests/actions has no stand-in for {action}"
    return path


def pretended_setup(landspeed: Sequence[str]) -> str:
    """Return a tools/setup that makes only ``.venv/bin/landspeed``, the command *landspeed*."""
    return f"""#!/usr/bin/env bash
# The tests' stand-in: the environment that the tests run in serves.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p .venv/bin
cat >.venv/bin/landspeed <<'PROGRAM'
#!/bin/sh
exec {shlex.join(landspeed)} "$@"
PROGRAM
chmod +x .venv/bin/landspeed
"""


def _word(value: object) -> str:
    """An input as GitHub sends it: everything is text."""
    return str(value).lower() if isinstance(value, bool) else str(value)
