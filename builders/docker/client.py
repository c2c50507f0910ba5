"""Run Docker's command line client, and explain its refusals."""

from __future__ import annotations

import logging
import re
import subprocess
import time
from pathlib import Path

from base.errors import BuildError, last_lines
from builders.docker.toolchain import DIRECTORY, Toolchain

_log = logging.getLogger(__name__)

DOCKERFILE = DIRECTORY / "builder.Dockerfile"
_INSTEAD = "or leave out --in docker to build on this machine itself."
# What docker says when there is no permission, no daemon or no image; what we say, and the hint.
_REFUSALS = (
    (
        re.compile("permission denied while trying to connect"),
        "this user may not use Docker",
        f"Join the group that owns its socket (adduser USER docker), {_INSTEAD}",
    ),
    (
        re.compile(
            "Cannot connect to the Docker daemon|failed to connect to the docker API"
            "|error during connect|daemon is not running"
        ),
        "no Docker daemon answers",
        f'Start it, for example with "systemctl start docker", {_INSTEAD}',
    ),
    (
        re.compile("No such image|Unable to find image"),
        "the toolchain's image was removed while it was needed",
        "Run the same command again: the image is then made anew.",
    ),
)
_STEP_FAILED = re.compile("returned a non-zero code|did not complete successfully")


def ask(*arguments: str) -> str:
    """Return what docker prints when run with *arguments*; raises BuildError if it fails."""
    code, said, words = run(*arguments)
    if code != 0:
        raise refusal(f'docker could not do "{arguments[0]}"', words)
    return said


def refusal(message: str, words: str) -> BuildError:
    """Return the error for docker's own *words* about a command that it could not do.

    Its message is *message*, unless the reason has a name: no permission, no daemon, no image.
    """
    detail = last_lines(words)
    for pattern, reason, hint in _REFUSALS:
        if pattern.search(words):
            return BuildError(reason, detail=detail, hint=hint)
    return BuildError(message, detail=detail, hint="The words are docker's own.")


def image_id(tag: str) -> str:
    """Return the id of image *tag*, empty if it is not here; raises BuildError if docker fails."""
    code, said, words = run("image", "inspect", "--format", "{{.Id}}", tag)
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
    """Return the tag of *toolchain*'s image, which is made now if it is not here."""
    tag, arguments = image_command(toolchain)
    if image_id(tag):
        return tag
    _log.info(f"making the toolchain image {tag} (once; a minute or two)")
    code, said, words = run(*arguments, given=DOCKERFILE.read_text())
    if code == 0:
        return tag
    error = refusal(f"could not make the toolchain image {tag}", said + words)
    if not _STEP_FAILED.search(said + words) and not image_id(toolchain.base_image):
        error.hint = (
            f"The base image {toolchain.base_image} is not here. Where no image registry can be"
            f' reached, "make docker-base DEBIAN={toolchain.debian}" makes it from a Debian mirror.'
        )
    raise error


def run(*arguments: str, given: str = "") -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of docker; raises BuildError if it is not installed."""
    try:
        done = subprocess.run(
            ["docker", *arguments], input=given, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise BuildError(
            'could not run "docker"',
            detail=str(error),
            hint=f"Install it, on Debian with apt-get install docker.io, {_INSTEAD}",
        ) from error
    return done.returncode, done.stdout, done.stderr


def memory_kills(name: str, since: float) -> int:
    """Return how often the kernel killed in container *name* for memory, as the daemon was told.

    The exit code does not say it: who kills the container leaves the same one. *since* is in
    seconds since 1970.
    """
    span = ("--since", f"{since:.3f}", "--until", f"{time.time():.3f}")
    chosen = ("--filter", f"container={name}", "--filter", "event=oom")
    return len(run("events", *span, *chosen, "--format", "{{.Action}}")[1].split())


def mount(source: Path, target: str, *, writable: bool = False) -> tuple[str, str]:
    """Return the options of ``docker run`` that show *source* at *target* inside."""
    fields = ["type=bind", f"source={source}", f"target={target}"]
    if not writable:
        fields.append("readonly")
    # one line of CSV: a comma or a quote in a path needs quotes around the field
    quoted = ('"' + f.replace('"', '""') + '"' if set(f) & set(',"') else f for f in fields)
    return "--mount", ",".join(quoted)
