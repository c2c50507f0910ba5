"""``landspeed plan``: how a server would be built and what would be measured of it."""

from __future__ import annotations

from typing import Any

import click

from base.build import Variant
from base.errors import UsageError
from base.paths import Paths
from benchmarks.machine.machine import Machine
from benchmarks.workloads.metrics import INSTRUCTIONS
from benchmarks.workloads.scenario import parse_scales
from builders.builder import Builder
from builders.recipe import BuildSystem
from landspeed.campaign.plan import plan_cells_facts, plan_recipe_facts, render_plan
from landspeed.cli.options.common import (
    emit,
    emit_json,
    json_option,
    metric_option,
    system_option,
    variant_options,
)
from landspeed.cli.options.memory import memory_option
from landspeed.cli.options.preset import chosen_preset, preset_options
from landspeed.console.progress import say
from landspeed.session.target import parse_targets, require_sources


@click.command("plan")
@click.argument("refs", nargs=-1, metavar="[REF[:VARIANT]]...")
@variant_options
@system_option
@preset_options
@metric_option
@memory_option
@json_option
def plan_(
    *,
    refs: tuple[str, ...],
    variant: Variant,
    build_system: str | None,
    preset: str | None,
    scales: tuple[str, ...],
    metric: str,
    memory: int | None,
    as_json: bool,
    **changes: Any,
) -> None:
    """Print how REF would be built and what would be measured; run nothing.

    \b
    Examples:
      landspeed plan 18 --blocksize 4
      landspeed plan --preset regular
      landspeed plan 13 18:bs4 --preset quick --json
      landspeed plan --preset archaeology --memory 1g
    """
    if not refs and preset is None:
        raise UsageError("nothing to plan", hint="Name a REF, a --preset, or both.")
    targets = parse_targets(refs, variant)
    require_sources(targets)
    paths = Paths.find()
    builder = Builder.open(paths, say)
    system = BuildSystem(build_system) if build_system else None
    facts: dict[str, Any] = {
        "recipes": [plan_recipe_facts(builder, target, system) for target in targets]
    }
    if preset is not None:
        facts["measurements"] = plan_cells_facts(
            Machine.detect().limited(memory),
            paths.server_root,
            chosen_preset(preset, **changes),
            parse_scales(scales),
            max(1, len(targets)),
            counted=metric == INSTRUCTIONS,
        )
    if as_json:
        emit_json(facts)
    else:
        emit(render_plan(facts))
