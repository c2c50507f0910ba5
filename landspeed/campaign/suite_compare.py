"""Compare two builds over a suite of workloads, and say of what kind each change is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic import ValidationError

from base.build import Build
from base.errors import MeasureError, UsageError, raise_if
from base.typed import from_json
from benchmarks.clients.pgbench import Pgbench
from benchmarks.records.record import Record
from benchmarks.workloads.catalog import Workload
from builders.source import Source
from landspeed.campaign.patch import Sides
from landspeed.campaign.suite_causes import (
    CauseFinder,
    CauseKind,
    CellKey,
    ChangePart,
    Instructions,
    cell_key,
    instructions,
    records_of,
)
from landspeed.campaign.workloads import cells_of, count_workloads
from landspeed.profiling.edited import EditedFunctions, edited_functions, executed_of
from landspeed.session.session import Session, built


@dataclass(frozen=True, kw_only=True)
class SuiteChange:
    """A workload whose instructions per execution changed by more than was asked.

    ``parts`` has the largest first.
    """

    workload: str
    state: str
    before: Instructions
    after: Instructions
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
    side does not have, ``errors`` says why some could not be counted, and ``lost`` names those of
    them that could on the first side. ``patch`` says what the second side adds to the first; then
    the ``edited`` functions are known.
    """

    before: str
    after: str
    size: float
    changes: tuple[SuiteChange, ...]
    same: int
    missing: int
    errors: tuple[str, ...]
    lost: tuple[str, ...] = ()
    patch: str = ""
    edited: EditedFunctions = field(default_factory=EditedFunctions)

    @property
    def slower(self) -> float:
        """The largest increase, as a share; 0 if nothing became slower."""
        return max((0.0, *(one.ratio - 1 for one in self.changes)))

    @classmethod
    def parse(cls, facts: Any) -> SuiteComparison:
        """Return the comparison of *facts* that were JSON; UsageError if they are none."""
        try:
            return from_json(cls, facts)
        except ValidationError as error:
            raise UsageError("this is no comparison over a suite", detail=str(error)) from error

    def facts(self) -> dict[str, Any]:
        """Return the comparison as JSON can hold it."""
        changes = [{**asdict(one), "kind": one.kind, "ratio": one.ratio} for one in self.changes]
        return {**asdict(self), "changes": changes}


def compare_suite(
    session: Session, sides: Sides, workloads: Sequence[Workload], size: float
) -> SuiteComparison:
    """Count *workloads* on both *sides*; explain each change of *size* (a share) or more.

    What is recorded is not counted again. LandspeedError if nothing can be counted on both.
    """
    targets = (sides.before, sides.after)
    before, after = (built(session, [side])[side] for side in targets)
    tally = count_workloads(session, targets, workloads)
    pgbench = Pgbench(build=session.pgbench_build())
    cells = cells_of(session, workloads)
    old, new = (records_of(session, pgbench, build, cells) for build in (before, after))
    both = [cell for cell in cells if cell_key(cell) in old and cell_key(cell) in new]
    if not both:
        raise_if(tally.errors[0] if tally.errors else None)
        raise MeasureError("no workload runs on both servers")
    ratios = {key: instructions(new[key]) / instructions(old[key]) for key in map(cell_key, both)}
    changed = [cell for cell in both if abs(ratios[cell_key(cell)] - 1) >= size]
    finder = CauseFinder(
        session=session, pgbench=pgbench, before=before, after=after, old=old, new=new, size=size
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
        missing=sum(
            not all(one.runs_on(build.version) for build in (before, after)) for one in workloads
        ),
        errors=tuple(error.message for error in tally.errors),
        lost=tuple(
            dict.fromkeys(
                key[0]
                for cell in cells
                if (key := cell_key(cell)) in old.keys() - new.keys()
                and cell.scenario.runs_on(after.version)
            )
        ),
        patch=sides.patch,
        edited=_edited(session, before, after, new) if sides.patch else EditedFunctions(),
    )


def _edited(
    session: Session, before: Build, after: Build, counts: Mapping[CellKey, Record]
) -> EditedFunctions:
    source = Source(version=after.version, origin=after.origin)
    names = edited_functions(session.builder.sources, before.origin.tree, source)
    return executed_of(session.paths, after, names, [record.id for record in counts.values()])
