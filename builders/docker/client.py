"""Docker's command line client: what is asked of it, and what its refusals mean to a person."""

from __future__ import annotations

import json
import logging
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from base.errors import BuildError
from builders.docker.toolchain import DIRECTORY, Toolchain

_log = logging.getLogger(__name__)

DOCKERFILE = DIRECTORY / "builder.Dockerfile"
_INSTEAD = "or leave out --in docker to build on this machine itself."
_NO_DAEMON = re.compile(
    "Cannot connect to the Docker daemon|failed to connect to the docker API"
    "|error during connect|daemon is not running"
)
_NOT_ALLOWED = re.compile("permission denied while trying to connect")
_NO_IMAGE = re.compile("No such image|Unable to find image")
_STEP_FAILED = re.compile("returned a non-zero code|did not complete successfully")
_SHOWN_LINES = 10
_TICK_SECONDS = 2.0
_END_SECONDS = 20.0


def ask(*arguments: str, given: str | None = None) -> str:
    """What docker prints when run with *arguments* and *given* on stdin; BuildError if it fails."""
    code, said, words = _run(arguments, given)
    if code != 0:
        raise refusal(f'docker could not do "{arguments[0]}"', words)
    return said


def refusal(message: str, words: str) -> BuildError:
    """The BuildError for what docker itself said of a command it could not do.

    It says *message*, unless the reason has a name: no daemon, no permission, no image.
    """
    detail = "\n".join(words.strip().splitlines()[-_SHOWN_LINES:])
    if _NOT_ALLOWED.search(words):
        return BuildError(
            "this user may not use Docker",
            detail=detail,
            hint=f"Join the group that owns its socket (adduser USER docker), {_INSTEAD}",
        )
    if _NO_DAEMON.search(words):
        return BuildError(
            "no Docker daemon answers",
            detail=detail,
            hint=f'Start it, for example with "systemctl start docker", {_INSTEAD}',
        )
    if _NO_IMAGE.search(words):
        return BuildError(
            "the toolchain's image was removed while it was needed",
            detail=detail,
            hint="Run the same command again: the image is then made anew.",
        )
    return BuildError(message, detail=detail, hint="The words are docker's own.")


def image_id(tag: str) -> str:
    """The id of the image called *tag*, empty if none is here; BuildError when docker fails."""
    code, said, words = _run(("image", "inspect", "--format", "{{.Id}}", tag))
    if code and not re.search("no such image", words, re.IGNORECASE):
        raise refusal("docker could not look for an image", words)
    return said.strip()


def image_command(toolchain: Toolchain) -> tuple[str, list[str]]:
    """Return the tag of *toolchain*'s image, and docker's arguments to make it of DOCKERFILE."""
    tag = toolchain.image(DOCKERFILE.read_text())
    settings = {"BASE_IMAGE": toolchain.base_image, "CC": toolchain.cc}
    arguments = [word for pair in settings.items() for word in ("--build-arg", "=".join(pair))]
    return tag, ["build", "--tag", tag, *arguments, "-"]


def require_image(toolchain: Toolchain) -> str:
    """The tag of *toolchain*'s image, which is made now if it is not here."""
    tag, arguments = image_command(toolchain)
    if image_id(tag):
        return tag
    _log.info(f"making the toolchain image {tag} (once; a minute or two)")
    code, said, words = _run(arguments, DOCKERFILE.read_text())
    if code != 0:
        raise _unmade(toolchain, tag, said + words)
    return tag


def _unmade(toolchain: Toolchain, tag: str, words: str) -> BuildError:
    error = refusal(f"could not make the toolchain image {tag}", words)
    if not _STEP_FAILED.search(words) and not image_id(toolchain.base_image):
        hint = (
            f"The base image {toolchain.base_image} is not here. Where no image registry can be"
            f' reached, "make docker-base DEBIAN={toolchain.debian}" makes it from a Debian mirror.'
        )
        return BuildError(error.message, detail=error.detail, hint=hint)
    return error


def _run(arguments: Sequence[str], given: str | None = None) -> tuple[int, str, str]:
    try:
        done = subprocess.run(
            ["docker", *arguments], input=given or "", capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise _not_installed(error) from error
    return done.returncode, done.stdout, done.stderr


def _not_installed(error: OSError) -> BuildError:
    return BuildError(
        'could not run "docker"',
        detail=str(error),
        hint=f"Install it, on Debian with apt-get install docker.io, {_INSTEAD}",
    )


@dataclass(frozen=True, kw_only=True)
class Worker:
    """The first process of a running container, which runs one step at a time."""

    name: str
    began: float
    client: subprocess.Popen[bytes]
    stderr: IO[bytes]

    def do(self, request: dict[str, Any], tick: Callable[[], None]) -> dict[str, Any] | None:
        """The answer to *request*, see builders.docker.inside; None if the container ended."""
        requests, answers = self.client.stdin, self.client.stdout
        if requests is None or answers is None:
            return None
        with suppress(BrokenPipeError):
            requests.write(json.dumps(request).encode() + b"\n")
        while not select.select([answers], [], [], _TICK_SECONDS)[0]:
            tick()
        line = answers.readline()
        answer: dict[str, Any] | None = json.loads(line) if line.endswith(b"\n") else None
        return answer

    def ended(self) -> tuple[int, str]:
        """The exit code of a container that ended, and docker's own words about it."""
        code = self.client.wait(_END_SECONDS)
        self.stderr.seek(0)
        return code, self.stderr.read().decode(errors="replace")

    def memory_kills(self) -> int:
        """How often the kernel killed in the container for memory, as the daemon was told.

        The exit code does not say it: who kills the container leaves the same one.
        """
        span = ("--since", f"{self.began:.3f}", "--until", f"{time.time():.3f}")
        chosen = ("--filter", f"container={self.name}", "--filter", "event=oom")
        _, said, _ = _run(("events", *span, *chosen, "--format", "{{.Action}}"))
        return len(said.split())


@contextmanager
def working(name: str, arguments: Sequence[str], lock: int) -> Iterator[Worker]:
    """The Worker of the container *name*, which ``docker run`` makes with *arguments*.

    The container is gone when the block ends. It also ends when we are killed: the end of its
    stdin tells it. Its client holds *lock*, a file's descriptor, for as long as it runs.
    """
    # of a client that was killed with us there may be one that has not noticed yet
    _run(("rm", "--force", name))
    with TemporaryFile() as stderr:
        began = time.time()
        try:
            client = subprocess.Popen(
                ["docker", "run", "--rm", "--interactive", "--name", name, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                bufsize=0,
                # a Ctrl-C of the terminal is ours to handle
                start_new_session=True,
                pass_fds=(lock,),
            )
        except OSError as error:
            raise _not_installed(error) from error
        try:
            yield Worker(name=name, began=began, client=client, stderr=stderr)
        finally:
            _end(name, client)


def _end(name: str, client: subprocess.Popen[bytes]) -> None:
    for stream in (client.stdin, client.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()
    try:
        client.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        _run(("rm", "--force", name))
        client.kill()
        client.wait()


def mount(source: Path, target: str, *, writable: bool = False) -> tuple[str, str]:
    """The options of ``docker run`` that show *source* at *target* inside."""
    fields = ["type=bind", f"source={source}", f"target={target}"]
    if not writable:
        fields.append("readonly")
    # one line of CSV: a comma or a quote in a path needs quotes around the field
    quoted = ('"' + f.replace('"', '""') + '"' if set(f) & set(',"') else f for f in fields)
    return "--mount", ",".join(quoted)
