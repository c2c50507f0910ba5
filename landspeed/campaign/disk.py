"""Estimate the disk space for the data of all points, and the cost of not having it."""

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

_SECONDS_A_SCALE = 0.3  # to load, vacuum and freeze one unit of scale


@dataclass(frozen=True, kw_only=True)
class DiskEstimate:
    """Bytes that the data of all points need at most, and bytes that are available.

    ``load_seconds`` estimates the time to load each data set once. ``is_limited`` says whether
    the limit in LANDSPEED_TEMPLATES_GB, not the disk, determines ``available``.
    """

    needed: int
    available: int
    load_seconds: float
    is_limited: bool = False

    @classmethod
    def of(cls, session: Session, points: Iterable[tuple[Hashable, Cell]]) -> Self:
        """Estimate the data of *points*, each a server and a cell, on the machine of *session*."""
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
            available=min(disk, limit),
            load_seconds=sum(scales.values()) * _SECONDS_A_SCALE,
            is_limited=limit < disk,
        )

    def reload_seconds(self, runs: Iterable[Cell]) -> float:
        """Return the most seconds that *runs*, a cell each, spend on loading data again.

        0 if all data fit. Otherwise the data used longest ago are deleted first, and since every
        round needs all of them, each run may have to load its own.
        """
        if self.needed <= self.available:
            return 0.0
        each = sum(cell.scenario.scale for cell in runs) * _SECONDS_A_SCALE
        return max(0.0, each - self.load_seconds)

    def text(self, reload_seconds: float) -> str:
        """Return the estimate as text; *reload_seconds* as from the method of that name."""
        text = f"{self.needed / 1e9:.1f} GB at most, for data"
        if not reload_seconds:
            return text
        limit = f" ({LIMIT})" if self.is_limited else ""
        return (
            f"{text}; {self.available / 1e9:.1f} GB are available{limit}: "
            f"data are deleted and loaded again, up to {duration(reload_seconds)} more"
        )


def data_of(server: Hashable, cell: Cell) -> tuple[Any, ...]:
    """Return the key of the data that *cell* needs on *server*."""
    scenario, profile = cell.scenario, Configuration.named(cell.profile)
    return (server, scenario.scale, scenario.data, profile.storage, profile.topology)


def _bytes(cell: Cell) -> int:
    """Return the size of the data of *cell*, with the copy that its runs write to."""
    scenario, profile = cell.scenario, Configuration.named(cell.profile)
    copies = 2 if scenario.mode.writes or profile.topology else 1
    servers = server_count(profile.topology)
    return copies * disk_bytes(scenario.scale, scenario.size, servers=servers)
