"""Changes whose kind is known, told by ``landspeed compare --suite``'s search, and scored.

``python -m perf.workloads.labelled_cases [TEXT…]`` prints a JSON line for each case of
labelled_cases.toml (whose line contains one of the texts), then how many were right. What is
recorded in the project is not counted again. A kind is right if the largest part of the change has
it and names the ``cause``.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from base.build import Build, Variant
from base.errors import LandspeedError
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.records.record import Record
from benchmarks.workloads.catalog import CATALOG, named
from benchmarks.workloads.points import RECOUNT
from benchmarks.workloads.scenario import CacheState, Cell
from landspeed.campaign.campaign import Tally
from landspeed.campaign.suite_causes import (
    CauseFinder,
    ChangePart,
    Values,
    cell_key,
    configuration_of,
    records_of,
)
from landspeed.campaign.workloads import count_due, counted_cell
from landspeed.sampling.counted import count_key, recorded_counts
from landspeed.session.session import Session, built
from landspeed.session.target import Target

CASES = Path(__file__).parents[2] / "tests" / "landspeed" / "campaign" / "labelled_cases.toml"


@dataclass(frozen=True, kw_only=True)
class LabelledCase:
    """A change between two releases, and the kind of its largest part; see labelled_cases.toml."""

    workload: str
    before: str
    after: str
    kind: str
    state: str = "warm"
    cause: str = ""
    because: str = ""
    plant: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    sql: str = ""

    def is_right(self, parts: Sequence[ChangePart]) -> bool:
        """Return whether the largest of *parts* has the kind, and names the cause."""
        largest = parts[0]
        return largest.kind == self.kind and self.cause in " ".join(
            (*largest.cause, *largest.settings)
        )


@dataclass(frozen=True, kw_only=True)
class _PlantedFinder(CauseFinder):
    """Looks for causes where a default was planted."""

    planted: Values

    def other_settings(self) -> tuple[Values, Sequence[str]]:
        found, features = super().other_settings()
        return {**found, **self.planted}, features


def labelled_cases() -> list[LabelledCase]:
    """Return all cases."""
    return [LabelledCase(**row) for row in tomllib.loads(CASES.read_text())["case"]]


def told(session: Session, case: LabelledCase) -> tuple[ChangePart, ...]:
    """Return the parts of the change of *case*; MeasureError if it cannot be counted."""
    pgbench = Pgbench(build=session.pgbench_build())
    targets = [Target.parse(ref, Variant()) for ref in (case.before, case.after)]
    before, after = built(session, targets).values()
    workload = named(case.workload)
    old_cell = replace(counted_cell(session, workload), buffers=CacheState(case.state))
    new_cell = old_cell
    if case.settings:
        old_cell = replace(old_cell, profile=configuration_of(case.settings))
    if case.sql:
        mode = replace(workload, script=f"{case.sql}\n")
        new_cell = replace(new_cell, scenario=replace(new_cell.scenario, mode=mode))
    if case.plant == "environment":
        after = replace(after, toolchain={**after.toolchain, "cc": "another"})
    finder = _PlantedFinder(
        session=session,
        pgbench=pgbench,
        before=before,
        after=after,
        old=_counted(session, pgbench, before, old_cell),
        new=_counted(session, pgbench, after, new_cell),
        size=0.002,
        planted=case.settings if case.plant == "default" else {},
    )
    return finder.parts([new_cell])[cell_key(new_cell)]


def _counted(
    session: Session, pgbench: Pgbench, build: Build, cell: Cell
) -> dict[tuple[str, str], Record]:
    tally = Tally()
    if count_key(session, build, cell) not in recorded_counts(session, pgbench.version):
        is_own = cell.profile != "default"
        count_due(session, pgbench, [(build, [cell])], tally, RECOUNT if is_own else CATALOG)
    if tally.errors:
        raise tally.errors[0]
    return records_of(session, pgbench, build, [cell])


def main(chosen: Sequence[str]) -> int:
    """Tell the cases that are chosen; 1 if one was told wrongly."""
    # what is planted is no result of the project's
    os.environ["LANDSPEED_RESULTS"] = str(Paths.find().results / "labelled-cases")
    session, right, total = Session(), 0, 0
    for case in labelled_cases():
        facts: dict[str, Any] = {name: value for name, value in asdict(case).items() if value}
        if chosen and not any(one in json.dumps(facts) for one in chosen):
            continue
        total += 1
        try:
            parts = told(session, case)
        except LandspeedError as error:
            print(json.dumps({**facts, "error": error.message}), flush=True)
            continue
        right += case.is_right(parts)
        found = [[part.kind, round(part.ratio, 4), *part.cause, *part.settings] for part in parts]
        print(json.dumps({**facts, "right": case.is_right(parts), "found": found}), flush=True)
    print(json.dumps({"right": right, "cases": total}))
    return int(right < total)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
