"""What a command line asks for: the parameters that were given, and what they need."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from typing import Any

import click
from click.core import ParameterSource

from base.errors import UsageError
from base.files import parse_json
from benchmarks.machine.cgroup import Cgroup
from landspeed.console.params import spell_duration
from landspeed.session.session import Session


def given() -> list[str]:
    """Return the names of the parameters that were given on the command line."""
    context = click.get_current_context()
    sources = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    return [name for name in context.params if context.get_parameter_source(name) in sources]


def typed_command() -> str:
    """Return the command line as it can be typed again."""
    context, typed = click.get_current_context(), given()
    words = ["landspeed", str(context.info_name)]
    for parameter in context.command.params:
        if parameter.name not in typed or parameter.name in ("fresh", "mail"):
            continue
        value: Any = context.params.get(parameter.name)
        for one in value if isinstance(value, tuple) else [value]:
            if isinstance(parameter, click.Option):
                words.append(parameter.opts[0])
            if one is not True:
                words.append(spell_duration(one) if parameter.name == "budget" else str(one))
    return shlex.join(words)


def require_none_of(names: Iterable[str], option: str) -> None:
    """UsageError if one of the options *names* was given, which do not go with *option*."""
    parameters = click.get_current_context().command.params
    if wrong := [one.opts[-1] for one in parameters if one.name in names and one.name in given()]:
        raise UsageError(
            f"{option} does not go with {wrong[0]}",
            detail="It counts the instructions of workloads of the catalog.",
            hint="Leave it out; --suite and --workload choose what is counted.",
        )


def open_session(memory: int | None, *, counted: bool) -> Session:
    """Return the session of servers under a limit of *memory* bytes; see `require_limit`."""
    require_limit(memory, counted=counted)
    return Session(memory=memory, only_counts=counted)


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


def read_json(path: str, hint: str) -> Any:
    """Return the JSON in the file at *path*, - for stdin; None if the file is empty.

    UsageError with *hint* if it is no JSON.
    """
    try:
        with click.open_file(path) as stream:
            text = stream.read()
        return parse_json(text) if text.strip() else None
    except OSError as error:
        raise UsageError(f'could not read "{path}"', detail=str(error.strerror)) from error
    except ValueError as error:
        raise UsageError(f'"{path}" is not JSON', detail=str(error), hint=hint) from error
