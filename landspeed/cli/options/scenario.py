"""The options that describe one scenario: of compare and bisect."""

from __future__ import annotations

import click

from benchmarks.workloads.scenario import Protocol
from landspeed.cli.options.common import (
    any_metric_option,
    fresh_option,
    memory_option,
    variant_options,
)
from landspeed.cli.options.kinds import (
    ConfigurationOption,
    Decorator,
    budget_option,
    number_option,
    packed,
    share_option,
    together,
)
from landspeed.cli.options.output import dry_run_option, json_option
from landspeed.cli.options.workloads import MODES, script_options
from landspeed.compare.side import CompareScenario, parse_scenario

SCENARIO_WORDS = (
    *("scenario", "mode", "script", "load", "protocol", "scale", "clients", "seconds"),
)
"""The names of their parameters, but for ``configuration``."""

seconds_option = number_option(
    "--seconds",
    "Length of each run. Many short runs give more information than a few long ones.",
    default=CompareScenario.seconds,
)

scenario_options = together(
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
    number_option("--clients", "Number of clients; by default 1."),
    click.option(
        "configuration",
        cls=ConfigurationOption,
        metavar="NAME",
        help="Server configuration, such as default (the default) or tuned.",
    ),
    seconds_option,
    packed(
        (*SCENARIO_WORDS, "configuration"),
        "scenario",
        lambda configuration, **words: parse_scenario(**words, profile=configuration),
    ),
)
"""--scenario and an option for each of its words; the command receives ``scenario``."""


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
        share_option(
            "--confidence",
            f"Probability {confidence[1]}, such as {confidence[0]}.",
            default=confidence[0],
        ),
        memory_option,
        fresh_option,
        dry_run_option,
        json_option,
    )
