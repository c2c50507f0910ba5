"""The reference of the command line, docs/cli.md, written from the commands themselves.

``python -m landspeed.cli.reference > docs/cli.md``
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from textwrap import fill
from typing import cast

import click

from landspeed.cli.main import cli

_INTRODUCTION = """\
# The command line

This page is generated from the commands: `make docs` writes it again. The same text is in
"landspeed COMMAND --help".

Data goes to stdout, progress and warnings go to stderr. An error prints `error:`, `detail:` and
`hint:` lines and ends with an exit code of its own kind. The environment can set any option:
LANDSPEED_BISECT_METRIC is --metric of "landspeed bisect", LANDSPEED_FARM_PLAN_BUDGET is --budget
of "landspeed farm plan".
"""
_WIDTH = 100


def reference() -> str:
    """Return the page as Markdown."""
    root = click.Context(cli, info_name="landspeed")
    parts = [_INTRODUCTION, f"{_paragraph(cli.epilog or '')}\n"]
    for title, verbs in cli.sections.items():
        parts += [f"## {title}\n", *_commands(root, verbs)]
    return "\n".join(parts)


def _commands(context: click.Context, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        command = cast(click.Group, context.command).get_command(context, name)
        if command is not None:
            yield from _command(click.Context(command, info_name=name, parent=context))


def _command(context: click.Context) -> Iterator[str]:
    command = context.command
    text, _, examples = inspect.cleandoc(command.help or "").partition("\n\n\b\nExamples:\n")
    yield f"### {context.command_path}\n"
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```\n"
    yield from (f"{_paragraph(paragraph)}\n" for paragraph in text.split("\n\n"))
    options = "\n".join(_options(context))
    if options:
        yield f"{options}\n"
    if command.epilog:
        yield f"{_paragraph(command.epilog)}\n"
    yield f"```shell\n{inspect.cleandoc(examples)}\n```\n"
    if isinstance(command, click.Group):
        yield from _commands(context, command.list_commands(context))


def _options(context: click.Context) -> Iterator[str]:
    for parameter in context.command.params:
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            yield _paragraph(f"- `{record[0]}`: {record[1]}", indent="  ")


def _paragraph(text: str, indent: str = "") -> str:
    words = " ".join(text.split())
    return fill(
        words, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


if __name__ == "__main__":
    click.echo(reference().rstrip())
