"""What caused a change between two servers: found by counting made-up ones again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from base.build import Build, Origin, Variant
from benchmarks.counted.cells import workload_cell
from benchmarks.records.record import PlanFacts, Record
from benchmarks.server.configuration import CHECKSUMS, Configuration
from benchmarks.workloads.catalog import choose
from benchmarks.workloads.scenario import Cell
from landspeed.campaign import suite_causes, suite_compare
from landspeed.campaign.campaign import Tally
from landspeed.campaign.patch import Sides
from landspeed.campaign.suite_brief import suite_brief
from landspeed.campaign.suite_causes import (
    CauseKind,
    batches,
    configuration_of,
    old_defaults,
)
from landspeed.campaign.suite_compare import SuiteComparison, compare_suite
from landspeed.campaign.suite_report import suite_text
from landspeed.console.table import as_text
from landspeed.session.target import Target
from tests.kits.made_up.stand_ins import made_up_build
from tests.kits.made_up.workload_counts import counts


def test_old_defaults_are_those_that_differ_and_that_landspeed_leaves_alone() -> None:
    old = {
        "effective_io_concurrency": ("integer", "1"),
        "work_mem": ("integer kB", "64"),
        "jit": ("bool", "off"),
        "log_connections": ("bool", "off"),
    }
    new = {
        "effective_io_concurrency": ("integer", "16"),
        "work_mem": ("integer kB", "64"),
        "jit": ("bool", "on"),
        "log_connections": ("enum", ""),
        "io_method": ("enum", "worker"),
        CHECKSUMS: ("bool", "on"),
    }
    # jit is off in every count
    assert old_defaults(old, new) == {
        CHECKSUMS: "off",
        "effective_io_concurrency": "1",
        "io_method": "sync",
    }


def test_settings_are_counted_together_as_far_as_a_name_holds_them() -> None:
    values = {f"enable_something_{number}": "off" for number in range(10)}
    some = batches(values)
    assert len(some) > 1
    assert {name: value for one in some for name, value in one.items()} == values
    assert max(len(configuration_of(one)) for one in some) <= 200
    assert batches({}) == []


NAMES = ("select-1-simple", "sort-text", "hash-join", "insert-one")
SIDES = (Target.parse("17", Variant()), Target.parse("18", Variant()))


def build(release: str, commit: str | None = None) -> Build:
    origin = Origin(release=release, commit=commit, tree="a" * 40, date="2025-01-01")
    return made_up_build(f"{release}-bs8", origin)


class MadeUpServers:
    """Counts of two servers; the second one's depend on settings as *level* says.

    *shape* is the shape of its plans; a setting that is called enable_… gives the first one's.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        level: Callable[[str, Mapping[str, str]], float],
        defaults: Mapping[str, str],
        shape: str = "same",
        avoided_by: Mapping[str, str] | None = None,
    ) -> None:
        self.level, self.shape = level, shape
        self.is_layout = False
        self.counted = list[tuple[list[str], str]]()
        self.records = dict[tuple[str, str, str], Record]()
        self.cells = [workload_cell(one) for one in choose(NAMES)]
        self.builds = {target: build(target.ref) for target in SIDES}
        for target in SIDES:
            self.count(None, None, [(self.builds[target], self.cells)])
        self.counted.clear()
        both: dict[str, Any] = {"records_of": self.records_of}
        stand_ins: dict[Any, dict[str, Any]] = {
            suite_compare: both
            | {
                "built": lambda session, targets: {one: self.builds[one] for one in targets},
                "count_workloads": lambda *_: Tally(),
                "cells_of": lambda *_: self.cells,
            },
            suite_causes: both
            | {
                "ServerHome": SimpleNamespace(open=lambda _: None),
                "setting_defaults": lambda *_: {},
                "old_defaults": lambda *_: defaults,
                "count_due": self.count,
                "counter_of": lambda *_: SimpleNamespace(templates=lambda _: None),
                "forcing_settings": lambda *_, **__: avoided_by,
                "changed_functions": lambda *_: (SimpleNamespace(function="ExecScan", own=12.0),),
                "is_layout": lambda *_: self.is_layout,
            },
        }
        for module, names in stand_ins.items():
            for name, stand_in in names.items():
                monkeypatch.setattr(module, name, stand_in)

    @staticmethod
    def key(digest: str, cell: Cell) -> tuple[str, str, str]:
        return digest, cell.scenario.mode.value, cell.profile

    def records_of(
        self, session: Any, pgbench: Any, build: Build, cells: Sequence[Cell]
    ) -> dict[tuple[str, str], Record]:
        return {
            suite_causes.cell_key(cell): self.records[key]
            for cell in cells
            if (key := self.key(build.digest, cell)) in self.records
        }

    def count(self, session: Any, pgbench: Any, due: Any, *_: Any) -> None:
        ((build, cells),) = due
        self.counted.append(
            ([cell.scenario.mode.value for cell in cells], cells[0].profile.removeprefix("default"))
        )
        for cell in cells:
            name = cell.scenario.mode.value
            changed = dict(Configuration.named(cell.profile).with_)
            release = str(build.origin.release)
            is_old = release == "17"
            number = 1000.0 if is_old else self.level(name, changed)
            (made,) = counts(choose([name]), {release: "2025-01-01"}, lambda *_, n=number: n)
            avoided = any(one.startswith("enable_") for one in changed)
            shape = "same" if is_old or avoided else self.shape
            self.records[self.key(build.digest, cell)] = Record.from_json(made).model_copy(
                update={"plan": PlanFacts(shape=shape, lines=(f"plan {shape}",))}
            )

    def compared(self, builder: Any = None) -> SuiteComparison:
        known = {"paths": None, "pgbench_build": lambda: build("18"), "builder": builder}
        session: Any = SimpleNamespace(**known)
        return compare_suite(session, Sides(before=SIDES[0], after=SIDES[1]), choose(NAMES), 0.002)


