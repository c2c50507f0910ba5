"""The verbs of the command line, which imports each only when somebody asks for it."""

from __future__ import annotations

import click

from landspeed.cli.main import cli

CONTEXT = click.Context(cli, info_name="landspeed")


def every_verb() -> dict[str, click.Command]:
    """All verbs by name; from then on none has anything left to import."""
    return {path[0]: command for path, command in every_command().items() if len(path) == 1}


def every_command() -> dict[tuple[str, ...], click.Command]:
    """All commands, those inside groups too, by the words that name them: ("farm", "plan")."""
    found: dict[tuple[str, ...], click.Command] = {}
    pending: list[tuple[tuple[str, ...], click.Group]] = [((), cli)]
    while pending:
        path, group = pending.pop(0)
        for name in group.list_commands(CONTEXT):
            command = group.get_command(CONTEXT, name)
            assert command is not None, f"{name} is listed, but no such command exists"
            found[*path, name] = command
            if isinstance(command, click.Group):
                pending.append(((*path, name), command))
    return found
