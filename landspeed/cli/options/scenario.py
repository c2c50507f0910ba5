"""The options that describe one scenario: of compare and bisect."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from benchmarks.workloads.scenario import Protocol
from landspeed.cli.options.common import (
    ConfigurationOption,
    Decorator,
    any_metric_option,
    budget_option,
    dry_run_option,
    fresh_option,
    json_option,
    memory_option,
    together,
    variant_options,
)
from landspeed.cli.options.workloads import MODES, script_options
from landspeed.compare.side import CompareScenario, parse_scenario
from landspeed.console.params import parse_share

SCENARIO_WORDS = (
    *("scenario", "mode", "script", "load", "protocol", "scale", "clients", "seconds"),
)
"""The names of their parameters, but for ``configuration``."""

seconds_option = click.option(
    "--seconds",
    type=click.IntRange(1),
    default=CompareScenario.seconds,
    show_default=True,
    metavar="N",
    help="Length of each run. Many short runs give more information than a few long ones.",
)


_each_option = together(
    click.option(
        "--scenario",
        metavar="SCENARIO",
        help="Mode, protocol, scale, clients and configuration in one word, as "
        '"landspeed show" prints it.',
    ),
    click.option(
        "--mode",
        metavar="MODE",
        help=f"What a transaction does; by default read-only. {MODES}",
    ),
    script_options,
    click.option(
        "--protocol",
        type=click.Choice([p.value for p in Protocol]),
        help="Query protocol of pgbench; by default prepared.",
    ),
    click.option(
        "--scale",
        metavar="TIER[=N]",
        help="Size of the data: small (the default), medium, or large, or such as large=5000 "
        "with a scale factor.",
    ),
    click.option(
        "--clients", type=click.IntRange(1), metavar="N", help="Number of clients; by default 1."
    ),
    click.option(
        "configuration",
        cls=ConfigurationOption,
        metavar="NAME",
        help="Server configuration, such as default (the default) or tuned.",
    ),
    seconds_option,
)


def scenario_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --scenario and an option for each of its words; *command* receives ``scenario``."""

    @_each_option
    @wraps(command)
    def packed(*, configuration: str | None, **given: Any) -> Any:
        words = {name: given.pop(name) for name in SCENARIO_WORDS}
        return command(scenario=parse_scenario(**words, profile=configuration), **given)

    return packed


def comparison_options(
    *more: Decorator, budget: tuple[str, str], confidence: tuple[str, str]
) -> Decorator:
    """Return the options of a verb that compares servers in one scenario, *more* first.

    *budget* and *confidence* are each a default and what the option means.
    """
    return together(
        *more,
        variant_options,
        any_metric_option,
        scenario_options,
        budget_option(*budget),
        click.option(
            "--confidence",
            type=parse_share,
            metavar="SHARE",
            default=confidence[0],
            show_default=True,
            help=f"Probability {confidence[1]}, such as {confidence[0]}.",
        ),
        memory_option,
        fresh_option,
        dry_run_option,
        json_option,
    )