def test_a_default_is_named_by_counting_again_and_what_it_does_not_explain_is_the_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def level(name: str, changed: Mapping[str, str]) -> float:
        if name == "sort-text":  # checksums cost it 20 %, the code 1 %
            return 1010.0 if CHECKSUMS in changed else 1210.0
        if name == "hash-join":  # method and depth cost it 10 %, each a half
            return 1100.0 - 50.0 * len(changed.keys() & {"io_method", "depth"})
        # the three move it by 0.3 %, and none by 0.2 % alone: that may be chance
        return 1050.0 - len(changed) if name == "insert-one" else 1001.0

    servers = MadeUpServers(
        monkeypatch, level, {"io_method": "sync", "depth": "1", CHECKSUMS: "off"}
    )
    found = servers.compared()
    assert found.same == 1
    told = {one.workload: [(part.kind, part.cause) for part in one.parts] for one in found.changes}
    code = (CauseKind.CODE, ("ExecScan +12",))
    assert told == {
        "sort-text": [(CauseKind.DEFAULT, (CHECKSUMS,)), code],
        "hash-join": [(CauseKind.DEFAULT, ("io_method", "depth"))],
        "insert-one": [code],
    }
    assert [one.workload for one in found.changes] == ["sort-text", "hash-join", "insert-one"]
    assert [part.ratio for part in found.changes[0].parts] == [1210 / 1010, 1.01]
    # all at once for what changed; then each alone, for what that explained
    everything, *alone = servers.counted
    assert set(everything[0]) == {"sort-text", "hash-join", "insert-one"}
    assert everything[1] == "-with-data_checksums=off-with-depth=1-with-io_method=sync"
    assert [set(names) for names, _ in alone[:3]] == [set(everything[0])] * 3
    assert alone[3:] == [(["hash-join"], "-with-depth=1-with-io_method=sync")]


