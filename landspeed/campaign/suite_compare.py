"""Compare two builds over a suite of workloads, and say of what kind each change is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from base.build import Build
from base.errors import LandspeedError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.settings import exact_settings
from benchmarks.machine.lock import measuring
from benchmarks.records.record import Record
from benchmarks.server.cluster import setting_defaults
from benchmarks.server.configuration import Configuration
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.scenario import Cell
from landspeed.campaign.workloads import (
    cells_of,
    count_key,
    count_side_by_side,
    count_workloads,
    counter_of,
    recorded_counts,
)
from landspeed.console.progress import say
from landspeed.profiling.diff import changed_functions
from landspeed.session.session import Session
from landspeed.session.target import Target

CHECKSUMS = "data_checksums"
# What the version before did, of a setting that it did not have.
_BEFORE_IT_WAS_A_SETTING = {"io_method": "sync"}
# A default explains a change if at least so much of it goes with the default.
_SHARE = 0.5

CellKey = tuple[str, str]
"""Mode (or name of the workload) and cache state."""


class CauseKind(StrEnum):
    """What caused a change."""

    DEFAULT = "default"
    PLAN = "plan"
    CODE = "code"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, kw_only=True)
class SuiteChange:
    """A workload whose instructions per execution changed by more than was asked.

    ``cause`` names the defaults, the plans or the functions; ``old_default`` is what the second
    side costs with the first one's value of each default named.
    """

    workload: str
    state: str
    before: float
    after: float
    kind: CauseKind
    cause: tuple[str, ...]
    old_default: float | None = None

    @property
    def ratio(self) -> float:
        """Instructions after / before."""
        return self.after / self.before


@dataclass(frozen=True, kw_only=True)
class SuiteComparison:
    """Two builds compared over a suite; ``changes`` has the largest first.

    ``same`` is the number of cells that changed by less than ``size``; ``missing`` those that one
    side does not have, ``failed`` those that could not be counted.
    """

    before: str
    after: str
    size: float
    changes: tuple[SuiteChange, ...]
    same: int
    missing: int
    errors: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """Return the comparison as JSON can hold it."""
        changes = [{**asdict(one), "ratio": one.ratio} for one in self.changes]
        return {**asdict(self), "changes": changes}


def compare_suite(
    session: Session, sides: tuple[Target, Target], workloads: Sequence[Workload], size: float
) -> SuiteComparison:
    """Count *workloads* on both *sides*; explain each change of *size* (a share) or more.

    What is recorded is not counted again. MeasureError if nothing can be counted.
    """
    before, after = (_built(session, side) for side in sides)
    tally = count_workloads(session, sides, workloads)
    pgbench = Pgbench(build=session.pgbench_build())
    cells = cells_of(session, workloads)
    pair = _Pair(
        session=session,
        pgbench=pgbench,
        before=before,
        after=after,
        old=_records(session, before, pgbench, cells),
        new=_records(session, after, pgbench, cells),
    )
    both = [cell for cell in cells if _key(cell) in pair.old and _key(cell) in pair.new]
    changed = [cell for cell in both if abs(pair.ratio(cell) - 1) >= size]
    by_default = pair.explained_by_defaults(changed)
    changes = [pair.explained(cell, by_default.get(_key(cell))) for cell in changed]
    return SuiteComparison(
        before=before.label,
        after=after.label,
        size=size,
        changes=tuple(sorted(changes, key=lambda one: -abs(one.ratio - 1))),
        same=len(both) - len(changed),
        missing=len(cells) - len(both) - len(tally.errors),
        errors=tuple(error.message for error in tally.errors),
    )


def _built(session: Session, target: Target) -> Build:
    outcome = session.build_all([target], jobs=None)[target]
    if isinstance(outcome, LandspeedError):
        raise outcome
    return outcome


def _records(
    session: Session, build: Build, pgbench: Pgbench, cells: Sequence[Cell]
) -> dict[CellKey, Record]:
    known = recorded_counts(session, pgbench)
    keys = {_key(cell): count_key(session, build.digest, cell, build.version) for cell in cells}
    return {
        name: session.records.get(known[key].record) for name, key in keys.items() if key in known
    }


def _key(cell: Cell) -> CellKey:
    return cell.scenario.mode.value, cell.buffers.value if cell.buffers else ""


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """Two builds and their counts."""

    session: Session
    pgbench: Pgbench
    before: Build
    after: Build
    old: Mapping[CellKey, Record]
    new: Mapping[CellKey, Record]

    def ratio(self, cell: Cell) -> float:
        """Return instructions after / before."""
        old, new = self._instructions(_key(cell))
        return new / old

    def explained(self, cell: Cell, by_default: tuple[list[str], float] | None) -> SuiteChange:
        """Return the change of *cell* with its kind: what was found first explains it."""
        key = _key(cell)
        before, after = self._instructions(key)
        kind, cause, left = self._cause(key, by_default)
        return SuiteChange(
            workload=key[0],
            state=key[1],
            before=before,
            after=after,
            kind=kind,
            cause=tuple(cause),
            old_default=left,
        )

    def explained_by_defaults(
        self, cells: Sequence[Cell]
    ) -> dict[CellKey, tuple[list[str], float]]:
        """Return the defaults that explain changes of *cells*, and what is left without them.

        The second side is counted with all old defaults at once, and where that takes the change
        away with each of them alone.
        """
        if not cells or self._differences():
            return {}
        values = old_defaults(self.before, self.after)
        old, new = (side[_key(cells[0])].settings for side in (self.old, self.new))
        if old.get(CHECKSUMS, "off") == "off" and new.get(CHECKSUMS) == "on":
            values[CHECKSUMS] = "off"
        if not values:
            return {}
        say(
            f"counting {self.after.label} again with the defaults of {self.before.label}: "
            f"{', '.join(f'{name} = {value}' for name, value in values.items())}"
        )
        together = self._counted_with(cells, values)
        gone = [cell for cell in cells if self._goes(together, cell)]
        if len(values) == 1:
            return {_key(cell): (list(values), together[_key(cell)]) for cell in gone}
        alone = {name: self._counted_with(gone, {name: value}) for name, value in values.items()}
        found = {}
        for cell in gone:
            names = [name for name, counts in alone.items() if self._goes(counts, cell)]
            found[_key(cell)] = (names or list(values), together[_key(cell)])
        return found

    def _instructions(self, key: CellKey) -> tuple[float, float]:
        old, new = self.old[key].sample.instructions, self.new[key].sample.instructions
        return old or 1.0, new or 1.0

    def _differences(self) -> list[str]:
        """Return what the builds were made with that is not the same."""
        old, new = self.before.toolchain, self.after.toolchain
        pairs = [(name, old.get(name), new.get(name)) for name in old.keys() | new.keys()]
        return sorted(f"{name}: {one} → {other}" for name, one, other in pairs if one != other)

    def _cause(
        self, key: CellKey, by_default: tuple[list[str], float] | None
    ) -> tuple[CauseKind, list[str], float | None]:
        if differences := self._differences():
            return CauseKind.ENVIRONMENT, differences, None
        if by_default:
            return CauseKind.DEFAULT, *by_default
        old, new = self.old[key], self.new[key]
        if old.plan and new.plan and old.plan.shape != new.plan.shape:
            lines = zip(old.plan.lines, new.plan.lines, strict=False)
            first = next(((one, other) for one, other in lines if one != other), ("", ""))
            return CauseKind.PLAN, [f"{first[0].strip()} → {first[1].strip()}"], None
        found = changed_functions(self.session.paths, old.id, new.id)
        return CauseKind.CODE, [f"{cost.function} {cost.own:+,.0f}" for cost in found], None

    def _goes(self, counts: Mapping[CellKey, float], cell: Cell) -> bool:
        """Return whether at least half of the change of *cell* is gone in *counts*."""
        before, after = self._instructions(_key(cell))
        left = counts.get(_key(cell), after)
        nearer = abs(left - before) < abs(after - before)
        return nearer and abs(after - left) >= _SHARE * abs(after - before)

    def _counted_with(
        self, cells: Sequence[Cell], values: Mapping[str, str]
    ) -> dict[CellKey, float]:
        """Return the instructions of *cells* with settings of these *values*; none is recorded."""
        counter = counter_of(
            self.session,
            self.after,
            self.pgbench,
            changed={name: value for name, value in values.items() if name != CHECKSUMS},
            initdb_options=("--no-data-checksums",) if CHECKSUMS in values else (),
        )
        counts: dict[CellKey, float] = {}

        def found(cell: Cell, outcome: Record | LandspeedError) -> None:
            if isinstance(outcome, LandspeedError):
                say(str(outcome))
                return
            counts[_key(cell)] = outcome.sample.instructions or 0.0

        with (
            self.session.builder.store.in_use([self.after]),
            measuring(counting=True),
        ):
            count_side_by_side(counter, cells, found)
        return counts


def old_defaults(before: Build, after: Build) -> dict[str, str]:
    """Return *before*'s built-in default of each setting that has another one in *after*.

    Settings that landspeed sets itself are left out, and those whose type changed.
    """
    old, new = setting_defaults(before), setting_defaults(after)
    known = frozenset(new)
    ours = {*Configuration.named("default").settings(known, 0), *exact_settings(known)}
    changed = {
        name: value
        for name, (kind, value) in old.items()
        if name in new and new[name][0] == kind and new[name][1] != value
    }
    for name, value in _BEFORE_IT_WAS_A_SETTING.items():
        if name in new and name not in old:
            changed[name] = value
    return {name: value for name, value in changed.items() if name not in ours}
