"""``landspeed show --guards``: which counted workloads execute a function."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from base.build import Origin
from base.errors import RefError, UsageError
from base.paths import Paths
from benchmarks.counted.callgrind import Edge, Profile
from benchmarks.counted.cells import workload_cell
from benchmarks.counted.profiles import keep_profile
from benchmarks.machine.machine import Machine
from benchmarks.records.store import RecordStore
from benchmarks.workloads.catalog import choose
from benchmarks.workloads.points import RECOUNT
from landspeed.cli import show
from landspeed.cli.show import show_
from landspeed.profiling import edited, guards
from tests.kits.made_up.stand_ins import made_up_build, timed_record


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in ("CACHE", "PROJECT", "RESULTS"):
        monkeypatch.setenv(f"LANDSPEED_{name}", str(tmp_path))
    return Paths.find()


def counted(
    paths: Paths, workload: str, date: str, own: Mapping[str, float], preset: str = "catalog"
) -> None:
    (found,) = choose([workload])
    origin = Origin(release=None, commit="a" * 40, tree="t", date=date)
    record = timed_record(
        build=made_up_build("b", origin, digest=date.replace("-", "")),
        cell=workload_cell(found),
        machine=Machine.detect(),
        run={"preset": preset},
        sample={"instructions": sum(own.values())},
    )
    RecordStore(paths.records).add(record)
    edges = {("main", name): Edge(calls=1, inclusive=own[name]) for name in own if name != "main"}
    keep_profile(paths, record.id, Profile(own=own, edges=edges))


def test_the_workloads_that_execute_a_function_are_listed_by_their_newest_count(project):
    counted(project, "hash-join", "2024-01-01", {"main": 50.0, "ExecHash": 50.0})
    counted(project, "hash-join", "2025-01-01", {"main": 75.0, "ExecHash.part.0": 25.0})
    counted(project, "sort-text", "2025-01-01", {"main": 90.0, "tuplesort_performsort": 10.0})
    text = CliRunner().invoke(show_, ["--guards", "ExecHash"]).stdout
    assert "hash-join" in text
    assert "25.00%" in text
    assert "sort-text" not in text
    found = json.loads(CliRunner().invoke(show_, ["--guards", "*", "--json"]).stdout)
    assert [one["function"] for one in found[:2]] == ["main", "main"]
    assert found[0]["inclusive"] == 1.0


def test_counts_with_other_settings_are_not_looked_at(project):
    counted(project, "hash-join", "2024-01-01", {"main": 50.0, "ExecHash": 50.0})
    counted(project, "hash-join", "2025-01-01", {"main": 50.0, "ExecSort": 50.0}, RECOUNT)
    found = json.loads(CliRunner().invoke(show_, ["--guards", "Exec*", "--json"]).stdout)
    assert [one["function"] for one in found] == ["ExecHash"]


def test_a_function_that_no_workload_executes_is_an_error(project):
    counted(project, "hash-join", "2024-01-01", {"main": 50.0})
    error = CliRunner().invoke(show_, ["--guards", "ExecSort"]).exception
    assert isinstance(error, RefError)
    assert "ExecSort" in error.message


def test_a_point_and_guards_exclude_each_other(project):
    for words in ([], ["18/sort-text", "--guards", "main"]):
        assert isinstance(CliRunner().invoke(show_, words).exception, UsageError)


def test_of_a_directory_it_is_shown_how_many_of_its_functions_are_executed(project, monkeypatch):
    def asked(words: list[str]) -> str:
        return CliRunner().invoke(show_, ["--guards", *words]).stdout

    files = {
        "src/backend/executor/nodeHash.c": {"ExecHash", "ExecEndHash", "MACRO"},
        "src/backend/utils/sort/tuplesort.c": {"tuplesort_performsort"},
        "src/backend/utils/sort/gone.c": {"inlined"},
    }
    build = SimpleNamespace(
        label="18.6 bs8", program=str, origin=SimpleNamespace(tree="t"), identifier="b"
    )
    session = SimpleNamespace(
        paths=project,
        records=RecordStore(project.records),
        builder=SimpleNamespace(
            store=SimpleNamespace(find={"b": build}.get),
            sources=SimpleNamespace(
                history=SimpleNamespace(
                    functions=lambda tree, below: {
                        path: names for path, names in files.items() if path.startswith(below)
                    }
                )
            ),
        ),
    )
    monkeypatch.setattr(show, "Session", lambda: session)
    symbols = "0 T ExecHash\n1 t ExecEndHash.cold\n2 T tuplesort_performsort\n"
    monkeypatch.setattr(edited, "printed", lambda *_: symbols)
    known = {"src/backend/executor/nodeHash.c": frozenset({"ExecEndHash"})}
    monkeypatch.setattr(guards, "unreached", lambda path: known.get(path, frozenset()))
    with pytest.raises(RefError, match="no server to look at"):
        guards.guard_map(project, session.records, session.builder, "src/")
    counted(project, "hash-join", "2024-01-01", {"main": 50.0, "ExecHash.part.0": 5.0})
    whole = asked(["src/backend/"])
    assert [line.split() for line in whole.splitlines()[1:]] == [
        ["src/backend/executor", "2", "1", "50%", "1", "100%"],
        ["src/backend/utils/sort", "1", "0", "0%", "1", "0%"],
        ["all", "3", "1", "33%", "2", "50%"],
    ]
    assert "no counted workload executes: ExecEndHash." in asked(["src/backend/executor/"])
    (facts,) = json.loads(asked(["src/backend/utils/", "--json"]))
    assert facts == {
        "path": "src/backend/utils/sort/tuplesort.c",
        "functions": ["tuplesort_performsort"],
        "executed": [],
        "reachable": ["tuplesort_performsort"],
    }
    with pytest.raises(RefError, match='no functions below "src/pl"'):
        guards.guard_map(project, session.records, session.builder, "src/pl")
