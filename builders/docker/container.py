"""The Container: the Sandbox that is a toolchain's image run by Docker.

The exported source is mounted read-only and copied inside, because PostgreSQL builds in its
tree; that tree, the stage and the ccache are mounted writable and belong to the caller. All are
at constant places inside. Steps run without a network.
"""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Self

from base.build import Compiler, Variant
from base.errors import BuildError, VariantError
from base.files import digest_text, remove_tree
from builders.docker import inside
from builders.docker.client import (
    DOCKERFILE,
    Worker,
    ask,
    image_command,
    image_id,
    mount,
    refusal,
    require_image,
    working,
)
from builders.docker.toolchain import Toolchain
from builders.recipe import BuildStep, Recipe
from builders.sandbox.build_progress import BuildProgress
from builders.sandbox.failure import SETUP_HINT, failure
from builders.sandbox.host import Host, Progress, fill, step_environment
from builders.sandbox.jobserver import JobServer
from builders.sandbox.march_native import NATIVE_QUESTION, is_native, native_processor

_SOURCE, _TREE, _STAGE = "/landspeed/source", "/landspeed/tree", "/landspeed/stage"
_CCACHE, _LOG, _LIBRARY = "/landspeed/ccache", "/landspeed/log", "/landspeed/lib"
_PATH = "/usr/local/bin:/usr/bin:/bin"
_COPY = BuildStep(
    name="copy source",
    argv=("cp", "-R", "-P", "--preserve=mode,timestamps", f"{_SOURCE}/.", _TREE),
)
_LACKING = "The toolchain's image lacks it: see docker/builder.Dockerfile."
_DOCKER_FAILED = 125  # docker run's own, see docker-run(1)


