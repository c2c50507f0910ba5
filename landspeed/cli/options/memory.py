"""--memory: servers inside a limit, so that tiers mean what they say on a large machine."""

from __future__ import annotations

import os

import click

from base.errors import UsageError
from benchmarks.machine.cgroup import Cgroup
from landspeed.cli.options.sandbox import parse_memory


def _parsed(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    return None if text is None else parse_memory(text)


memory_option = click.option(
    "--memory",
    metavar="SIZE",
    callback=_parsed,
    help="Run servers inside a limit of memory, like 1g; tiers are sized by it.",
)


def require_limit(memory: int | None, *, counted: bool) -> None:
    """See now, and not after the first build, whether a server's memory can be limited here.

    UsageError if instructions are *counted*, which memory does not change; NotApplicableError
    where no control group can be made.
    """
    if memory is None:
        return
    if counted:
        raise UsageError(
            "a limit of memory does not change what is counted",
            hint="Leave out --memory, or choose --metric latency.",
        )
    Cgroup.make(f"try-{os.getpid()}", memory).remove()
