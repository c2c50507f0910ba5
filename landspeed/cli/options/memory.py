"""--memory: run servers under a memory limit, so that tiers mean the same on every machine."""

from __future__ import annotations

import os

import click

from base.errors import UsageError
from benchmarks.machine.cgroup import Cgroup
from landspeed.console.params import parse_memory

memory_option = click.option(
    "--memory",
    type=parse_memory,
    metavar="SIZE",
    help="Run servers under a memory limit, such as 512m or 1g; tiers are sized by it.",
)


def require_limit(memory: int | None, *, counted: bool) -> None:
    """Check before the first build that the memory of a server can be limited here.

    UsageError if instructions are *counted*, which memory does not change; NotApplicableError
    if no cgroup can be made.
    """
    if memory is None:
        return
    if counted:
        raise UsageError(
            "a memory limit does not change what is counted",
            hint="Leave out --memory, or choose --metric latency.",
        )
    Cgroup.make(f"try-{os.getpid()}", memory).remove()
