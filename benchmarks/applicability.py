"""Which Cells a Preset has on this machine, and why some cannot run here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

from benchmarks.clients.sysbench import sysbench_reason
from benchmarks.machine.machine import Limits, Machine
from benchmarks.server.configuration import Configuration, shared_buffers_span
from benchmarks.server.pooler import MOST_CLIENTS, pooler_reason
from benchmarks.server.storage import STORAGES
from benchmarks.server.topology import server_count
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.scenario import (
    CacheState,
    Cell,
    Mode,
    Planned,
    Preset,
    Protocol,
    Tier,
    plan_cells,
    tier_scales,
)
from benchmarks.workloads.sysbench_modes import SysbenchMode


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
    limits = Limits.detect(machine, data)
    planned = []
    for name in preset.profiles:
        profile = Configuration.named(name)
        cells = plan_cells(
            replace(preset, profiles=(name,)),
            _limits(limits, profile, data),
            scales,
            shared_buffers={name: profile.shared_buffers(machine.memory_bytes)},
            max_connections=MOST_CLIENTS
            if profile.pooler
            else profile.max_connections(machine.memory_bytes),
            servers=server_count(profile.topology),
        )
        reason = _reason(profile, machine, data)
        planned += [_because(one, reason or _cell_reason(one.cell, profile)) for one in cells]
    return planned


def counted_cells(
    preset: Preset, machine: Machine, data: Path, overrides: Mapping[Tier, int]
) -> list[Planned]:
    """The Cells in which what *preset* asks is counted: one client, small, warm and cold.

    What exceeds shared buffers is asked by *cold*; a count does not see a disk. Scripts are
    counted warm.
    """
    one = replace(preset, tiers=(Tier.SMALL,), client_counts=(1,))
    return [
        replace(_because(planned, _uncounted(planned.cell)), cell=cell)
        for planned, buffers in product(planned_cells(one, machine, data, overrides), CacheState)
        for cell in [replace(planned.cell, buffers=buffers)]
        if buffers is CacheState.WARM or isinstance(cell.scenario.mode, Mode)
    ]


def _limits(limits: Limits, profile: Configuration, data: Path) -> Limits:
    if profile.storage is None:
        return limits
    return replace(limits, disk_bytes=STORAGES[profile.storage].free_bytes(data))


def _reason(profile: Configuration, machine: Machine, data: Path) -> str | None:
    """What *profile* needs and this machine does not have."""
    if profile.topology and machine.memory_limit is not None:
        return "a limit of memory is one server's, and a coordinator and workers are several"
    missing = STORAGES[profile.storage].reason(data) if profile.storage else None
    return missing or (pooler_reason() if profile.pooler else None)


def _cell_reason(cell: Cell, profile: Configuration) -> str | None:
    mode = cell.scenario.mode
    if profile.topology and not (isinstance(mode, Script) and mode.distribute):
        return f'{mode} does not say how its tables are distributed: "landspeed study sharded" does'
    if profile.pooler and cell.scenario.protocol is Protocol.PREPARED:
        return "a pooler hands transactions to any connection: prepared statements are not there"
    if isinstance(cell.scenario.mode, SysbenchMode):
        return sysbench_reason(cell.scenario.protocol)
    return None


def _uncounted(cell: Cell) -> str | None:
    profile, mode = Configuration.named(cell.profile), cell.scenario.mode
    if isinstance(mode, Workload) and mode.timed_only:
        return f"{mode} is timed only: it needs {mode.clients} clients"
    if isinstance(mode, SysbenchMode) or (isinstance(mode, Script) and len(mode.parts) > 1):
        return "only pgbench is counted, with one script"
    if profile.storage or profile.topology or profile.pooler:
        return "instructions are counted of one server, on the disk, by direct connections"
    return None


def _because(planned: Planned, reason: str | None) -> Planned:
    return replace(planned, reason=planned.reason or reason)
