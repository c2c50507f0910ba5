"""Where a difference in cost is: tables, trees and pictures of made-up profiles."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from base.build import Variant
from base.errors import NotApplicableError, UsageError
from base.paths import Paths
from base.version import Version
from benchmarks.counted.callgrind import Edge, Profile
from benchmarks.counted.cells import workload_cell
from benchmarks.counted.profiles import keep_profile
from benchmarks.machine.machine import Machine
from benchmarks.workloads.catalog import named
from benchmarks.workloads.scenario import CacheState, Mode, Protocol
from landspeed.cli import explain
from landspeed.cli.explain import Counted, _counted, counted_cell
from landspeed.console.table import as_text
from landspeed.profiling.diff import (
    ExplainResult,
    costs,
    explained_text,
    incomparable,
    is_layout,
    miss_changes,
    whole_functions,
)
from landspeed.profiling.flamegraph import Frame, draw, frames
from landspeed.session.target import Target


def profile(own: dict[str, float], **edges: float) -> Profile:
    pairs = {tuple(name.split("__")): cost for name, cost in edges.items()}
    return Profile(
        own=own,
        edges={
            (caller, callee): Edge(calls=1, inclusive=cost)
            for (caller, callee), cost in pairs.items()
        },
    )


BEFORE = profile(
    {"PostgresMain": 100, "ReadBuffer": 300, "hash": 200, "parse": 400},
    Loop__PostgresMain=1000,
    PostgresMain__ReadBuffer=400,
    PostgresMain__parse=500,
    ReadBuffer__hash=100,
    parse__hash=100,
)
AFTER = profile(
    {"PostgresMain": 100, "ReadBuffer": 300, "hash": 200, "parse": 400, "checksum": 500},
    Loop__PostgresMain=1500,
    PostgresMain__ReadBuffer=900,
    PostgresMain__parse=500,
    ReadBuffer__hash=100,
    ReadBuffer__checksum=500,
    parse__hash=100,
)


def explained(**changes: Any) -> ExplainResult:
    facts: dict[str, Any] = {
        "before": "13.16 bs8",
        "after": "18.6 bs8",
        "cell": "read-only/prepared/small/default/cold",
        "total_before": 1000.0,
        "total_after": 1500.0,
        "costs": costs(BEFORE, AFTER),
        "files": None,
    }
    return ExplainResult(**(facts | changes))


def test_the_function_that_differs_most_itself_comes_first_with_its_callers_inclusive():
    first, *others = costs(BEFORE, AFTER)
    assert (first.function, first.own, first.inclusive) == ("checksum", 500, 500)
    by_name = {cost.function: cost for cost in others}
    assert by_name["ReadBuffer"].own == 0
    assert by_name["ReadBuffer"].inclusive == 500


def test_own_differences_add_up_to_the_whole_difference():
    assert sum(cost.own for cost in costs(BEFORE, AFTER)) == 500


def test_parts_that_a_compiler_split_off_belong_to_their_function():
    split = profile(
        {"f": 10, "f.isra.0": 20, "f.part.3.constprop.0": 5, "g.cold": 1},
        f__x=1,
    )
    edges = {**split.edges, ("f", "f.isra.0"): Edge(calls=1, inclusive=20)}
    whole = whole_functions(Profile(own=split.own, edges=edges))
    assert whole.own == {"f": 35, "g": 1}
    assert set(whole.edges) == {("f", "x")}


def test_the_table_names_functions_shares_and_files():
    text = as_text(explained_text(explained(files=("src/backend/a.c", "doc/b.sgml")), 1))
    lines = text.splitlines()
    assert lines[0] == (
        "read-only/prepared/small/default/cold: 13.16 bs8 1000.0, 18.6 bs8 1500.0 "
        "instructions per transaction (+50.00%)"
    )
    assert lines[3].split() == ["checksum", "+500.0", "0.0", "500.0", "+500.0", "+50.00%"]
    assert lines[-3:] == ["2 files of the source differ", "  src/backend/a.c", "  doc/b.sgml"]
    facts = explained().facts(1)
    assert [cost["function"] for cost in facts["costs"]] == ["checksum"]


def test_records_that_cannot_be_compared_say_why():
    def counted(identifier: str, valgrind: str, cc: str) -> Any:
        epoch = {"identifier": identifier, "valgrind": valgrind}
        same = dict.fromkeys(("libc_sha256", "shown_cpu", "method"))
        build = SimpleNamespace(toolchain={"cc": cc, "ld": "2.40"})
        return SimpleNamespace(epoch=SimpleNamespace(**epoch, **same), build=build)

    record, other = counted("a", "3.19.0", "gcc 12"), counted("b", "3.24.0", "clang 14")
    assert incomparable(record, record) == []
    assert incomparable(record, other) == [
        "counted with another valgrind",
        "compiled by another cc",
    ]
    redefined = counted("c", "3.19.0", "gcc 12")
    assert incomparable(record, redefined) == [
        "counted with another architecture, or another definition of the workload"
    ]


def flat(frame: Frame) -> dict[str, Frame]:
    found = {frame.function: frame}
    for callee in frame.callees:
        found |= flat(callee)
    return found


def test_a_callees_cost_is_spread_over_its_callers():
    root = frames(BEFORE, AFTER)
    assert (root.before, root.after) == (1000, 1500)
    read, parse = sorted(root.callees, key=lambda frame: frame.function)
    assert (read.function, read.before, read.after) == ("ReadBuffer", 400, 900)
    assert {f.function: (f.before, f.after) for f in read.callees} == {
        "checksum": (0, 500),
        "hash": (100, 100),
    }
    assert [f.function for f in parse.callees] == ["hash"]


def test_a_session_that_was_entered_before_it_was_counted_has_the_same_picture():
    entered = [replace(one, edges=dict(one.edges)) for one in (BEFORE, AFTER)]
    for one in entered:
        del one.edges["Loop", "PostgresMain"]
    assert frames(*entered) == frames(BEFORE, AFTER)


def test_a_cycle_of_calls_is_cut_where_it_closes():
    ring = profile(
        {"PostgresMain": 10, "a": 10, "b": 10},
        Loop__PostgresMain=100,
        PostgresMain__a=90,
        a__b=80,
        b__a=70,
    )
    assert set(flat(frames(ring, ring))) == {"PostgresMain", "a", "b"}


def test_the_picture_is_an_svg_that_is_the_same_again(tmp_path: Path):
    for name in ("one.svg", "two.svg"):
        draw(frames(BEFORE, AFTER), tmp_path / "new" / name, "13 against 18")
    one, two = ((tmp_path / "new" / name).read_bytes() for name in ("one.svg", "two.svg"))
    assert one == two
    assert ElementTree.fromstring(one).tag.endswith("svg")


@pytest.fixture
def session(tmp_path: Path) -> Any:
    return SimpleNamespace(
        machine=Machine.detect("here"), paths=SimpleNamespace(server_root=tmp_path)
    )


def test_a_scenario_is_spelled_as_show_spells_it(session: Any):
    cell = counted_cell("read-write/simple/small/c1/default/cold", session)
    assert (cell.scenario.mode, cell.scenario.protocol) == (Mode.READ_WRITE, Protocol.SIMPLE)
    assert (cell.clients, cell.buffers) == (1, CacheState.COLD)
    assert counted_cell("tpcb-like", session).buffers is CacheState.WARM
    assert counted_cell("read-only/*/small-2", session).scenario.scale == 2
    assert counted_cell("sort-text", session) == workload_cell(named("sort-text"))
    assert counted_cell("sort-text////tuned", session).profile == "tuned"


@pytest.mark.parametrize(
    "scenario",
    [
        *("read", "read-only/x", "read-only/prepared/large", "read-only///c4"),
        *("read-only/////tepid", "sort-text/////cold", "sort-text///c4", "update-same-row"),
    ],
)
def test_what_cannot_be_counted_is_refused(session: Any, scenario: str):
    with pytest.raises((UsageError, NotApplicableError)) as caught:
        counted_cell(scenario, session)
    assert caught.value.hint


def test_a_process_without_sessions_is_explained_without_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def counted(_: Any, __: Any, target: Target, *___: Any, **____: Any) -> Any:
        cost = 1000.0 if target.ref == "17" else 1100.0
        record = SimpleNamespace(
            epoch=SimpleNamespace(identifier="a"),
            build=SimpleNamespace(toolchain={}),
            sample=SimpleNamespace(instructions=cost),
        )
        replayed = profile({"heap_redo": cost}, ApplyWalRecord__heap_redo=cost)
        return Counted(
            build=cast(Any, SimpleNamespace(label=target.ref)),
            record=cast(Any, record),
            profile=replayed,
        )

    session = SimpleNamespace(pgbench_build=lambda **_: None, paths=None)
    monkeypatch.setattr(explain, "Session", lambda **_: session)
    for name, stand_in in {
        "counted_cell": lambda *_: workload_cell(named("replay")),
        "Pgbench": lambda **_: None,
        "_counted": counted,
        "_files": lambda *_: None,
    }.items():
        monkeypatch.setattr(explain, name, stand_in)
    words = ["17", "18", "--scenario", "replay", "--svg", str(tmp_path / "it.svg")]
    result = CliRunner().invoke(explain.explain_, words, catch_exceptions=False)
    assert "heap_redo" in result.stdout
    assert "flame graph: none" in result.stderr
    assert list(tmp_path.iterdir()) == []
    facts = CliRunner().invoke(explain.explain_, [*words, "--json"], catch_exceptions=False).stdout
    assert json.loads(facts)["svg"] is None


def test_a_workload_that_a_side_does_not_have_is_refused_before_anything_is_built():
    session: Any = SimpleNamespace(named=lambda _: SimpleNamespace(version=Version.parse("9.2.0")))
    target, cell = Target.parse("9.2", Variant()), workload_cell(named("cursors"))
    with pytest.raises(NotApplicableError, match="does not have cursors"):
        _counted(session, cast(Any, None), target, cell, cache=False)


def test_misses_name_the_functions_that_have_more_of_them():
    sides = [
        Profile(
            own={"ExecScan": 100.0},
            edges={},
            misses={"last": {"ExecScan": 10.0, "ExecInterpExpr.isra.0": more, "palloc": 5.0}},
        )
        for more in (50.0, 65.0)
    ]
    (change,) = miss_changes(*sides)
    assert str(change) == "last-level misses: 65.0, 80.0 (+23.08%): ExecInterpExpr +15.0"
    assert miss_changes(sides[0], Profile(own={}, edges={})) == ()


@pytest.mark.parametrize(
    ("compared", "calls", "expected"),
    [
        ({"__strcmp_avx2": 200.0}, 1, True),
        ({"__strcmp_avx2": 200.0, "CopyOneRowTo": 505.0}, 1, True),
        ({"__strcmp_avx2": 200.0, "CopyOneRowTo": 600.0}, 1, False),
        ({"__strcmp_avx2": 400.0, "CopyOneRowTo": 300.0}, 1, False),  # the code partly cancels it
        ({"__strcmp_avx2": 200.0}, 2, False),  # it is called more often
        ({"__strcmp_avx2": 200.0}, 1.6, False),  # in most transactions
        ({"CopyOneRowTo": 600.0}, 1, False),
        ({"__memcpy_avx_unaligned_erms": 200.0}, 1, False),  # it may copy more
        ({}, 1, False),
    ],
)
def test_what_only_the_librarys_comparing_of_strings_costs_is_layout(
    tmp_path: Path, compared: dict[str, float], calls: float, expected: bool
) -> None:
    paths = Paths(cache=tmp_path / "cache", project=tmp_path)
    library = ("__strcmp_avx2", "__memcpy_avx_unaligned_erms")
    own = {"CopyOneRowTo": 500.0} | dict.fromkeys(library, 100.0)
    for name, costs_, number in (("before", own, 1), ("after", own | compared, calls)):
        edges = {("CopyOneRowTo", one): Edge(calls=number, inclusive=1.0) for one in library}
        keep_profile(paths, name, Profile(own=costs_, edges=edges))
    assert is_layout(paths, "before", "after") == expected
    assert not is_layout(paths, "before", "none")


@pytest.mark.parametrize(
    ("other", "calls", "expected"),
    [
        ({"_int_malloc": 900.0, "unlink_chunk": 400.0}, 2000, True),
        ({"_int_malloc": 900.0, "unlink_chunk": 400.0, "palloc": 800.0}, 2000, False),
        ({"_int_malloc": 900.0, "unlink_chunk": 400.0}, 2002, True),
        ({"_int_malloc": 900.0, "unlink_chunk": 400.0}, 2020, False),  # it allocates more
        ({"palloc": 800.0}, 2000, False),
    ],
)
def test_what_only_the_librarys_way_through_the_heap_costs_is_layout(
    tmp_path: Path, other: dict[str, float], calls: int, expected: bool
) -> None:
    paths = Paths(cache=tmp_path / "cache", project=tmp_path)
    own = {"_int_malloc": 300.0, "_int_free": 200.0, "unlink_chunk": 1.0, "palloc": 500.0}
    for name, costs_, number in (("before", own, 2000), ("after", own | other, calls)):
        edges = {("malloc", "_int_malloc"): Edge(calls=number, inclusive=1.0)}
        keep_profile(paths, name, Profile(own=costs_, edges=edges))
    assert is_layout(paths, "before", "after") == expected
