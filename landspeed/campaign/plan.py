"""What ``landspeed plan`` prints: recipes and measurements as they would be, nothing run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.applicability import counted_cells, planned_cells
from benchmarks.machine.machine import Machine
from benchmarks.workloads.metrics import INSTRUCTIONS, LATENCY
from benchmarks.workloads.scenario import Preset, Tier
from builders.builder import Builder
from builders.recipe import BuildSystem, recipe
from landspeed.console.progress import duration
from landspeed.sampling.rounds import OVERHEAD_SECONDS, counting_seconds
from landspeed.session.target import Target


def plan_recipe_facts(
    builder: Builder, target: Target, system: BuildSystem | None
) -> dict[str, Any]:
    """How *target* would be built: its source, identity and Recipe."""
    version, source = builder.sources.glance(target.ref)
    if source is None:
        planned = recipe(version, target.variant, system)
    else:
        planned = builder.recipe(source, target.variant, system)
    identifier = builder.identifier(source, planned) if source else None
    return {
        "target": str(target),
        "identifier": identifier,
        "prefix": str(builder.store.root / identifier) if identifier else None,
        "is_built": identifier is not None and builder.store.find(identifier) is not None,
        "origin": vars(source.origin) if source else None,
        "toolchain": builder.sandbox.toolchain(target.variant),
        "recipe": planned.facts(),
    }


def plan_cells_facts(
    machine: Machine,
    root: Path,
    preset: Preset,
    overrides: Mapping[Tier, int],
    builds: int,
    *,
    counted: bool = False,
) -> dict[str, Any]:
    """What *preset* would measure of each of *builds* builds, and about how long.

    On *machine*, this one, with clusters below *root*.
    """
    cells = counted_cells if counted else planned_cells
    planned = cells(preset, machine, root, overrides)
    count = sum(p.reason is None for p in planned)
    runs = count * builds * (1 if counted else preset.samples)
    timed = runs * (preset.seconds + OVERHEAD_SECONDS)
    return {
        "metric": INSTRUCTIONS if counted else LATENCY,
        "preset": preset.name,
        "description": preset.description,
        "samples": 1 if counted else preset.samples,
        "seconds": preset.seconds,
        "machine": machine.facts(),
        "cells": [p.cell.facts(machine.cores) | {"not_applicable": p.reason} for p in planned],
        "runs": runs,
        "about_seconds": round(counting_seconds(runs, machine.cores) if counted else timed),
    }


def render_plan(facts: Mapping[str, Any]) -> str:
    """The facts of a plan as text a person can read and type."""
    parts = [_render_recipe(one) for one in facts["recipes"]]
    if "measurements" in facts:
        parts.append(_render_cells(facts["measurements"]))
    return "\n\n".join(parts)


def _render_recipe(facts: Mapping[str, Any]) -> str:
    origin = facts["origin"]
    built = "built" if facts["is_built"] else "not built"
    tree = f"tree {origin['tree']}" if origin else "not on this machine yet"
    lines = [
        f"{facts['identifier'] or facts['target']} ({built})",
        f"  source   PostgreSQL {facts['recipe']['version']}, {tree}",
        f"  prefix   {facts['prefix'] or 'known when the source is here'}",
        f"  cc       {facts['toolchain']['cc']}",
    ]
    if "native" in facts["toolchain"]:
        lines.append(f"  native   {facts['toolchain']['native']}: for this processor alone")
    for quirk in facts["recipe"]["quirks"]:
        lines += [f"  quirk    {quirk['name']}: {quirk['because']}", f"           {quirk['see']}"]
    lines.append("  steps, in the source tree:")
    for step in facts["recipe"]["steps"]:
        environment = "".join(f"{k}={shlex.quote(v)} " for k, v in step["environment"].items())
        lines.append(f"    {environment}{' '.join(_shown(a) for a in step['argv'])}")
    return "\n".join(lines)


def _shown(argument: str) -> str:
    # {stage} and {jobs} are filled in by the sandbox: quoting them would only hide that
    return argument if "{" in argument else shlex.quote(argument)


def _render_cells(facts: Mapping[str, Any]) -> str:
    machine = facts["machine"]
    lines = [
        f"preset {facts['preset']}: {facts['description']}",
        f"  machine  {machine['name']}, {machine['cores']} cores, "
        f"{machine['memory_bytes'] / 2**30:.1f} GiB",
        f"  runs     {facts['runs']} {_each(facts)} "
        f"({facts['samples']} of each point), about {duration(facts['about_seconds'])}",
        f"  {'mode':<10} {'protocol':<8} {'tier':<6} {'scale':>5} {'clients':>7} "
        f"{'threads':>7} profile",
    ]
    for cell in facts["cells"]:
        settings = " ".join(cell[name] for name in ("profile", "buffers") if name in cell)
        reason = f"  not applicable: {cell['not_applicable']}" if cell["not_applicable"] else ""
        lines.append(
            f"  {cell['mode']:<10} {cell['protocol']:<8} {cell['tier']:<6} {cell['scale']:>5} "
            f"{cell['clients']:>7} {cell['threads']:>7} {settings}{reason}"
        )
    return "\n".join(lines)


def _each(facts: Mapping[str, Any]) -> str:
    return "counted" if facts["metric"] == INSTRUCTIONS else f"of {facts['seconds']} s"
