"""The options that say what is measured: a preset, and what is changed in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from benchmarks.server.configuration import Configuration
from benchmarks.workloads.scenario import PRESETS, Mode, Preset, Protocol, Tier, preset_named


def preset_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What to measure: a preset, and what to change in it."""
    preset = click.option("--preset", type=click.Choice(list(PRESETS)), help="What to measure.")
    return preset(axes_options(command))


def axes_options(
    command: Callable[..., Any], *, mode: click.types.StringParamType | None = None
) -> Callable[..., Any]:
    """What to change in a preset; *mode* is the type of its modes, pgbench's own by default."""
    options = (
        click.option(
            "--scale",
            "scales",
            multiple=True,
            metavar="TIER=N",
            help="Scale factor of a tier, like small=100.",
        ),
        click.option(
            "--tier",
            "tiers",
            multiple=True,
            type=click.Choice([t.value for t in Tier]),
            help="How the data compares to memory; may be repeated.",
        ),
        click.option(
            "--mode",
            "modes",
            multiple=True,
            type=mode or click.Choice([m.value for m in Mode]),
            help="May be repeated.",
        ),
        click.option(
            "--protocol", "protocols", multiple=True, type=click.Choice([p.value for p in Protocol])
        ),
        click.option(
            "--clients",
            multiple=True,
            type=click.IntRange(1),
            help="Clients of a rung; may be repeated.",
        ),
        click.option(
            "--profile",
            "profiles",
            multiple=True,
            help="default, tuned, default-with-SETTING=VALUE, …; may be repeated.",
        ),
        click.option("--samples", type=click.IntRange(1), help="Runs of each point."),
        click.option("--seconds", type=click.IntRange(1), help="Seconds of each run."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def chosen_preset(name: str, **changes: Any) -> Preset:
    """The preset *name* with what the options change."""
    preset = preset_named(name)
    given: dict[str, Any] = {
        "modes": tuple(map(Mode, changes["modes"])),
        "tiers": tuple(map(Tier, changes["tiers"])),
        "protocols": tuple(map(Protocol, changes["protocols"])),
        "rungs": changes["clients"],
        "profiles": tuple(Configuration.named(n).name for n in changes["profiles"]),
        "samples": changes["samples"],
        "seconds": changes["seconds"],
    }
    return replace(preset, **{field: value for field, value in given.items() if value})
