"""The options that say what to measure: a preset and changes to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from benchmarks.server.configuration import Configuration
from benchmarks.workloads.scenario import PRESETS, Mode, Preset, Protocol, Tier, preset_named
from landspeed.cli.options.common import ConfigurationOption


def preset_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --preset and the options that change parts of it."""
    preset = click.option(
        "--preset", type=click.Choice(list(PRESETS)), help="What to measure, and how often."
    )
    return preset(axes_options(command))


def axes_options(
    command: Callable[..., Any], *, mode: click.types.StringParamType | None = None
) -> Callable[..., Any]:
    """Add the options that change parts of a preset; *mode* is the type of --mode."""
    options = (
        click.option(
            "--scale",
            "scales",
            multiple=True,
            metavar="TIER=N",
            help="Scale factor of a tier, such as small=100; may be repeated.",
        ),
        click.option(
            "--tier",
            "tiers",
            multiple=True,
            type=click.Choice([t.value for t in Tier]),
            help="Size of the data in relation to memory; may be repeated.",
        ),
        click.option(
            "--mode",
            "modes",
            multiple=True,
            type=mode or click.Choice([m.value for m in Mode]),
            help="What a transaction does; may be repeated.",
        ),
        click.option(
            "--protocol",
            "protocols",
            multiple=True,
            type=click.Choice([p.value for p in Protocol]),
            help="Query protocol of pgbench; may be repeated.",
        ),
        click.option(
            "--clients",
            multiple=True,
            type=click.IntRange(1),
            metavar="N",
            help="Number of clients; may be repeated.",
        ),
        click.option(
            "configurations",
            cls=ConfigurationOption,
            multiple=True,
            metavar="NAME",
            help="Server configuration: default, tuned, default-with-SETTING=VALUE and so on; "
            "may be repeated.",
        ),
        click.option(
            "--samples", type=click.IntRange(1), metavar="N", help="Number of runs of each point."
        ),
        click.option("--seconds", type=click.IntRange(1), metavar="N", help="Length of each run."),
    )
    for option in reversed(options):
        command = option(command)
    return command


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
