"""The options that say where to build: on the host or in a container."""

from __future__ import annotations

from dataclasses import replace

import click
from click.core import ParameterSource

from base.build import Build, Compiler, Variant
from base.errors import UsageError
from base.paths import Paths
from builders.builder import cores
from builders.docker.container import Container
from builders.docker.toolchain import toolchain_named
from builders.sandbox import Sandbox, refusal_of
from landspeed.cli.options.kinds import together
from landspeed.console.params import parse_memory
from landspeed.console.progress import say

_LEAST_CPUS = 0.01  # dockerd refuses less


sandbox_options = together(
    click.option(
        "--in",
        "place",
        type=click.Choice(["host", "docker"]),
        default="host",
        show_default=True,
        help="Build on this machine itself, or in a container on it.",
    ),
    click.option(
        "--toolchain",
        metavar="NAME",
        help="With --in docker: a toolchain of docker/toolchains.toml, such as bookworm-clang-14.",
    ),
    click.option(
        "--memory",
        type=parse_memory,
        metavar="SIZE",
        help="With --in docker: memory limit, such as 512m or 2g.",
    ),
    click.option(
        "--cpus",
        type=float,
        metavar="N",
        help="With --in docker: number of CPUs to use, such as 1.5.",
    ),
)


def chosen_sandbox(
    *, place: str, toolchain: str | None, memory: int | None, cpus: float | None
) -> Sandbox | None:
    """Return the sandbox that the options ask for; None for the host."""
    if place == "host":
        given = {"toolchain": toolchain, "memory": memory, "cpus": cpus}
        for name, value in given.items():
            if value is not None:
                raise UsageError(
                    f"--{name} is for builds in a container",
                    hint="Add --in docker, or leave it out.",
                )
        return None
    if cpus is not None and not _LEAST_CPUS <= cpus <= cores():
        raise UsageError(f"--cpus {cpus:g} is not between {_LEAST_CPUS} and {cores()}")
    tools, ccache = toolchain_named(toolchain), Paths.find().ccache
    return Container(tools=tools, ccache=ccache, jobs=cores(), memory=memory, cpus=cpus)


def compiled_by(variant: Variant, *, place: str, toolchain: str | None, **_: object) -> Variant:
    """Return *variant* with the toolchain's only compiler, unless --compiler is given."""
    source = click.get_current_context().get_parameter_source("compiler")
    if place == "host" or source is not ParameterSource.DEFAULT:
        return variant
    return replace(variant, compiler=Compiler(toolchain_named(toolchain).compiler))


def runs_here(build: Build) -> bool:
    """Whether the server of *build* runs on this machine; prints a warning if it does not."""
    why = refusal_of(build)
    if why:
        hint = f"If its files are damaged, remove {build.prefix} and build it again."
        if "image" in build.toolchain:
            hint = (
                f"It was built with {build.toolchain['libc']}; choose a --toolchain of a"
                " Debian release that is not newer than this machine's."
            )
        say(
            f"warning: the server of {build.label} was built, but does not run on this machine\n"
            f"detail:  {why}\n"
            f"hint:    {hint}"
        )
    return not why
