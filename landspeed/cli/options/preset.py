"""The options that say what to measure: a preset and changes to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from benchmarks.server.configuration import Configuration
from benchmarks.workloads.scenario import PRESETS, Mode, Preset, Protocol, Tier, preset_named
from landspeed.cli.options.common import ConfigurationOption, together


def _repeated(*names: str, help_: str, **given: Any) -> Callable[..., Any]:
    return click.option(*names, multiple=True, help=f"{help_}; may be repeated.", **given)


def axes_options(mode: Any = None) -> Callable[..., Any]:
    """Return the options that change parts of a preset; *mode* is the type of --mode."""
    return together(
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
            type=mode or click.Choice([m.value for m in Mode]),
            help_="What a transaction does",
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
        click.option(
            "--samples", type=click.IntRange(1), metavar="N", help="Number of runs of each point."
        ),
        click.option("--seconds", type=click.IntRange(1), metavar="N", help="Length of each run."),
    )


preset_options = together(
    click.option(
        "--preset", type=click.Choice(list(PRESETS)), help="What to measure, and how often."
    ),
    axes_options(),
)
"""--preset and the options that change parts of it."""


def chosen_preset(name: str, **changes: Any) -> Preset:
    """Return the preset *name* with the changes that the options ask for."""
    preset = preset_named(name)
    given: dict[str, Any] = {
        "modes": tuple(map(Mode, changes["modes"])),
        "tiers": tuple(map(Tier, changes["tiers"])),
        "protocols": tuple(map(Protocol, changes["protocols"])),
        "client_counts": changes["clients"],
        "profiles": tuple(Configuration.named(n).name for n in changes["configurations"]),
        "samples": changes["samples"],
        "seconds": changes["seconds"],
    }
    return replace(preset, **{field: value for field, value in given.items() if value})
