"""``landspeed bisect --all`` on made-up servers, whose counts are as the test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from base.errors import LandspeedError, MeasureError
from benchmarks.counted.callgrind import Edge, Profile
from benchmarks.counted.count import Counter
from benchmarks.counted.profiles import keep_profile
from benchmarks.records.record import Record
from benchmarks.workloads.scenario import Cell
from landspeed.atlas import request, run
from landspeed.campaign import suite_causes
from landspeed.cli.bisect import bisect_
from landspeed.sampling import counted
from tests.kits.made_up.bisect_project import COUNT, MadeUp
from tests.kits.made_up.stand_ins import nothing, timed_record

STEPS = {
    30: {"sort-text": 1.03, "hash-join": 1.02},
    45: {"insert-one": 0.95},
    46: {"float": 1.0025},
}
WORKLOADS = ("sort-text", "hash-join", "insert-one", "float", "copy-out-csv", "seq-scan")
CHOSEN = [word for name in WORKLOADS for word in ("--workload", name)]
# each change found is counted a second time, at the commit and its parent
AGAIN = sorted(
    (number, name)
    for at, changes in STEPS.items()
    for name, ratio in changes.items()
    if abs(ratio - 1) > 0.01
    for number in (at - 1, at)
)
Done = Callable[[Cell, Record | LandspeedError], None]


class Counting:
    """Counts of made-up servers: what was counted, and what fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, steps: Mapping[int, Any] = STEPS) -> None:
        self.steps, self.counted, self.again = steps, [(0, "")][:0], [(0, "")][:0]
        self.refused: set[tuple[int, str]] = set()
        self.fails_once: set[tuple[int, str]] = set()
        self.crashing: set[int] = set()
        self.crashes_once: set[int] = set()
        self.crashes_again = False  # the server that counts again what failed
        self.interrupt_after: int | None = None
        self.is_never_again = False
        self.fleeting: dict[str, tuple[int, float]] = {}  # costs more from there, the first time
        monkeypatch.setattr(run, "count_side_by_side", self)
        monkeypatch.setattr(run, "require_countable", lambda: None)
        monkeypatch.setattr(run, "measuring", nothing)
        monkeypatch.setattr(suite_causes, "setting_defaults", lambda *_: {})
        environment = SimpleNamespace(identifier="counted")
        monkeypatch.setattr(request, "count_epoch", lambda: environment)
        monkeypatch.setattr(counted, "count_environment", lambda *_: environment)

    def __call__(self, counter: Counter, cells: Sequence[Cell], done: Done) -> None:
        number = int(counter.build.identifier.removeprefix("commit-"))
        names = {(number, str(cell.scenario.mode.value)) for cell in cells}
        if number in self.crashing or (self.crashes_again and names <= self.fails_once):
            raise MeasureError("the server does not start")
        if number in self.crashes_once:
            self.crashes_once.remove(number)
            raise MeasureError("the server does not start")
        for cell in cells:
            name = str(cell.scenario.mode.value)
            if len(self.counted) == self.interrupt_after:
                raise KeyboardInterrupt
            at, ratio = self.fleeting.get(name, (number + 1, 1.0))
            is_first = (number, name) not in self.counted
            (self.counted if is_first else self.again).append((number, name))
            fails = is_first and (number, name) in self.fails_once
            fails |= self.is_never_again and not is_first
            if fails or (number, name) in self.refused:
                done(cell, MeasureError("the counts differ"))
                continue
            more = ratio if is_first and number >= at else 1.0
            done(cell, self.record(counter, cell, number, more))

    def record(self, counter: Counter, cell: Cell, number: int, more: float) -> Record:
        instructions = 1e6 * more
        for at, changes in self.steps.items():
            instructions *= changes.get(cell.scenario.mode.value, 1.0) if number >= at else 1.0
        record = timed_record(
            build=counter.build,
            cell=cell,
            machine=counter.machine,
            run={"phases": {"count": 2.0}, **counter.context},
            epoch={"identifier": "counted"},
            pgbench={"version": counter.pgbench.version, "build": "b"},
            sample={"instructions": instructions, "instructions_spread": 1e-6},
        )
        own = {"PostgresMain": 9e5, "ExecSort": instructions - 9e5}
        edges = {("PostgresMain", "ExecSort"): Edge(calls=1.0, inclusive=own["ExecSort"])}
        keep_profile(counter.paths, record.id, Profile(own=own, edges=edges))
        return record


def search(made: MadeUp, *words: str) -> Result:
    ends = made.commits[0], made.commits[COUNT]
    return CliRunner().invoke(bisect_, [*ends, "--all", "--grid", "16", *CHOSEN, *words])


def named(report: dict[str, Any]) -> list[tuple[str, int, list[str]]]:
    return [
        (one["commit"]["subject"], one["among"], [w["workload"] for w in one["workloads"]])
        for one in report["changes"]
    ]