def test_what_only_the_first_server_could_be_counted_in_is_lost_and_no_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers = MadeUpServers(monkeypatch, lambda *_: 1000.0, {})
    first, second = (servers.builds[side].digest for side in SIDES)
    del servers.records[second, "sort-text", "default"]
    del servers.records[first, "hash-join", "default"]
    found = servers.compared()
    assert (found.same, found.lost, found.changes) == (2, ("sort-text",), ())


def test_commits_of_changed_functions_are_asked_of_the_history_once_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def changing(good: str, bad: str, function: str) -> list[Any]:
        asked.append((good, bad, function))
        return [commit, commit]

    commit = SimpleNamespace(name="cccccccccc", date="2025-01-01T00:00:00Z", subject="Scan\x1b[31m")
    asked: list[tuple[str, str, str]] = []
    servers = MadeUpServers(monkeypatch, lambda *_: 1100.0, {})
    servers.builds = {one: build(one.ref, one.ref * 20) for one in SIDES}
    history = SimpleNamespace(changing=changing, merge_base=lambda good, bad: "b" * 40)
    found = servers.compared(SimpleNamespace(sources=SimpleNamespace(history=history)))
    assert {part.commits for one in found.changes for part in one.parts} == {
        ("cccccccccc 2025-01-01 Scan[31m",)
    }
    assert len(found.changes) > 1
    assert asked == [("b" * 40, "18" * 20, "ExecScan")]


def test_what_only_where_data_lie_explains_is_layout_and_no_commit_is_blamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers = MadeUpServers(monkeypatch, lambda _, changed: 1100.0 - len(changed), {"depth": "1"})
    servers.is_layout = True
    found = servers.compared()
    assert servers.counted == []  # a default is not asked: the old one may move data back
    told = {(part.kind, part.commits) for one in found.changes for part in one.parts}
    assert told == {(CauseKind.LAYOUT, ())}
    assert "is where data lie, in ExecScan." in suite_brief(found, "17 18")


def test_what_was_counted_to_explain_a_change_is_not_counted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers = MadeUpServers(monkeypatch, lambda _, changed: 1100.0 - len(changed), {"depth": "1"})
    first = servers.compared()
    assert servers.counted
    servers.counted.clear()
    assert servers.compared() == first
    assert servers.counted == []


def test_what_another_plan_costs_is_told_from_what_other_code_costs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers = MadeUpServers(
        monkeypatch,
        lambda _, changed: 1010.0 if changed else 1500.0,
        {},
        "other",
        {"enable_memoize": "off"},
    )
    (change, *_) = servers.compared().changes
    plan, code = change.parts
    assert (plan.kind, plan.cause) == (CauseKind.PLAN, ("plan same → plan other",))
    assert plan.settings == ("enable_memoize=off",)
    assert (plan.ratio, code.kind, code.ratio) == (1500 / 1010, CauseKind.CODE, 1.01)


def test_a_plan_that_cannot_be_avoided_explains_all_of_a_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    servers = MadeUpServers(monkeypatch, lambda *_: 900.0, {}, "other")
    found = servers.compared()
    (part,) = found.changes[0].parts
    assert (part.kind, part.ratio, part.settings) == (CauseKind.PLAN, 0.9, ())
    assert "no setting gives the old one" in as_text(suite_text(found))
    assert servers.counted == []  # no default differs


def test_builds_of_other_compilers_are_not_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = MadeUpServers(monkeypatch, lambda *_: 900.0, {"io_method": "sync"})
    newer = replace(servers.builds[SIDES[1]], toolchain={"cc": "gcc 15"})
    servers.builds[SIDES[1]] = newer
    found = servers.compared()
    (part,) = found.changes[0].parts
    assert (part.kind, part.cause) == (CauseKind.ENVIRONMENT, ("cc: None → gcc 15",))
    assert servers.counted == []
