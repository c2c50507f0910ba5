"""Scenarios and presets: what servers are asked to do, and what is possible on this machine.

Everything in this module is pure: it is told what the machine can give and touches nothing.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from typing import Any

from base.errors import UsageError
from base.version import Version
from benchmarks.machine.machine import Limits
from benchmarks.workloads.catalog import Workload, named
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.protocol import Protocol as Protocol  # noqa: PLC0414  part of a scenario
from benchmarks.workloads.sysbench_modes import SysbenchMode

CLIENT_COUNTS = (1, 4, 8, 16, 32, 64, 128, 256)
# pgbench's four tables and three indexes at 8 kB blocks: 100,000 accounts of 97 to a
# page and their index are 15.0 MB per unit of scale, measured on 8.3 to 18.
BYTES_PER_SCALE = 15_000_000
# An empty cluster with its WAL, and the WAL a Run may leave behind.
CLUSTER_BYTES = 500_000_000
# What a connected backend and its client's thread keep for themselves, generously.
BACKEND_BYTES = 10 << 20
# Connections kept free for superusers, and for ours that observes.
_RESERVED_CONNECTIONS = 8
# Files pgbench has open besides one socket per client.
_PGBENCH_FILES = 64
# Processes of a server and of landspeed besides one per client.
_OTHER_PROCESSES = 64


class Mode(StrEnum):
    """What a transaction does: one of pgbench's built-in scripts."""

    READ_ONLY = "read-only"
    READ_WRITE = "read-write"
    TPCB_LIKE = "tpcb-like"

    @property
    def writes(self) -> bool:
        """Whether it changes data, so that every Run needs its own copy of it."""
        return self is not Mode.READ_ONLY


AnyMode = Mode | Script | SysbenchMode | Workload
"""What a transaction does: pgbench's own, somebody's files, sysbench's, or the catalog's."""


def mode_named(word: str) -> AnyMode:
    """Return pgbench's mode or the workload of the catalog called *word*.

    UsageError if there is none.
    """
    if word in list(Mode):
        return Mode(word)
    try:
        return named(word)
    except KeyError:
        raise UsageError(
            f'mode "{word}" does not exist',
            hint=f'Choose {", ".join(Mode)}, or one that "landspeed list --workloads" shows.',
        ) from None


class Tier(StrEnum):
    """The size of the data compared with memory.

    *small* fits shared_buffers, *medium* exceeds it and fits RAM, *large* exceeds RAM.
    """

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


class CacheState(StrEnum):
    """What a counted run finds in shared buffers; timed runs have none.

    *warm*: every page it touches; *cold*: none, each is read in when it is first touched.
    """

    WARM = "warm"
    COLD = "cold"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What the server is asked to do: mode, protocol, tier and scale factor."""

    mode: AnyMode
    protocol: Protocol
    tier: Tier
    scale: int

    @property
    def size(self) -> float:
        """How many times as large as pgbench's own its tables are."""
        return 1.0 if isinstance(self.mode, Mode) else self.mode.size

    @property
    def data(self) -> str:
        """What tells its data from pgbench's own at the same scale; empty if it is that."""
        return "" if isinstance(self.mode, Mode) else self.mode.data

    @property
    def dataset(self) -> str:
        """The dataset of the catalog, a database of that name; empty if it uses none."""
        return self.mode.dataset if isinstance(self.mode, Workload) else ""

    def runs_on(self, version: Version) -> bool:
        """Return whether servers of *version* understand it."""
        return not isinstance(self.mode, Workload) or self.mode.runs_on(version)

    def digest(self, version: Version) -> str:
        """Return a digest of a workload of the catalog; empty for other modes."""
        return self.mode.digest(version) if isinstance(self.mode, Workload) else ""

    @property
    def digests(self) -> frozenset[str]:
        """Its digests on all versions."""
        return self.mode.digests if isinstance(self.mode, Workload) else frozenset({""})

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """The settings that its servers need, over those of the configuration."""
        return self.mode.settings if isinstance(self.mode, Workload) else ()

    def settings_of(self, known: Collection[str]) -> dict[str, str]:
        """Return the settings of a server that knows these."""
        return {name: value for name, value in self.settings if name in known}

    @property
    def indexes(self) -> tuple[tuple[str, str, str], ...]:
        """The indexes that grow with the scale: table, column, and one that is not in it."""
        if isinstance(self.mode, Workload):
            return ()
        if isinstance(self.mode, SysbenchMode):
            return (("sbtest1", "id", "c"), ("sbtest1", "k", "c"))
        return (("pgbench_accounts", "aid", "abalance"),)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A scenario with a number of clients and a configuration; per variant it has a trend.

    With ``buffers`` its instructions are counted, without them it is timed.
    """

    scenario: Scenario
    clients: int
    profile: str
    buffers: CacheState | None = None

    def threads(self, cores: int) -> int:
        """How many threads its client runs it with: no more than clients; pgbench's than cores."""
        if isinstance(self.scenario.mode, SysbenchMode):
            return self.clients
        return max(1, min(self.clients, cores))

    def facts(self, cores: int) -> dict[str, Any]:
        """What the raw record says of it."""
        return {
            "mode": self.scenario.mode.value,
            "protocol": self.scenario.protocol.value,
            "tier": self.scenario.tier.value,
            "scale": self.scenario.scale,
            "clients": self.clients,
            "threads": self.threads(cores),
            "profile": self.profile,
            **({"buffers": self.buffers.value} if self.buffers else {}),
        }


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A cell and, if it cannot run on this machine, the reason."""

    cell: Cell
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A named set of cells, and how many runs of how many seconds each gets."""

    name: str
    description: str
    modes: tuple[AnyMode, ...]
    protocols: tuple[Protocol, ...]
    tiers: tuple[Tier, ...]
    client_counts: tuple[int, ...]
    samples: int
    seconds: int
    profiles: tuple[str, ...]


