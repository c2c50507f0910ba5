"""The data of the heat map: every counted cell against versions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
import pyarrow.compute as pc

from base.build import Variant
from benchmarks.workloads.catalog import FAMILIES, workloads
from benchmarks.workloads.metrics import metrics_of
from benchmarks.workloads.scenario import Mode
from landspeed.results.params import Params, asv_cell, asv_choices
from landspeed.results.points import Dot, Dots
from landspeed.site.pages.versions import Category
from landspeed.stats.summary import rounded

PGBENCH, OTHERS = "pgbench", "your own"
"""The families of modes that are not in the catalog."""

_Count = tuple[Dot, int, bool]
"""A counted dot, the index of its toolchain, and whether the profile of its last run is kept."""


def workload_facts(
    dots: Dots, categories: Mapping[str, Category], profiles: Collection[str]
) -> dict[str, Any]:
    """Return the counts of *dots* at *categories*: a map for each machine and variant.

    A row of a map has the median of each metric at each of the map's versions and, by cache state,
    the ids of the ``runs`` that are among *profiles*. Numbers with different indices of a
    ``toolchain`` cannot be compared.
    """
    counted = pc.is_valid(dots.heads["buffers"]).to_numpy(zero_copy_only=False)
    shown = np.array([origin.name in categories for origin in dots.origins], dtype=bool)
    which = np.flatnonzero(counted[dots.rows] & shown[dots.whose])
    toolchains = sorted(set(dots.toolchains.values()))
    found: dict[tuple[str, Variant], dict[tuple[str, Params], list[_Count]]] = {}
    for dot in dots.some(which):
        tool = toolchains.index(dots.toolchains[dot.digest, dot.epoch])
        cells = found.setdefault((dot.machine, dot.variant), {})
        count = dot, tool, dot.last_id in profiles
        cells.setdefault((dot.mode, dot.params), []).append(count)
    drawn = [_map(*whose, cells, categories) for whose, cells in sorted(found.items())]
    return {
        "toolchains": toolchains,
        "versions": [
            one.facts()
            for name, one in categories.items()
            if any(name in some["versions"] for some in drawn)
        ],
        "families": list(dict.fromkeys((*FAMILIES, PGBENCH, OTHERS))),
        "catalog": {one.name: {"title": one.title, "guards": one.guards} for one in workloads()},
        "maps": drawn,
    }


def _map(
    machine: str,
    variant: Variant,
    rows: Mapping[tuple[str, Params], Sequence[_Count]],
    order: Iterable[str],
) -> dict[str, Any]:
    """Return the map of one machine and variant; *order* has the names of all versions."""
    names = {dot.origin.name for some in rows.values() for dot, _, _ in some}
    versions = [name for name in order if name in names]
    position = {one.name: number for number, one in enumerate(workloads())}
    in_order = sorted(rows, key=lambda row: (position.get(row[0], len(position)), row))
    return {
        "machine": machine,
        "variant": variant.name,
        "axes": variant.axes(),
        "versions": versions,
        "rows": [_row(*row, rows[row], versions) for row in in_order],
    }


def _row(
    mode: str, params: Params, own: Sequence[_Count], versions: Sequence[str]
) -> dict[str, Any]:
    values: dict[str, list[float | None]] = {}
    runs: dict[str, list[str | None]] = {}
    tools: list[int | None] = [None] * len(versions)
    for dot, tool, has_profile in own:
        at = versions.index(dot.origin.name)
        tools[at] = tool
        if has_profile:
            runs.setdefault(str(dot.buffers), [None] * len(versions))[at] = dot.last_id
        for metric in metrics_of(dot.buffers):
            if known := dot.samples[metric.column]:
                line = values.setdefault(metric.name, [None] * len(versions))
                line[at] = rounded(median(known))
    group, cell = asv_cell(mode, params)
    return {
        "mode": mode,
        "family": group if group != mode else PGBENCH if mode in set(Mode) else OTHERS,
        "group": group.replace("-", "_"),
        "params": vars(params),
        "asv": asv_choices(group, cell),
        "values": values,
        "runs": runs,
        "toolchain": tools,
    }


def run_ids(facts: Mapping[str, Any]) -> set[str]:
    """Return the ids of the runs that the maps in *facts* name."""
    rows = [row for one in facts.get("maps", ()) for row in one["rows"]]
    return {run for row in rows for runs in row["runs"].values() for run in runs if run}
