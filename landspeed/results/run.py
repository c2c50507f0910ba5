"""One recorded run, as the columns of the records' table describe it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from base.build import Origin, Variant
from benchmarks.records.columns import variant_of
from benchmarks.workloads.cell_name import CellName
from benchmarks.workloads.points import ADAPTIVE


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run: its server, its cell, and its numbers by column.

    ``buffers`` is None for timed runs, ``seconds`` (the length of the run) for counted ones.
    ``time`` is ISO 8601.
    """

    id: str
    time: str
    machine: str
    epoch: str
    digest: str
    origin: Origin
    variant: Variant
    mode: str
    protocol: str
    tier: str
    scale: int
    clients: int
    profile: str
    buffers: str | None
    preset: str
    round: int | None
    seconds: float | None
    numbers: Mapping[str, Any]

    @classmethod
    def of(cls, row: Mapping[str, Any], origin: Origin) -> Run:
        """Return the run of a *row* of RecordStore.table(), as one of *origin*."""
        own = {one.name: row[one.name] for one in fields(cls) if one.name in row}
        return cls(origin=origin, variant=variant_of(row), numbers=row, **own)

    @property
    def point(self) -> str:
        """The point of the run, in the spelling that ``landspeed show`` takes."""
        return f"{self.target}/{CellName.of(vars(self))}"

    @property
    def target(self) -> str:
        """The target, as it is typed."""
        return f"{self.origin.name}:{self.variant}"

    @property
    def server(self) -> Hashable:
        """What tells this server in its environment from others of the same point.

        Runs that a comparison or a bisection made are kept apart.
        """
        return self.digest, self.epoch, self.is_adaptive

    @property
    def is_adaptive(self) -> bool:
        """Whether a comparison or a bisection made the run; such runs are never published."""
        return self.preset in ADAPTIVE


def origin_of(row: Mapping[str, Any]) -> Origin:
    """Return the origin of a *row* of RecordStore.table()."""
    return Origin(
        release=row["release"],
        commit=row["commit"],
        tree=row["tree"],
        date=row.get("origin_date") or "",
        registered=row["registered"],
    )
