"""What is to be compared and how, and how far the comparison has come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from base.build import Build
from base.errors import UsageError
from base.files import canonical_json, digest_text
from benchmarks.clients.pgbench import Pgbench
from benchmarks.workloads.metrics import Metric
from benchmarks.workloads.scenario import Cell
from landspeed.compare.verdict import Comparison, StoppingRule
from landspeed.results.warnings import RunWarning
from landspeed.sampling.rounds import OVERHEAD_SECONDS


@dataclass(frozen=True, kw_only=True)
class CompareSide:
    """A side that is built: its build, the cell that it runs, and its name in reports."""

    label: str
    build: Build
    cell: Cell

    @classmethod
    def of(cls, build: Build, cell: Cell) -> Self:
        """Return *build* in *cell*, called as the build is."""
        return cls(label=build.label, build=build, cell=cell)

    @property
    def key(self) -> tuple[str, str]:
        """The installed files and the profile: two sides with one key are the same server."""
        return self.build.digest, self.cell.profile


@dataclass(frozen=True, kw_only=True)
class ComparePlan:
    """Everything about a comparison but its outcome.

    ``seconds`` is the length of one run. ``budget`` is the time in seconds that all runs may
    take together, those of earlier sessions included. ``preset`` is written to the records.
    """

    sides: tuple[CompareSide, ...]
    pgbench: Pgbench
    metric: Metric
    rule: StoppingRule
    seconds: int
    budget: float
    preset: str = "compare"

    @property
    def key(self) -> str:
        """What identifies the comparison, 12 hex digits: sides in any order, cell and client.

        The metric and the stopping rule are no part of it: the same runs serve all of them.
        """
        cell = self.sides[0].cell.facts(cores=1)
        del cell["profile"]
        facts = {
            "sides": sorted(side.key for side in self.sides),
            "cell": cell,
            "seconds": self.seconds,
            "pgbench": self.pgbench.version,
            "preset": self.preset,
        }
        if (digests := self.sides[0].cell.scenario.digests) != {""}:
            facts["workload"] = sorted(digests)
        return digest_text(canonical_json(facts))[:12]

    @property
    def ranks(self) -> tuple[int, ...]:
        """The number that each side has in the records, whatever order was asked for."""
        keys = sorted(side.key for side in self.sides)
        return tuple(keys.index(side.key) for side in self.sides)

    @property
    def block_estimate(self) -> float:
        """About how many seconds a block takes, before one was measured."""
        return len(self.sides) * (self.seconds + OVERHEAD_SECONDS)

    def require_different(self) -> None:
        """Raise UsageError if two sides are the same server."""
        seen: dict[tuple[str, str], CompareSide] = {}
        for one in self.sides:
            other = seen.setdefault(one.key, one)
            if other is not one:
                raise UsageError(
                    f"{other.label} and {one.label} are the same server",
                    detail="They installed the same files (sha256 "
                    f"{one.build.digest[:16]}…) and run under profile {one.cell.profile}.",
                    hint="Add --aa to compare the server with a copy of itself: "
                    "every difference is then noise.",
                )


@dataclass(kw_only=True)
class CompareState:
    """How far a comparison has come: its blocks, and the seconds they took.

    ``attempted`` is the number of the last block that was begun, ``recorded`` the number of
    blocks that were there before this session. ``elsewhere`` counts runs of the same comparison
    on other machines, or on this one before it changed; they are not used.
    """

    identifier: str
    comparison: Comparison
    spent: float = 0.0
    attempted: int = 0
    recorded: int = 0
    elsewhere: Counter[str] = field(default_factory=Counter)
    warnings: Sequence[RunWarning] = ()

    @property
    def block_seconds(self) -> float | None:
        """The mean seconds of a block so far; None before the first."""
        return self.spent / len(self.comparison.blocks) if self.comparison.blocks else None

    @property
    def seconds_left(self) -> float | None:
        """About how many more seconds are wanted; None if it is unknown."""
        each, left = self.block_seconds, self.comparison.blocks_left
        return None if each is None or left is None else left * each