_BOTH = (Mode.READ_ONLY, Mode.READ_WRITE)

PRESETS: Mapping[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            name="quick",
            description="minutes: shows that everything works, and large differences",
            modes=_BOTH,
            protocols=(Protocol.PREPARED,),
            tiers=(Tier.SMALL,),
            client_counts=(1, 4, 16),
            samples=3,
            seconds=2,
            profiles=("default",),
        ),
        Preset(
            name="regular",
            description="what tracking runs: many short independent samples of each cell",
            modes=_BOTH,
            protocols=(Protocol.PREPARED,),
            tiers=(Tier.SMALL, Tier.MEDIUM),
            client_counts=CLIENT_COUNTS,
            samples=8,
            seconds=10,
            profiles=("default",),
        ),
        # 60 s × 3 with the simple protocol on a tuned server is what published
        # comparisons of many PostgreSQL releases have used.
        Preset(
            name="archaeology",
            description="hours: the full classic ladder, for comparing all releases once",
            modes=_BOTH,
            protocols=(Protocol.SIMPLE,),
            tiers=tuple(Tier),
            client_counts=CLIENT_COUNTS,
            samples=3,
            seconds=60,
            profiles=("tuned",),
        ),
    )
}


def disk_bytes(scale: int, size: float = 1.0, *, servers: int = 1) -> int:
    """About how much disk a loaded cluster of *scale* takes, its WAL included.

    *size* is how many times as large as pgbench's own its tables are, *servers* those that
    share them.
    """
    return int(scale * BYTES_PER_SCALE * size) + servers * CLUSTER_BYTES


def preset_named(name: str) -> Preset:
    """The Preset called *name*; UsageError if there is none."""
    if name not in PRESETS:
        raise UsageError(
            f'preset "{name}" does not exist', hint=f"There are: {', '.join(PRESETS)}."
        )
    return PRESETS[name]


def parse_scales(words: Iterable[str]) -> dict[Tier, int]:
    """The scale factors that words such as ``small=100`` set; UsageError for a bad one."""
    scales = {}
    for word in words:
        tier, _, number = word.partition("=")
        if tier not in list(Tier) or not number.isdecimal() or int(number) < 1:
            raise UsageError(
                f'"{word}" does not set a scale factor',
                hint=f"Write TIER=SCALE, such as small=100; tiers are {', '.join(Tier)}.",
            )
        scales[Tier(tier)] = int(number)
    return scales


