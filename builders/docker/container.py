"""The sandbox that is a toolchain's image run by Docker.

The exported source is mounted read-only and copied inside, because PostgreSQL builds in its
tree; that tree, the stage and the ccache are mounted writable and belong to the caller. Builds for
strangers have the ccache read-only. All are at constant places inside. Steps run without a network.
"""

from __future__ import annotations

import json
import math
import os
import shlex
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Self

from base.build import Compiler, Variant
from base.errors import BuildError, VariantError
from base.files import digest_text, remove_tree
from builders.docker.client import (
    DOCKERFILE,
    ask,
    image_command,
    image_id,
    memory_kills,
    mount,
    refusal,
    require_image,
    run,
)
from builders.docker.toolchain import Toolchain
from builders.recipe import BuildStep, Recipe
from builders.sandbox import Sandbox, inside
from builders.sandbox.failure import SETUP_HINT
from builders.sandbox.jobserver import JobServer
from builders.sandbox.steps import StepResult, Worker, Workplace

_SOURCE, _TREE, _STAGE = "/landspeed/source", "/landspeed/tree", "/landspeed/stage"
_CCACHE, _LOG, _LIBRARY = "/landspeed/ccache", "/landspeed/log", "/landspeed/lib"
_INSIDE = ("python3", "-I", "-S", f"{_LIBRARY}/builders/sandbox/{Path(inside.__file__).name}")
# cgroup v2 and v1: how many processes of this container were killed for memory
_COUNTERS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
_COPY = BuildStep(
    name="copy source", argv=("cp", "-R", "-P", "--preserve=mode,timestamps", f"{_SOURCE}/.", _TREE)
)
_LACKING = "The toolchain's image lacks it: see docker/builder.Dockerfile."
_DOCKER_FAILED = 125  # docker run's own, see docker-run(1)


@dataclass(frozen=True, kw_only=True)
class Container(Sandbox):
    """The sandbox of one toolchain in Docker, with its limits.

    ``memory`` is in bytes, ``cpus`` in processors; None is no limit.
    """

    tools: Toolchain
    memory: int | None = None
    cpus: float | None = None
    builds_in_place: ClassVar[bool] = False

    def _compiles(self, variant: Variant, question: tuple[str, ...]) -> dict[str, str]:
        self._require_compiler(variant)
        image = require_image(self.tools)
        return {**_facts(image_id(image), self.tools.compiler, question), "image": image}

    def commands(self, variant: Variant) -> dict[str, str]:
        """Return the image's tag and the docker commands of a build; runs none of them.

        The command that starts the container lacks its mounts, which each build has its own.
        """
        self._require_compiler(variant)
        image, arguments = image_command(self.tools)
        return {
            "cc": self.tools.cc,
            "image": image,
            "image_command": f"{shlex.join(['docker', *arguments])} < {DOCKERFILE}",
            "container_command": shlex.join(["docker", "run", "--rm", *self._limits(), image]),
        }

    def sharing(self, server: JobServer, *, builds: int) -> Self:
        """Return this sandbox for *builds* at once: each keeps its share of the jobs.

        The pipe of *server* does not reach into a container.
        """
        del server
        return replace(self, jobs=max(1, self.jobs // builds))

    def _workplace(self, recipe: Recipe, *, source: Path, stage: Path, log: Path) -> Workplace:
        tree = source.with_name(f"{source.name}.tree")
        remove_tree(tree)
        for directory in (tree, stage, self.ccache):
            directory.mkdir(parents=True, exist_ok=True)
        log.touch()
        toolchain = self.toolchain(recipe.variant)
        name = f"landspeed-{digest_text(str(stage))[:16]}"
        # the client of one that was killed may not have noticed yet
        run("rm", "--force", name)
        writable = ((tree, _TREE), (stage, _STAGE), (log, _LOG))
        argv = (
            *("docker", "run", "--rm", "--interactive", "--name", name, *self._limits()),
            *mount(source, _SOURCE),
            *mount(self.ccache, _CCACHE, writable=not self.for_strangers),
            *(word for pair in writable for word in mount(*pair, writable=True)),
            *(*_ours(), toolchain["image"], *_INSIDE),
        )
        return Workplace(
            argv=argv,
            tree=tree,
            name=toolchain["image"],
            directory=_TREE,
            stage=_STAGE,
            log=_LOG,
            ccache=_CCACHE,
            path="/usr/local/bin:/usr/bin:/bin",
            python="python3",
            jobs=self.jobs if self.cpus is None else min(self.jobs, math.ceil(self.cpus)),
            toolchain=toolchain,
            counters=_COUNTERS,
            first=(_COPY,),
            # meson is the one that landspeed has, whatever the image's Debian has
            variables={"PYTHONPATH": _LIBRARY, "PYTHONDONTWRITEBYTECODE": "1"},
            container=name,
        )

    def _limits(self) -> list[str]:
        limits = [
            *("--pull", "never", "--network", "none", "--cap-drop", "ALL"),
            *("--user", f"{os.getuid()}:{os.getgid()}", "--workdir", _TREE),
        ]
        if self.memory is not None:
            # the second is memory and swap together: a build that swaps is never done
            limits += ["--memory", str(self.memory), "--memory-swap", str(self.memory)]
        if self.cpus is not None:
            limits += ["--cpus", f"{self.cpus:g}"]
        return limits

    def _discard(self, place: Workplace) -> None:
        run("rm", "--force", place.container)

    def _last_words(self, worker: Worker, place: Workplace, log: Path) -> StepResult:
        code, words = worker.ended()
        if code == _DOCKER_FAILED:
            raise refusal(f"could not start a container of {self.tools.name}", words)
        kills = memory_kills(place.container, worker.began)
        return replace(super()._last_words(worker, place, log), memory_kills=kills)

    def _explained(self, error: BuildError, memory_kills: int) -> BuildError:
        if memory_kills:
            limit = f"--memory {self.memory >> 20}m" if self.memory else "no --memory limit of ours"
            error.hint = (
                f"The container was killed for memory ({limit}): give it more, or --cpus 1."
            )
        elif error.hint == SETUP_HINT:
            error.hint = _LACKING
        return error

    def _require_compiler(self, variant: Variant) -> None:
        if variant.compiler != self.tools.compiler:
            other = replace(variant, compiler=Compiler(self.tools.compiler))
            raise VariantError(
                f"toolchain {self.tools.name} does not build {variant}",
                detail=f"{variant} is compiled by {variant.compiler}, "
                f"and the toolchain has {self.tools.cc}.",
                hint=f"Write REF:{other}, or choose another --toolchain.",
            )


def _ours() -> tuple[str, ...]:
    """Return the mounts of our own code that steps need: builders, and meson."""
    meson = find_spec("mesonbuild")
    if meson is None or not meson.submodule_search_locations:
        raise BuildError("meson is not installed", hint='Install it with "make setup".')
    (place, *_) = meson.submodule_search_locations
    return (
        *mount(Path(inside.__file__).parents[1], f"{_LIBRARY}/builders"),
        *mount(Path(place), f"{_LIBRARY}/mesonbuild"),
    )


@cache
def _facts(image: str, compiler: str, question: tuple[str, ...]) -> dict[str, str]:
    argv = ("run", "--rm", "--pull", "never", "--network", "none", *_ours(), image, *_INSIDE)
    found: dict[str, str] = json.loads(ask(*argv, compiler, *question))
    return found
