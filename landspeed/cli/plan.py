"""``landspeed plan``: how servers would be built and what would be measured."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from base.build import Variant
from base.errors import UsageError
from base.files import canonical_json
from base.paths import Paths
from benchmarks.machine.machine import Machine
from benchmarks.workloads.metrics import INSTRUCTIONS
from benchmarks.workloads.scenario import parse_scales
from builders.builder import Builder
from builders.recipe_table import BuildSystem
from landspeed.campaign.plan import BuildPlan, MeasurementPlan
from landspeed.cli.options.common import (
    memory_option,
    metric_option,
    system_option,
    variants_options,
)
from landspeed.cli.options.kinds import flag
from landspeed.cli.options.output import emit, json_option, show_dry_run
from landspeed.cli.options.preset import chosen_preset, preset_options
from landspeed.console.progress import duration
from landspeed.console.table import as_text, rich_table
from landspeed.farm.matrix import builds_matrix
from landspeed.session.target import parse_targets, require_sources


@click.command("plan")
@click.argument("refs", nargs=-1, metavar="[REF[:VARIANT]]...")
@variants_options
@system_option
@preset_options
@metric_option
@memory_option
@flag(
    "--matrix",
    "Print only the builds, as one line of JSON: the matrix of a GitHub Actions job.",
)
@json_option
def plan_(
    *,
    refs: tuple[str, ...],
    variants: list[Variant],
    build_system: str | None,
    preset: str | None,
    scales: tuple[str, ...],
    metric: str,
    memory: int | None,
    matrix: bool,
    **changes: Any,
) -> None:
    """Show how each REF would be built and what would be measured.

    Runs nothing. Options of the build variant that are given several times make every combination.

    \b
    Examples:
      landspeed plan 18 --blocksize 4
      landspeed plan --preset regular
      landspeed plan 13 18:bs4 --preset quick --json
      landspeed plan --preset archaeology --memory 1g
      landspeed plan 13 18 --blocksize 2 --blocksize 8 --matrix
      echo "matrix=$(landspeed plan 17 18:bs4 --matrix)" >> "$GITHUB_OUTPUT"
    """
    if not refs and (preset is None or matrix):
        raise UsageError(
            "nothing to plan", hint="Name a REF." if matrix else "Name a REF, a --preset, or both."
        )
    targets = parse_targets(refs, *variants)
    require_sources(targets)
    paths = Paths.find()
    builder = Builder.open(paths)
    if matrix:
        emit(canonical_json(builds_matrix(builder.sources, targets)))
        return
    system = BuildSystem(build_system) if build_system else None
    measurements = None
    if preset is not None:
        measurements = MeasurementPlan(
            machine=Machine.detect().limited(memory),
            root=paths.server_root,
            preset=chosen_preset(preset, **changes),
            scales=parse_scales(scales),
            builds=max(1, len(targets)),
            counted=metric == INSTRUCTIONS,
        )
    show_plan([BuildPlan.of(builder, one, system) for one in targets], measurements)


def show_plan(builds: Sequence[BuildPlan], measurements: MeasurementPlan | None = None) -> None:
    """Print how *builds* would be made, and what would be measured of them."""
    facts: dict[str, Any] = {"recipes": [one.facts() for one in builds]}
    parts = [build_plan_text(one) for one in builds]
    if measurements is not None:
        facts["measurements"] = measurements.facts()
        parts.append(measurement_plan_text(measurements))
    show_dry_run("\n\n".join(parts), facts)


def build_plan_text(plan: BuildPlan) -> str:
    """Return *plan* as text, its steps as commands that can be typed."""
    unknown = f"known when the {'image is made' if plan.origin else 'source is on this machine'}"
    tree = f"tree {plan.origin.tree}" if plan.origin else "not on this machine yet"
    lines = [
        f"{plan.identifier or plan.target} ({'built' if plan.is_built else 'not built'})",
        f"  source   PostgreSQL {plan.recipe.version}, {tree}",
        f"  prefix   {plan.prefix or unknown}",
        f"  cc       {plan.toolchain['cc']}",
    ]
    if "native" in plan.toolchain:
        lines.append(f"  native   {plan.toolchain['native']}: for this processor alone")
    for quirk in plan.recipe.quirks:
        lines += [f"  quirk    {quirk.name}: {quirk.because}", f"           {quirk.see}"]
    for name in ("image", "container"):
        if f"{name}_command" in plan.toolchain:
            lines.append(f"  {name:<8} {plan.toolchain[f'{name}_command']}")
    lines.append("  steps, in the source tree:")
    for step in plan.recipe.steps:
        environment = "".join(f"{k}={shlex.quote(v)} " for k, v in dict(step.environment).items())
        # The sandbox fills in {stage} and {jobs}; quotes would only hide that.
        words = (one if "{" in one else shlex.quote(one) for one in step.argv)
        lines.append(f"    {environment}{' '.join(words)}")
    return "\n".join(lines)


def measurement_plan_text(plan: MeasurementPlan) -> str:
    """Return *plan* as text: the runs, their time, and each cell or why it is not possible."""
    machine, preset = plan.machine, plan.preset
    each = "counted" if plan.counted else f"of {preset.seconds} s"
    lines = [
        f"preset {preset.name}: {preset.description}",
        f"  machine  {machine.name}, {machine.cores} cores, {machine.memory_bytes / 2**30:.1f} GiB",
        f"  runs     {plan.runs} {each} "
        f"({plan.samples} of each point), about {duration(round(plan.seconds))}",
    ]
    return "\n".join([*lines, *cells_text(plan.facts()["cells"])])


def cells_text(cells: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a table of the facts of planned *cells*, each with what it runs or why it cannot."""
    names = ("mode", "protocol", "tier", "scale", "clients", "threads", "profile")
    rows = []
    for one in cells:
        reason = f"not applicable: {one['not_applicable']}" if one["not_applicable"] else ""
        rows.append((*(str(one[name]) for name in names), one.get("buffers", ""), reason))
    table = as_text(rich_table((*names, "", ""), rows, align="lllrrrl"))
    return [f"  {line}" for line in table.splitlines()]