def tier_scales(
    *,
    memory_bytes: int,
    smallest_shared_buffers: int,
    largest_shared_buffers: int,
    overrides: Mapping[Tier, int] | None = None,
    limited: bool = False,
) -> dict[Tier, int]:
    """The scale factor of each Tier on a machine, *overrides* first.

    *small* is 60 % of the smallest shared_buffers of all profiles, *medium* half of
    the memory but at least 1.5 × the largest shared_buffers, *large* twice the memory.
    A scale is part of a Cell's name: the memory is rounded up to whole GiB, as it was
    bought, and the scale to two digits, so that a kernel that takes a few MB more
    for itself renames no Cell. A *limited* memory is what it was set to.
    """
    gib = 1 << 30
    memory = memory_bytes if limited else math.ceil(memory_bytes / gib) * gib
    sizes = {
        Tier.SMALL: 0.6 * smallest_shared_buffers,
        Tier.MEDIUM: max(memory / 2, 1.5 * largest_shared_buffers),
        Tier.LARGE: 2.0 * memory,
    }
    scales = {tier: _two_digits(size / BYTES_PER_SCALE) for tier, size in sizes.items()}
    return scales | dict(overrides or {})


def _two_digits(number: float) -> int:
    return max(1, int(float(f"{number:.1e}")))


def plan_cells(
    preset: Preset,
    limits: Limits,
    scales: Mapping[Tier, int],
    *,
    shared_buffers: Mapping[str, int],
    max_connections: int,
    servers: int = 1,
) -> list[Planned]:
    """Every Cell of *preset*, each with the reason why it cannot run here, if it cannot.

    *shared_buffers* is in bytes by profile name, of each of so many *servers* of a Run.
    """
    planned = []
    axes = product(
        preset.profiles, preset.tiers, preset.modes, preset.protocols, preset.client_counts
    )
    cells = (
        Cell(
            scenario=Scenario(mode=mode, protocol=protocol, tier=tier, scale=scales[tier]),
            clients=clients,
            profile=profile,
        )
        for profile, tier, mode, protocol, clients in axes
    )
    for cell in dict.fromkeys(map(_own, cells)):
        scenario, clients, profile = cell.scenario, cell.clients, cell.profile
        reasons = (
            _disk_reason(scenario, limits, servers),
            _connection_reason(clients, max_connections),
            _memory_reason(servers * clients, servers * shared_buffers[profile], limits),
            _process_reason(clients, limits),
        )
        planned.append(Planned(cell=cell, reason=next(filter(None, reasons), None)))
    return planned


def _own(cell: Cell) -> Cell:
    """Return *cell* as a workload of the catalog has it: its protocol and scale, maybe clients."""
    mode = cell.scenario.mode
    if not isinstance(mode, Workload):
        return cell
    scenario = Scenario(mode=mode, protocol=mode.protocol, tier=Tier.SMALL, scale=1)
    return replace(cell, scenario=scenario, clients=mode.clients or cell.clients)


def _disk_reason(scenario: Scenario, limits: Limits, servers: int) -> str | None:
    # what several servers share was all on one of them first
    copies = 2 if scenario.mode.writes or servers > 1 else 1
    needed = copies * disk_bytes(scenario.scale, scenario.size, servers=servers)
    if needed <= limits.disk_bytes:
        return None
    what = "its data and a copy to write to" if copies > 1 else "its data"
    return f"{what} need {_gb(needed)} of disk, {_gb(limits.disk_bytes)} are free"


def _connection_reason(clients: int, max_connections: int) -> str | None:
    if clients + _RESERVED_CONNECTIONS <= max_connections:
        return None
    return f"{clients} clients do not fit max_connections = {max_connections}"


def _memory_reason(backends: int, shared_buffers: int, limits: Limits) -> str | None:
    needed = shared_buffers + backends * BACKEND_BYTES
    if needed <= limits.memory_bytes:
        return None
    return (
        f"{backends} backends and shared_buffers need about {_gb(needed)} of memory, "
        f"there are {_gb(limits.memory_bytes)}"
    )


def _process_reason(clients: int, limits: Limits) -> str | None:
    if limits.open_files is not None and clients + _PGBENCH_FILES > limits.open_files:
        return f"{clients} clients need more open files than the limit of {limits.open_files}"
    if limits.processes is not None and clients + _OTHER_PROCESSES > limits.processes:
        return f"{clients} clients need more processes than the limit of {limits.processes}"
    return None


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB"
