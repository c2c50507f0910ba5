"""The options that say in which Sandbox to build, and what is said of a build from a Container."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import click
from click.core import ParameterSource

from base.build import Build, Compiler, Variant
from base.errors import UsageError
from base.paths import Paths
from builders.builder import cores
from builders.docker.container import Container, Sandbox
from builders.docker.toolchain import toolchain_named
from builders.sandbox import refusal_of
from landspeed.console.progress import say

_SIZE = re.compile(r"([0-9]+)([kmgKMG]?)[bB]?")
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
# what dockerd refuses to go below
_SMALLEST_MEMORY = 6 * 2**20
_SMALLEST_CPUS = 0.01


def sandbox_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--in, and for a container --toolchain, --memory and --cpus."""
    options = (
        click.option(
            "--in",
            "place",
            type=click.Choice(["host", "docker"]),
            default="host",
            show_default=True,
            help="Build on this machine itself, or in a container on it.",
        ),
        click.option(
            "--toolchain", metavar="NAME", help="Of docker/toolchains.toml, like bookworm-clang-14."
        ),
        click.option("--memory", metavar="SIZE", help="Limit of the container, like 2g."),
        click.option("--cpus", type=float, metavar="N", help="Limit of the container, like 1.5."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def chosen_sandbox(
    *, place: str, toolchain: str | None, memory: str | None, cpus: float | None
) -> Callable[[Paths], Sandbox | None]:
    """The Sandbox that the options ask for, once the paths are known; None for the Host."""
    if place == "host":
        given = {"toolchain": toolchain, "memory": memory, "cpus": cpus}
        for name, value in given.items():
            if value is not None:
                raise UsageError(
                    f"--{name} is for builds in a container",
                    hint="Add --in docker, or leave it out.",
                )
        return lambda _: None
    if cpus is not None and not _SMALLEST_CPUS <= cpus <= cores():
        raise UsageError(f"--cpus {cpus:g} is not between 0.01 and {cores()}, which are here")
    return partial(
        _container,
        name=toolchain,
        memory=parse_memory(memory) if memory is not None else None,
        cpus=cpus,
    )


def compiled_by(
    variant: Variant, *, place: str, toolchain: str | None, **limits: object
) -> Variant:
    """*variant*, by the toolchain's compiler where --compiler is not given: it has no other."""
    del limits
    source = click.get_current_context().get_parameter_source("compiler")
    if place == "host" or source is not ParameterSource.DEFAULT:
        return variant
    return replace(variant, compiler=Compiler(toolchain_named(toolchain).compiler))


def _container(
    paths: Paths, *, name: str | None, memory: int | None, cpus: float | None
) -> Sandbox:
    return Container(
        tools=toolchain_named(name),
        ccache=paths.ccache,
        jobs=cores(),
        memory=memory,
        cpus=cpus,
    )


def parse_memory(text: str) -> int:
    """The bytes that *text* spells, as docker does: 2g, 512m; UsageError if it spells none."""
    match = _SIZE.fullmatch(text)
    size = int(match[1]) * _UNITS[match[2].lower()] if match else 0
    if size < _SMALLEST_MEMORY:
        raise UsageError(
            f'"{text}" is not a limit for memory',
            hint="Write a number and k, m or g, like 2g; 6m is the least.",
        )
    return size


def runs_here(build: Build) -> bool:
    """Whether the server of *build* runs on this machine, tried; why not is said on stderr."""
    why = refusal_of(build)
    if why:
        say(
            f"warning: the server of {build.label} was built, but does not run on this machine\n"
            f"detail:  {why}\n"
            f"hint:    It was built with {build.toolchain['libc']}; choose a --toolchain of a"
            " Debian release that is not newer than this machine's."
        )
    return not why
