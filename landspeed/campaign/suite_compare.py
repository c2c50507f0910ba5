"""Compare two builds over a suite of workloads, and say of what kind each change is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from base.build import Build
from base.errors import LandspeedError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.workloads.catalog import Workload
from landspeed.campaign.suite_causes import (
    CauseFinder,
    CauseKind,
    ChangePart,
    cell_key,
    instructions,
    records_of,
)
from landspeed.campaign.workloads import cells_of, count_workloads
from landspeed.session.session import Session
from landspeed.session.target import Target


@dataclass(frozen=True, kw_only=True)
class SuiteChange:
    """A workload whose instructions per execution changed by more than was asked.

    ``parts`` has the largest first.
    """

    workload: str
    state: str
    before: float
    after: float
    parts: tuple[ChangePart, ...]

    @property
    def kind(self) -> CauseKind:
        """The kind of its largest part."""
        return self.parts[0].kind

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
        changes = [{**asdict(one), "kind": one.kind, "ratio": one.ratio} for one in self.changes]
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
    old, new = (records_of(session, pgbench, build, cells) for build in (before, after))
    both = [cell for cell in cells if cell_key(cell) in old and cell_key(cell) in new]
    ratios = {key: instructions(new[key]) / instructions(old[key]) for key in map(cell_key, both)}
    changed = [cell for cell in both if abs(ratios[cell_key(cell)] - 1) >= size]
    finder = CauseFinder(
        session=session,
        pgbench=pgbench,
        before=before,
        after=after,
        old=old,
        new=new,
        size=size,
    )
    changes = [
        SuiteChange(
            workload=key[0],
            state=key[1],
            before=instructions(old[key]),
            after=instructions(new[key]),
            parts=parts,
        )
        for key, parts in finder.parts(changed).items()
    ]
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
