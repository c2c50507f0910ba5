"""What the verbs of the command line share: options, and the way data leaves on stdout."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from builders.recipe import BuildSystem

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")


def variant_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--blocksize and --wal-blocksize, in kB."""
    for name, what in (("--wal-blocksize", "WAL block"), ("--blocksize", "Block")):
        command = click.option(
            name, type=int, default=8, show_default=True, metavar="K", help=f"{what} size in kB."
        )(command)
    return command


def system_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """--build-system."""
    return click.option(
        "--build-system",
        type=click.Choice([s.value for s in BuildSystem]),
        help="Build with this; by default meson where the release has it.",
    )(command)


def jobs_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """--jobs."""
    return click.option(
        "--jobs",
        type=click.IntRange(1),
        metavar="N",
        help="Builds made at once; together they compile on all cores, and no more. "
        "By default as many as there are cores.",
    )(command)


LATENCY, INSTRUCTIONS = "latency", "instructions"

metric_option = click.option(
    "--metric",
    type=click.Choice([LATENCY, INSTRUCTIONS]),
    default=LATENCY,
    show_default=True,
    help="Take the time (latency, and tps with it), or count instructions.",
)


def emit(text: str) -> None:
    """Data, on stdout."""
    click.echo(text)


def emit_json(value: Any) -> None:
    """Data for a program, on stdout."""
    emit(json.dumps(value, indent=2, ensure_ascii=False))
