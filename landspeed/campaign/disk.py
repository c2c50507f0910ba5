"""Whether the disk holds the data of all that is measured, and what it takes where it does not."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Self

from benchmarks.data.templates import LIMIT, template_limit
from benchmarks.machine.machine import Limits
from benchmarks.server.configuration import Configuration
from benchmarks.server.topology import server_count
from benchmarks.workloads.scenario import Cell, disk_bytes
from landspeed.console.progress import duration
from landspeed.session.session import Session

# Loading, vacuuming and freezing a unit of scale.
_SECONDS_A_SCALE = 0.3


@dataclass(frozen=True, kw_only=True)
class DiskEstimate:
    """A DiskEstimate is how many bytes the data of all points take at most, and how many they can have.

    ``load_seconds`` is about what loading each once takes. ``is_set`` is whether a person's limit,
    and not the disk, says what they can have.
    """

    needed: int
    room: int
    load_seconds: float
    is_set: bool = False

    @classmethod
    def of(cls, session: Session, points: Iterable[tuple[Hashable, Cell]]) -> Self:
        """The DiskEstimate of *points*, each a server and a Cell, on the machine of *session*."""
        sizes: dict[tuple[Any, ...], int] = {}
        scales: dict[tuple[Any, ...], int] = {}
        for server, cell in points:
            key = data_of(server, cell)
            sizes[key] = max(sizes.get(key, 0), _bytes(cell))
            scales[key] = cell.scenario.scale
        disk = Limits.detect(session.machine, session.paths.server_root).disk_bytes
        limit = template_limit(dict(os.environ))
        return cls(
            needed=sum(sizes.values()),
            room=min(disk, limit),
            load_seconds=sum(scales.values()) * _SECONDS_A_SCALE,
            is_set=limit < disk,
        )

    def again_seconds(self, runs: Iterable[Cell]) -> float:
        """At most what loading takes again while *runs* are made, a Cell each; 0 if all has room.

        What was used longest ago makes room, and every round asks for all: each Run may load.
        """
        if self.needed <= self.room:
            return 0.0
        each = sum(cell.scenario.scale for cell in runs) * _SECONDS_A_SCALE
        return max(0.0, each - self.load_seconds)

    def told(self, again_seconds: float) -> str:
        """It as a person reads it; *again_seconds* as the method of that name has it."""
        text = f"{self.needed / 1e9:.1f} GB at most, for data"
        if not again_seconds:
            return text
        room = f"{self.room / 1e9:.1f} GB can be had{f' ({LIMIT})' if self.is_set else ''}"
        return (
            f"{text}; {room}: what makes room is loaded again, up to {duration(again_seconds)} more"
        )


def data_of(server: Hashable, cell: Cell) -> tuple[Any, ...]:
    """What tells the data that *cell* on *server* needs from others."""
    scenario, profile = cell.scenario, Configuration.named(cell.profile)
    return (server, scenario.scale, scenario.data, profile.storage, profile.topology)


def _bytes(cell: Cell) -> int:
    """The data of *cell*, and the copy that is written."""
    scenario, profile = cell.scenario, Configuration.named(cell.profile)
    copies = 2 if scenario.mode.writes or profile.topology else 1
    servers = server_count(profile.topology)
    return copies * disk_bytes(scenario.scale, scenario.size, servers=servers)
