"""Find what caused changes between two builds: new defaults, other plans, other code.

Each is found by counting the second build again: with the first one's defaults, then also with its
plans. What is left is the code's, or that of where the code makes data lie.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property
from math import log
from typing import Annotated

from pydantic import Field

from base.build import Build
from base.errors import SourceError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.cells import work_of
from benchmarks.counted.forced_plans import forcing_settings
from benchmarks.counted.settings import exact_settings
from benchmarks.records.record import PlanFacts, Record
from benchmarks.server.cluster import setting_defaults
from benchmarks.server.configuration import CHECKSUMS, Configuration, is_profile
from benchmarks.server.home import ServerHome
from benchmarks.workloads.points import RECOUNT
from benchmarks.workloads.scenario import Cell
from landspeed.campaign.campaign import Tally
from landspeed.campaign.workloads import count_due, counter_of
from landspeed.console.markdown import plain
from landspeed.console.progress import say
from landspeed.profiling.diff import changed_functions, is_layout
from landspeed.sampling.counted import count_key, recorded_counts
from landspeed.session.session import Session

# What the version before did, of a setting that it did not have.
_BEFORE_IT_WAS_A_SETTING = {"io_method": "sync"}
# A configuration's name is part of file names.
_LONGEST_NAME = 200

CellKey = tuple[str, str]
"""Mode (or name of the workload) and cache state."""

Values = Mapping[str, str]
"""Settings and their values."""

Instructions = Annotated[float, Field(gt=0, allow_inf_nan=False)]
"""Instructions of one execution; ratios are made of them."""


class CauseKind(StrEnum):
    """What caused a change."""

    DEFAULT = "default"
    PLAN = "plan"
    CODE = "code"
    LAYOUT = "layout"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, kw_only=True)
class ChangePart:
    """A part of a change that has one kind.

    ``before`` and ``after`` are the second build's instructions without and with ``cause``: the
    defaults, the plan's first other node, or the functions. ``settings`` take the part away.
    ``commits`` are those between the builds that changed the functions: hash, date and subject.
    """

    kind: CauseKind
    cause: tuple[str, ...]
    before: Instructions
    after: Instructions
    settings: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        """Instructions after / before."""
        return self.after / self.before


@dataclass(frozen=True, kw_only=True)
class CauseFinder:
    """Two builds, and the records of the cells in which both were counted.

    A part of a change of at least ``size``, a share, is told apart.
    """

    session: Session
    pgbench: Pgbench
    before: Build
    after: Build
    old: Mapping[CellKey, Record]
    new: Mapping[CellKey, Record]
    size: float

    def parts(self, cells: Sequence[Cell]) -> dict[CellKey, tuple[ChangePart, ...]]:
        """Return the parts of the change of each of *cells*, the largest first."""
        if not cells:
            return {}
        if differences := self._differences():
            cause = tuple(differences)
            return {
                key: (_part(CauseKind.ENVIRONMENT, cause, self.old[key], self.new[key]),)
                for key in map(cell_key, cells)
            }
        defaults, features = self.other_settings()
        # the old default may move data back to where they lay
        asked = [
            one
            for one in cells
            if not self._is_layout(self.old[cell_key(one)], self.new[cell_key(one)])
        ]
        by_default = self._by_defaults(asked, defaults)
        return {cell_key(cell): self._parts(cell, by_default, features) for cell in cells}

    def _is_layout(self, old: Record, new: Record) -> bool:
        return is_layout(self.session.paths, old.id, new.id)

    def other_settings(self) -> tuple[Values, Sequence[str]]:
        """Return the first build's defaults that differ, and the planner's new settings."""
        home = ServerHome.open(self.session.paths)
        old, new = (setting_defaults(build, home) for build in (self.before, self.after))
        features = sorted(name for name in new.keys() - old if name.startswith("enable_"))
        return old_defaults(old, new), features

    def _parts(
        self, cell: Cell, by_default: Mapping[CellKey, Values], features: Sequence[str]
    ) -> tuple[ChangePart, ...]:
        key = cell_key(cell)
        old, left = self.old[key], self.new[key]
        found, values = [], by_default.get(key, {})
        if values and (without := self._again([cell], values).get(key)):
            found.append(_part(CauseKind.DEFAULT, tuple(values), without, left, values))
            left = without
        if old.plan and left.plan and old.plan.shape != left.plan.shape:
            cause = (_other_node(old.plan, left.plan),)
            forced = self._forced(cell, old.plan, left.plan, features)
            planned = self._again([cell], {**values, **forced}).get(key) if forced else None
            if planned is None or (planned.plan and planned.plan.shape != old.plan.shape):
                found.append(_part(CauseKind.PLAN, cause, old, left))
                left = old
            else:
                found.append(_part(CauseKind.PLAN, cause, planned, left, forced))
                left = planned
        costs = changed_functions(self.session.paths, old.id, left.id)
        functions = tuple(f"{cost.function} {cost.own:+,.0f}" for cost in costs)
        is_moved = self._is_layout(old, left)
        last = _part(CauseKind.LAYOUT if is_moved else CauseKind.CODE, functions, old, left)
        if not found or abs(last.ratio - 1) >= self.size:
            commits = (one for cost in costs for one in self._commits_of(cost.function))
            found.append(last if is_moved else replace(last, commits=tuple(dict.fromkeys(commits))))
        return tuple(sorted(found, key=lambda one: -abs(log(one.ratio))))

    @cached_property
    def _commits_of(self) -> Callable[[str], list[str]]:
        """What returns the commits between the builds that changed a function, as text."""
        good, bad = self.before.origin.commit, self.after.origin.commit
        if good is None or bad is None:
            return lambda _: []
        history = self.session.builder.sources.history

        @cache
        def asked(function: str) -> list[str]:
            try:
                found = history.changing(history.merge_base(good, bad) or good, bad, function)
            except SourceError:  # the upstream is another one by now
                return []
            return [plain(f"{one.name} {one.date[:10]} {one.subject}", longest=90) for one in found]

        return asked

    def _by_defaults(self, cells: Sequence[Cell], values: Values) -> dict[CellKey, Values]:
        """Return the defaults that move what each of *cells* costs, with the first build's values.

        The second build is counted with all of them at once, and where that moves the count with
        each of them alone. Where none does so alone, all are told as the cause if they move it by
        twice the size; less may be chance.
        """
        found: dict[CellKey, dict[str, str]] = {cell_key(cell): {} for cell in cells}
        for some in batches(values):
            moved = self._moved(cells, some)
            alone = {name: self._moved(list(moved), {name: some[name]}) for name in some}
            for cell, share in moved.items():
                names = [name for name, gone in alone.items() if cell in gone]
                if names or share >= 2 * self.size:
                    found[cell_key(cell)] |= {name: some[name] for name in names or some}
        return {key: some for key, some in found.items() if some}

    def _moved(self, cells: Sequence[Cell], values: Values) -> dict[Cell, float]:
        """Return those of *cells* that *values* move on the second build, with the share."""
        counted = self._again(cells, values)
        shares = {
            cell: abs(instructions(counted[key]) / instructions(self.new[key]) - 1)
            for cell in cells
            if (key := cell_key(cell)) in counted
        }
        return {cell: share for cell, share in shares.items() if share >= self.size}

    def _forced(
        self, cell: Cell, wanted: PlanFacts, known: PlanFacts, features: Sequence[str]
    ) -> Values:
        """Return settings with which the second build has the plan *wanted*; empty if none do."""
        store = counter_of(self.session, self.after, self.pgbench).templates(cell)
        found = forcing_settings(
            self.after, store, cell, work_of(cell), wanted=wanted, known=known, features=features
        )
        return found or {}

    def _again(self, cells: Sequence[Cell], values: Values) -> dict[CellKey, Record]:
        """Return the records of *cells* on the second build with settings of these *values*.

        What is not recorded yet is counted now. A cell that cannot be counted is left out.
        """
        again = [replace(cell, profile=configuration_of(values)) for cell in cells]
        known = records_of(self.session, self.pgbench, self.after, again)
        due = [cell for cell in again if cell_key(cell) not in known]
        if not due:
            return known
        say(f"what explains the changes: {self.after.label} with {', '.join(spelled(values))}")
        count_due(self.session, self.pgbench, [(self.after, due)], Tally(), RECOUNT)
        return records_of(self.session, self.pgbench, self.after, again)

    def _differences(self) -> list[str]:
        """Return what the builds were made with that is not the same."""
        old, new = self.before.toolchain, self.after.toolchain
        pairs = [(name, old.get(name), new.get(name)) for name in old.keys() | new.keys()]
        return sorted(f"{name}: {one} → {other}" for name, one, other in pairs if one != other)


def cell_key(cell: Cell) -> CellKey:
    """Return what the cells of a suite are told apart by."""
    return cell.scenario.mode.value, cell.buffers.value if cell.buffers else ""


def instructions(record: Record) -> float:
    """Return the instructions of one execution."""
    return record.sample.instructions or 1.0


def records_of(
    session: Session, pgbench: Pgbench, build: Build, cells: Sequence[Cell]
) -> dict[CellKey, Record]:
    """Return the recorded counts of *cells* on *build*."""
    known = recorded_counts(session, pgbench.version)
    keys = {cell_key(cell): count_key(session, build, cell) for cell in cells}
    return {
        name: session.records.get(known[key].record) for name, key in keys.items() if key in known
    }


def _part(
    kind: CauseKind,
    cause: tuple[str, ...],
    before: Record,
    after: Record,
    settings: Values | None = None,
) -> ChangePart:
    return ChangePart(
        kind=kind,
        cause=cause,
        before=instructions(before),
        after=instructions(after),
        settings=tuple(spelled(settings or {})),
    )


def _other_node(old: PlanFacts, new: PlanFacts) -> str:
    pairs = zip(old.lines, new.lines, strict=False)
    first = next(((one, other) for one, other in pairs if one != other), ("", ""))
    return " → ".join(line.strip().removeprefix("->  ") for line in first)


def spelled(values: Values) -> list[str]:
    """Return settings as ``name=value``."""
    return [f"{name}={value}" for name, value in values.items()]


def configuration_of(values: Values) -> str:
    """Return the name of the configuration that differs from the default one in *values*."""
    changes = "".join(f"-with-{setting}" for setting in spelled(values))
    return Configuration.named(f"default{changes}").name


def batches(values: Values) -> list[dict[str, str]]:
    """Return *values* in as few parts as names of configurations can hold."""
    found: list[dict[str, str]] = []
    for name, value in values.items():
        some = found[-1] | {name: value} if found else {}
        if some and len(configuration_of(some)) <= _LONGEST_NAME:
            found[-1] = some
        else:
            found.append({name: value})
    return found


def old_defaults(
    old: Mapping[str, tuple[str, str]], new: Mapping[str, tuple[str, str]]
) -> dict[str, str]:
    """Return the *old* default of each setting that has another one in *new*.

    Both are what setting_defaults says. Settings that landspeed sets itself are left out, those
    whose type changed, and those whose value no configuration's name can hold.
    """
    known = dict.fromkeys(new, "")
    ours = {*Configuration.named("default").settings(known, 0), *exact_settings(known)}
    changed = {
        name: value
        for name, (kind, value) in old.items()
        if name in new and new[name][0] == kind and new[name][1] != value
    }
    for name, value in _BEFORE_IT_WAS_A_SETTING.items():
        if name in new and name not in old:
            changed[name] = value
    if CHECKSUMS not in old and new.get(CHECKSUMS, ("", "off"))[1] == "on":
        changed[CHECKSUMS] = "off"
    return {
        name: value
        for name, value in sorted(changed.items())
        if name not in ours and is_profile(f"default-with-{name}={value}")
    }
