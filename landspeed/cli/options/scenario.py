"""The options that say which one question is put to the servers: of compare, bisect, confirm."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from benchmarks.workloads.scenario import Mode, Protocol
from landspeed.compare.side import CompareScenario, parse_scenario

_WORDS = ("scenario", "mode", "protocol", "scale", "clients", "profile", "seconds")

seconds_option = click.option(
    "--seconds",
    type=click.IntRange(1),
    default=CompareScenario.seconds,
    show_default=True,
    metavar="N",
    help="Seconds of each run; many short runs tell more than few long ones.",
)


def question_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for each word of a CompareScenario; the command is given the ``question`` they make."""

    @wraps(command)
    def packed(**given: Any) -> Any:
        words = {name: given.pop(name) for name in _WORDS}
        return command(question=parse_scenario(**words), **given)

    modes, protocols = [m.value for m in Mode], [p.value for p in Protocol]
    for option in (
        seconds_option,
        click.option("--profile", help="default, tuned."),
        click.option("--clients", type=click.IntRange(1), help="By default 1."),
        click.option(
            "--scale", metavar="TIER[=N]", help="small (the default), medium, large=5000."
        ),
        click.option("--protocol", type=click.Choice(protocols), help="By default prepared."),
        click.option("--mode", type=click.Choice(modes), help="By default read-only."),
        click.option("--scenario", metavar="SCENARIO", help="As landspeed show spells it."),
    ):
        packed = option(packed)
    return packed
