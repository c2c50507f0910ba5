"""The verbs of the command line, which imports each only when somebody asks for it."""

from __future__ import annotations

import click

from landspeed.cli.main import cli

CONTEXT = click.Context(cli, info_name="landspeed")


def every_verb() -> dict[str, click.Command]:
    """All verbs by name; from then on none has anything left to import."""
    found = {}
    for name in cli.list_commands(CONTEXT):
        found[name] = cli.get_command(CONTEXT, name)
        assert found[name] is not None, f"{name} is listed, and there is no such verb"
    return found
