"""Kinds of options: flags, numbers, shares, durations; and how options are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import click

from landspeed.console.params import parse_duration, parse_share

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def together(*options: Decorator) -> Decorator:
    """Return a decorator that adds *options* in the order of the help."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def packed(names: Iterable[str], name: str, pack: Callable[..., Any]) -> Decorator:
    """Return what gives a command *name*, made by *pack*, instead of the parameters *names*.

    It stands after the options of these parameters.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def call(**given: Any) -> Any:
            own = {one: given.pop(one) for one in names}
            return command(**{name: pack(**own)}, **given)

        return call

    return add


def flag(option: str, text: str, name: str | None = None) -> Decorator:
    """Return an option without a value; the command receives it as *name*, if it has one."""
    return click.option(*filter(None, (option, name)), is_flag=True, help=text)


def number_option(option: str, text: str, default: int | None = None) -> Decorator:
    """Return an option whose value is a whole number, at least 1."""
    kind = click.IntRange(1)
    return click.option(
        option, type=kind, metavar="N", default=default, show_default=True, help=text
    )


def share_option(option: str, text: str, default: str | None = None) -> Decorator:
    """Return an option whose value is a share, such as 1% or 0.01."""
    return click.option(
        option, type=parse_share, metavar="SHARE", default=default, show_default=True, help=text
    )


def budget_option(default: str | None, text: str) -> Callable[..., Any]:
    """Return --budget, a duration in seconds; *text* says what the time is for."""
    return click.option(
        "--budget",
        type=parse_duration,
        metavar="DURATION",
        default=default,
        show_default=True,
        help=f"{text}, such as 90s or 1h30min.",
    )


class ConfigurationOption(click.Option):
    """--configuration, which is also accepted under its old name --profile."""

    def __init__(self, declarations: Sequence[str], **given: Any) -> None:
        super().__init__([*declarations, "--configuration", "--profile"], **given)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the help without the old name."""
        record = super().get_help_record(ctx)
        return record and (record[0].replace(", --profile", ""), record[1])
