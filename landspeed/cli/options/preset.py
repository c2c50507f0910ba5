"""The options that say what to measure: a preset and changes to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import click

from benchmarks.server.configuration import Configuration
from benchmarks.workloads.scenario import (
    PRESETS,
    AnyMode,
    Preset,
    Protocol,
    Tier,
    mode_named,
    preset_named,
)
from landspeed.cli.options.kinds import ConfigurationOption, number_option, together
from landspeed.cli.options.workloads import MODES, script_options
from landspeed.compare.side import read_script


def _repeated(*names: str, help_: str, **given: Any) -> Callable[..., Any]:
    return click.option(*names, multiple=True, help=f"{help_}; may be repeated.", **given)


axes_options = together(
    _repeated(
        *("--scale", "scales"),
        metavar="TIER=N",
        help_="Scale factor of a tier, such as small=100",
    ),
    _repeated(
        *("--tier", "tiers"),
        type=click.Choice([t.value for t in Tier]),
        help_="Size of the data in relation to memory",
    ),
    _repeated(
        *("--mode", "modes"),
        metavar="MODE",
        help_=f"What a transaction does. {MODES[:-1]}",
    ),
    _repeated(
        *("--protocol", "protocols"),
        type=click.Choice([p.value for p in Protocol]),
        help_="Query protocol of pgbench",
    ),
    _repeated("--clients", type=click.IntRange(1), metavar="N", help_="Number of clients"),
    _repeated(
        "configurations",
        cls=ConfigurationOption,
        metavar="NAME",
        help_="Server configuration: default, tuned, default-with-SETTING=VALUE and so on",
    ),
    number_option("--samples", "Number of runs of each point."),
    number_option("--seconds", "Length of each run."),
)
"""The options that change parts of a preset."""

preset_options = together(
    click.option(
        "--preset", type=click.Choice(list(PRESETS)), help="What to measure, and how often."
    ),
    axes_options,
    script_options,
)
"""--preset and the options that change parts of it."""


def chosen_preset(name: str, workloads: Iterable[AnyMode] = (), **changes: Any) -> Preset:
    """Return the preset *name* with the changes that the options ask for, and with *workloads*."""
    preset = preset_named(name)
    script = read_script(changes["script"], changes["load"])
    given: dict[str, Any] = {
        "modes": (*map(mode_named, changes["modes"]), *workloads, *filter(None, [script])),
        "tiers": tuple(map(Tier, changes["tiers"])),
        "protocols": tuple(map(Protocol, changes["protocols"])),
        "client_counts": changes["clients"],
        "profiles": tuple(Configuration.named(n).name for n in changes["configurations"]),
        "samples": changes["samples"],
        "seconds": changes["seconds"],
    }
    return replace(preset, **{field: value for field, value in given.items() if value})