@dataclass(frozen=True, kw_only=True)
class Container:
    """The sandbox of one toolchain in Docker, with its limits.

    ``memory`` is in bytes, ``cpus`` in processors; None is no limit. ``jobs`` is how many
    processes compile at once where ``cpus`` does not say fewer.
    """

    tools: Toolchain
    ccache: Path
    jobs: int
    memory: int | None = None
    cpus: float | None = None
    ccache_limit: str = "10G"
    builds_in_place: ClassVar[bool] = False

    def toolchain(self, variant: Variant) -> dict[str, str]:
        """What compiles *variant* in the image, and which image that is: part of its identity.

        The image is made now if it is not here. VariantError if it has another compiler.
        """
        if variant.compiler != self.tools.compiler:
            raise _other_compiler(variant, self.tools)
        image = require_image(self.tools)
        facts = _facts(image_id(image), self.tools.compiler, is_native=is_native(variant))
        return {**facts, "image": image}

    def commands(self, variant: Variant) -> dict[str, str]:
        """Return the image's tag and the docker commands of a build; runs none of them.

        The command that starts the container lacks its mounts, which each build has its own.
        """
        if variant.compiler != self.tools.compiler:
            raise _other_compiler(variant, self.tools)
        image, arguments = image_command(self.tools)
        return {
            "cc": self.tools.cc,
            "image": image,
            "image_command": f"{shlex.join(['docker', *arguments])} < {DOCKERFILE}",
            "container_command": shlex.join(["docker", "run", "--rm", *self._limits(), image]),
        }

    def sharing(self, server: JobServer, *, builds: int) -> Self:
        """This Container, for *builds* at once: each has its share of the jobs, and keeps it.

        The pipe of *server* does not reach into a container.
        """
        del server
        return replace(self, jobs=max(1, self.jobs // builds))

    def run(
        self,
        recipe: Recipe,
        *,
        source: Path,
        stage: Path,
        log: Path,
        progress: Callable[[Progress], None],
        lock: int,
    ) -> float:
        """Run every step of *recipe* on *source*, installing below *stage*; CPU seconds spent.

        BuildError at the first step that fails. However we end, the container ends, and
        *lock*, the descriptor of a lock file, keeps it locked until it has.
        """
        tree = source.with_name(f"{source.name}.tree")
        remove_tree(tree)
        for directory in (tree, stage, self.ccache, log.parent):
            directory.mkdir(parents=True, exist_ok=True)
        toolchain = self.toolchain(recipe.variant)
        image, environment = toolchain["image"], self._environment(toolchain)
        log.write_text(f"# landspeed: PostgreSQL {recipe.version} {recipe.variant} in {image}\n")
        gauge = BuildProgress.of(recipe, source=tree, log=log, counted=source)
        arguments = (
            *self._limits(),
            *mount(source, _SOURCE),
            *mount(tree, _TREE, writable=True),
            *mount(stage, _STAGE, writable=True),
            *mount(self.ccache, _CCACHE, writable=True),
            *mount(log, _LOG, writable=True),
            *_ours(),
            *(image, *_serving()),
        )
        name = f"landspeed-{digest_text(str(stage))[:16]}"
        spent = 0.0
        with working(name, arguments, lock) as worker:
            for step in (_COPY, *recipe.steps):
                tick = partial(_tick, progress, step, gauge)
                tick()
                spent += self._do(
                    worker, step, environment, recipe=recipe, tree=tree, log=log, tick=tick
                )
        remove_tree(tree)
        return spent

    def _do(
        self,
        worker: Worker,
        step: BuildStep,
        environment: dict[str, str],
        *,
        recipe: Recipe,
        tree: Path,
        log: Path,
        tick: Callable[[], None],
    ) -> float:
        tokens = {"stage": _STAGE, "jobs": str(self._parallel()), "python": "python3"}
        argv = [fill(argument, tokens) for argument in step.argv]
        with log.open("a") as stream:
            stream.write(f"$ {' '.join(argv)}\n")
        request = {
            "argv": argv,
            "environment": environment | step.extra_environment(),
            "directory": _TREE,
            "log": _LOG,
        }
        answer = worker.do(request, tick)
        if answer is None:
            raise self._died(worker, recipe, step, tree=tree, log=log)
        if answer["code"] != 0:
            raise self._failure(
                recipe,
                step,
                code=answer["code"],
                tree=tree,
                log=log,
                memory_kills=answer["memory_kills"],
            )
        seconds: float = answer["seconds"]
        return seconds

    def _environment(self, toolchain: dict[str, str]) -> dict[str, str]:
        return {
            **step_environment(
                path=_PATH,
                tree=_TREE,
                ccache=_CCACHE,
                ccache_limit=self.ccache_limit,
                toolchain=toolchain,
            ),
            # meson is the one that landspeed has, whatever the image's Debian has
            "PYTHONPATH": _LIBRARY,
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def _parallel(self) -> int:
        return self.jobs if self.cpus is None else min(self.jobs, math.ceil(self.cpus))

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

    def _died(
        self, worker: Worker, recipe: Recipe, step: BuildStep, *, tree: Path, log: Path
    ) -> BuildError:
        code, words = worker.ended()
        if code == _DOCKER_FAILED:
            return refusal(f"could not start a container of {self.tools.name}", words)
        with log.open("a") as stream:
            stream.write(f"{words}\nthe container ended with exit code {code}\n")
        return self._failure(
            recipe, step, code=code, tree=tree, log=log, memory_kills=worker.memory_kills()
        )

    def _failure(
        self,
        recipe: Recipe,
        step: BuildStep,
        *,
        code: int,
        tree: Path,
        log: Path,
        memory_kills: int,
    ) -> BuildError:
        """The error for *step* that ended with *code*, with the hint that helps in a container."""
        error = failure(recipe, step, code=code, source=tree, log=log, memory_kills=memory_kills)
        if not memory_kills:
            lacks = error.hint == SETUP_HINT
            return BuildError(error.message, detail=error.detail, hint=_LACKING) if lacks else error
        limit = "no --memory limit of ours"
        if self.memory is not None:
            limit = f"--memory {self.memory / 2**20:.0f}m"
        return BuildError(
            error.message,
            detail=error.detail,
            hint=f"The container was killed for memory ({limit}): give it more, or --cpus 1.",
        )


# Where the steps run.
Sandbox = Host | Container


def _tick(progress: Callable[[Progress], None], step: BuildStep, gauge: BuildProgress) -> None:
    progress(Progress(step=step.name, share=gauge.share()))


def _ours() -> tuple[str, ...]:
    """The mounts of our own code that steps need: builders, and meson."""
    meson = find_spec("mesonbuild")
    if meson is None or not meson.submodule_search_locations:
        raise BuildError("meson is not installed", hint='Install it with "make setup".')
    (place, *_) = meson.submodule_search_locations
    return (
        *mount(Path(inside.__file__).parents[1], f"{_LIBRARY}/builders"),
        *mount(Path(place), f"{_LIBRARY}/mesonbuild"),
    )


def _serving() -> tuple[str, ...]:
    return ("python3", "-I", "-S", f"{_LIBRARY}/builders/docker/{Path(inside.__file__).name}")


def _other_compiler(variant: Variant, tools: Toolchain) -> VariantError:
    other = replace(variant, compiler=Compiler(tools.compiler))
    return VariantError(
        f"toolchain {tools.name} does not build {variant}",
        detail=f"{variant} is compiled by {variant.compiler}, and the toolchain has {tools.cc}.",
        hint=f"Write REF:{other}, or choose another --toolchain.",
    )


@cache
def _facts(image: str, compiler: str, *, is_native: bool) -> dict[str, str]:
    run = ("run", "--rm", "--pull", "never", "--network", "none")
    question = NATIVE_QUESTION if is_native else ()
    said = ask(*run, *_ours(), image, *_serving(), compiler, *question)
    found: dict[str, str] = json.loads(said)
    if is_native:
        found["native"] = native_processor(found["native"])
    return found
