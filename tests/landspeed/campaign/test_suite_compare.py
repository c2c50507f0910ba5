"""Two servers compared over a suite: kinds of changes, and how they are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from base.build import Build, Origin, Variant
from base.errors import UsageError
from benchmarks.counted.count import workload_cell
from benchmarks.records.record import PlanFacts, Record
from benchmarks.workloads.catalog import choose
from benchmarks.workloads.scenario import Cell
from landspeed.campaign import suite_compare
from landspeed.campaign.campaign import Tally
from landspeed.campaign.suite_compare import (
    CHECKSUMS,
    CauseKind,
    SuiteChange,
    SuiteComparison,
    compare_suite,
    old_defaults,
)
from landspeed.campaign.suite_report import suite_mail, suite_markdown, suite_text
from landspeed.cli.compare import compare_
from landspeed.console.table import as_text
from landspeed.session.target import Target
from tests.kits.made_up.stand_ins import made_up_build
from tests.kits.made_up.workload_counts import counts

DEFAULT = SuiteChange(
    workload="read-only",
    state="cold",
    before=40_000.0,
    after=57_000.0,
    kind=CauseKind.DEFAULT,
    cause=("data_checksums",),
    old_default=44_000.0,
)
CODE = SuiteChange(
    workload="sort-text",
    state="warm",
    before=1000.0,
    after=965.0,
    kind=CauseKind.CODE,
    cause=("ExecScan -610", "qsort_tuple +4"),
)


def comparison(*changes: SuiteChange) -> SuiteComparison:
    return SuiteComparison(
        before="17.11 bs8",
        after="18.6 bs8",
        size=0.002,
        changes=changes,
        same=57,
        missing=1,
        errors=("could not count brin",),
    )


def test_a_report_names_each_change_with_its_kind_and_its_cause() -> None:
    text = as_text(suite_text(comparison(DEFAULT, CODE)))
    assert text.startswith("57 of 59 workloads the same in 18.6 bs8 as in 17.11 bs8")
    assert "+42.50 %  read-only, cold" in text
    assert "data_checksums (+10.00 % with the old default)" in text
    assert "1 workload that one of the two does not have." in text
    assert "Not counted: could not count brin." in text
    assert "| -3.50 % | sort-text | 1,000.0 | 965 | code | ExecScan -610, qsort_tuple +4 |" in (
        suite_markdown(comparison(CODE))
    )


def test_a_mail_fits_72_columns_and_says_how_to_repeat_it() -> None:
    mail = suite_mail(comparison(DEFAULT, CODE), "landspeed compare 17 18 --suite standard")
    assert max(map(len, mail.splitlines())) <= 72
    assert mail.endswith("To repeat it:\n  landspeed compare 17 18 --suite standard\n")


def test_no_change_is_told_without_a_table() -> None:
    assert "change" not in as_text(suite_text(comparison())).splitlines()[1:2]


def test_old_defaults_are_those_that_differ_and_that_landspeed_leaves_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sides = {
        "old": {
            "effective_io_concurrency": ("INTEGER", "1"),
            "work_mem": ("INTEGER", "64"),
            "jit": ("BOOL", "off"),
            "log_connections": ("BOOL", "off"),
        },
        "new": {
            "effective_io_concurrency": ("INTEGER", "16"),
            "work_mem": ("INTEGER", "64"),
            "jit": ("BOOL", "on"),
            "log_connections": ("ENUM", ""),
            "io_method": ("ENUM", "worker"),
        },
    }
    monkeypatch.setattr(suite_compare, "setting_defaults", lambda build: sides[build])
    found = old_defaults("old", "new")  # type: ignore[arg-type]
    # jit is off in every count
    assert found == {"effective_io_concurrency": "1", "io_method": "sync"}


# --- kinds ---------------------------------------------------------------------------------

NAMES = ("select-1-simple", "sort-text", "hash-join", "insert-one")
SIDES = (Target.parse("17", Variant()), Target.parse("18", Variant()))


def build(release: str) -> Build:
    origin = Origin(release=release, commit=None, tree="a" * 40, date="2025-01-01")
    return made_up_build(f"{release}-bs8", origin)


class MadeUpServers:
    """Counts of two servers; the second one's depend on settings as *level* says."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        level: Callable[[str, Mapping[str, str]], float],
        defaults: Mapping[str, str],
        shapes: tuple[str, str] = ("same", "same"),
    ) -> None:
        self.level, self.counted = level, list[tuple[list[str], dict[str, str]]]()
        self.cells = [workload_cell(one) for one in choose(NAMES)]
        self.builds = {target: build(target.ref) for target in SIDES}
        shape = dict(zip(("17", "18"), shapes, strict=True))

        def records(session: Any, build: Build, *_: Any) -> dict[tuple[str, str], Record]:
            release = str(build.origin.release)
            number = (lambda name, _: 1000.0) if release == "17" else self.now
            found = {}
            for made in counts(choose(NAMES), {release: "2025-01-01"}, number):
                record = Record.from_json(made)
                plan = PlanFacts(shape=shape[release], lines=(f"plan of {shape[release]}",))
                checksums = "on" if release == "18" and CHECKSUMS in defaults else "off"
                found[record.cell.mode, "warm"] = replace(
                    record, plan=plan, settings={CHECKSUMS: checksums}
                )
            return found

        for name, stand_in in {
            "_built": lambda session, target: self.builds[target],
            "count_workloads": lambda *_: Tally(),
            "cells_of": lambda *_: self.cells,
            "_records": records,
            "old_defaults": lambda *_: {k: v for k, v in defaults.items() if k != CHECKSUMS},
            "counter_of": lambda *_, **options: options,
            "count_side_by_side": self.count,
            "changed_functions": lambda *_: (SimpleNamespace(function="ExecScan", own=12.0),),
        }.items():
            monkeypatch.setattr(suite_compare, name, stand_in)

    def now(self, name: str, release: str) -> float:
        return self.level(name, {})

    def count(
        self, options: Mapping[str, Any], cells: Sequence[Cell], found: Callable[..., None]
    ) -> None:
        changed = dict(options["changed"])
        if options["initdb_options"]:
            changed[CHECKSUMS] = "off"
        self.counted.append(([cell.scenario.mode.value for cell in cells], changed))
        for cell in cells:
            instructions = self.level(cell.scenario.mode.value, changed)
            sample = SimpleNamespace(instructions=instructions)
            found(cell, SimpleNamespace(sample=sample))

    def compared(self) -> SuiteComparison:
        session: Any = SimpleNamespace(
            paths=None,
            pgbench_build=lambda: build("18"),
            builder=SimpleNamespace(store=SimpleNamespace(in_use=lambda _: nullcontext())),
        )
        return compare_suite(session, SIDES, choose(NAMES), 0.002)


