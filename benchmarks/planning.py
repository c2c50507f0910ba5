"""Which Cells a Preset has on this machine, and why some cannot run here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

from benchmarks.machine import Limits, Machine
from benchmarks.profiles import Profile, shared_buffers_span
from benchmarks.scenarios import Buffers, Planned, Preset, Tier, plan_cells, tier_scales


def planned_cells(
    preset: Preset, machine: Machine, data: Path, overrides: Mapping[Tier, int]
) -> list[Planned]:
    """Every Cell of *preset* on *machine*; *data* is where clusters will live.

    *overrides* are scale factors that take the place of the derived ones.
    """
    smallest, largest = shared_buffers_span(machine.memory_bytes)
    scales = tier_scales(
        memory_bytes=machine.memory_bytes,
        smallest_shared_buffers=smallest,
        largest_shared_buffers=largest,
        overrides=overrides,
        limited=machine.memory_limit is not None,
    )
    profiles = {name: Profile.named(name) for name in preset.profiles}
    return plan_cells(
        preset,
        Limits.detect(machine, data),
        scales,
        shared_buffers={n: p.shared_buffers(machine.memory_bytes) for n, p in profiles.items()},
        max_connections=min(p.max_connections(machine.memory_bytes) for p in profiles.values()),
    )


def counted_cells(
    preset: Preset, machine: Machine, data: Path, overrides: Mapping[Tier, int]
) -> list[Planned]:
    """The Cells in which what *preset* asks is counted: one client, small, warm and cold.

    What exceeds shared buffers is asked by *cold*; a count does not see a disk.
    """
    one = replace(preset, tiers=(Tier.SMALL,), rungs=(1,))
    return [
        replace(planned, cell=replace(planned.cell, buffers=buffers))
        for planned, buffers in product(planned_cells(one, machine, data, overrides), Buffers)
    ]