def test_a_default_is_named_by_counting_again_and_what_it_does_not_explain_is_the_codes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def level(name: str, changed: Mapping[str, str]) -> float:
        if name == "sort-text":  # checksums cost it 20 %, the code 1 %
            return 1010.0 if CHECKSUMS in changed else 1210.0
        if name == "hash-join":  # method and depth cost it 10 %, each a half
            return 1100.0 - 50.0 * len(changed.keys() & {"io_method", "depth"})
        return {"insert-one": 1050.0}.get(name, 1001.0)

    servers = MadeUpServers(
        monkeypatch, level, {"io_method": "sync", "depth": "1", CHECKSUMS: "off"}
    )
    found = servers.compared()
    assert found.same == 1
    told = {one.workload: (one.kind, one.cause) for one in found.changes}
    assert told == {
        "sort-text": (CauseKind.DEFAULT, (CHECKSUMS,)),
        "hash-join": (CauseKind.DEFAULT, ("io_method", "depth")),
        "insert-one": (CauseKind.CODE, ("ExecScan +12",)),
    }
    assert [one.workload for one in found.changes] == ["sort-text", "hash-join", "insert-one"]
    assert found.changes[0].old_default == 1010.0
    # all at once for what changed; then each alone, for what that explained
    everything, *alone = servers.counted
    assert set(everything[0]) == {"sort-text", "hash-join", "insert-one"}
    assert set(everything[1]) == {"io_method", "depth", CHECKSUMS}
    assert [(set(names), len(changed)) for names, changed in alone] == [
        ({"sort-text", "hash-join"}, 1)
    ] * 3


def test_another_plan_is_told_from_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = MadeUpServers(monkeypatch, lambda *_: 900.0, {}, ("one", "two"))
    (change, *_) = servers.compared().changes
    assert (change.kind, change.cause) == (CauseKind.PLAN, ("plan of one → plan of two",))
    assert servers.counted == []  # no default differs


def test_builds_of_other_compilers_are_not_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = MadeUpServers(monkeypatch, lambda *_: 900.0, {"io_method": "sync"})
    newer = replace(servers.builds[SIDES[1]], toolchain={"cc": "gcc 15"})
    servers.builds[SIDES[1]] = newer
    (change, *_) = servers.compared().changes
    assert (change.kind, change.cause) == (CauseKind.ENVIRONMENT, ("cc: None → gcc 15",))
    assert servers.counted == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["17", "18", "--mail"], "--size and --mail need --suite or --workload"),
        (["17", "18", "--suite", "small", "--metric", "tps"], "--suite does not go with --metric"),
        (["17", "18", "13", "--suite", "small"], "a suite compares two servers"),
    ],
)
def test_options_that_say_nothing_together_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compare_.main(words, standalone_mode=False)
