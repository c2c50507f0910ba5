"""``landspeed bisect --all`` from end to end, on real commits and made-up servers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from base.errors import LandspeedError, MeasureError, UsageError
from benchmarks.counted.callgrind import Edge, Profile
from benchmarks.counted.count import Counter
from benchmarks.counted.profiles import keep_profile
from benchmarks.records.record import Record
from benchmarks.workloads.scenario import Cell
from landspeed.atlas import request, run
from landspeed.campaign import suite_causes, workloads
from landspeed.campaign.suite_causes import CauseFinder, CauseKind, CellKey, ChangePart, cell_key
from landspeed.cli.bisect import bisect_
from landspeed.farm.merge import merge_results
from tests.kits.made_up.bisect_project import MadeUp, Pretence, pretend
from tests.kits.made_up.stand_ins import nothing, timed_record

pytestmark = pytest.mark.slow

COUNT = 64
STEPS = {
    30: {"sort-text": 1.03, "hash-join": 1.02},
    45: {"insert-one": 0.95},
    46: {"float": 1.0025},
}
WORKLOADS = ("sort-text", "hash-join", "insert-one", "float", "copy-out-csv", "seq-scan")
CHOSEN = [word for name in WORKLOADS for word in ("--workload", name)]
ONE = (ChangePart(kind=CauseKind.PLAN, cause=(), before=1.0, after=1.03),)
Done = Callable[[Cell, Record | LandspeedError], None]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> MadeUp:
    return MadeUp.make(tmp_path_factory.mktemp("atlas"), COUNT)


@pytest.fixture
def made(shared: MadeUp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MadeUp:
    for name, value in shared.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LANDSPEED_RESULTS", str(tmp_path / "results"))
    return shared


class Counting:
    """Counts of made-up servers: what was counted, and what fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, steps: Mapping[int, Any] = STEPS) -> None:
        self.steps, self.counted = steps, [(0, "")][:0]
        self.refused: set[tuple[int, str]] = set()
        self.crashing: set[int] = set()
        self.interrupt_after: int | None = None
        monkeypatch.setattr(run, "count_side_by_side", self)
        monkeypatch.setattr(run, "require_countable", lambda: None)
        monkeypatch.setattr(run, "measuring", nothing)
        monkeypatch.setattr(suite_causes, "setting_defaults", lambda *_: {})
        environment = SimpleNamespace(identifier="counted")
        monkeypatch.setattr(request, "count_epoch", lambda: environment)
        monkeypatch.setattr(workloads, "count_environment", lambda *_: environment)

    def __call__(self, counter: Counter, cells: Sequence[Cell], done: Done) -> None:
        number = int(counter.build.identifier.removeprefix("commit-"))
        if number in self.crashing:
            raise MeasureError("the server does not start")
        for cell in cells:
            name = str(cell.scenario.mode.value)
            if len(self.counted) == self.interrupt_after:
                raise KeyboardInterrupt
            self.counted.append((number, name))
            if (number, name) in self.refused:
                done(cell, MeasureError("the counts differ"))
                continue
            done(cell, self.record(counter, cell, number))

    def record(self, counter: Counter, cell: Cell, number: int) -> Record:
        instructions = 1e6
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


def facts(result: Result) -> dict[str, Any]:
    assert result.stdout, result.exception
    return dict(json.loads(result.stdout))


def named(report: dict[str, Any]) -> list[tuple[str, int, list[str]]]:
    return [
        (one["commit"]["subject"], one["among"], [w["workload"] for w in one["workloads"]])
        for one in report["changes"]
    ]


def test_every_commit_that_changed_a_workload_is_found_with_its_functions_and_has_a_page(
    made, monkeypatch, tmp_path
):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    report = facts(search(made, "--json"))
    assert named(report) == [
        ("commit 30", 1, ["sort-text", "hash-join"]),
        ("commit 45", 1, ["insert-one"]),
    ]
    assert report["complete"]
    assert report["changes"][0]["parent"]["subject"] == "commit 29"
    slower = report["changes"][0]["workloads"][0]
    assert slower["after"] / slower["before"] == pytest.approx(1.03)
    assert slower["functions"] == [{"function": "ExecSort", "change": 30000.0}]
    assert [w["kind"] for one in report["changes"] for w in one["workloads"]] == ["code"] * 3
    assert len(counting.counted) == len(set(counting.counted)) == report["counts"]
    assert {name for at, name in counting.counted if at in (29, 30, 44, 45)} == set(WORKLOADS)
    assert report["builds"] <= 5 + 4 + 4
    (page,) = (tmp_path / "results" / "atlas").glob(f"*-{report['bad']['name']}/index.html")
    point = f'<a href="../../commit.html#{report["changes"][0]["commit"]["ref"]}"><circle class='
    assert f'{point}"rise"' in page.read_text()
    culprit = report["changes"][0]["commit"]
    flames = page.parent / f"{culprit['name']}-sort-text.svg"
    assert "ExecSort" in flames.read_text()
    for address in (
        f"../../commit.html#{culprit['ref']}",
        flames.name,
        "../../trends.html#joins.track_instructions?machine=",
    ):
        assert f'<a href="{address}' in page.read_text()
    listed = (tmp_path / "results" / "atlas" / "index.html").read_text()
    assert f'<a href="{page.parent.name}/index.html">' in listed


def test_the_same_command_counts_nothing_again_and_a_finer_grid_only_what_is_missing(
    made, monkeypatch
):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    search(made)
    before = list(counting.counted)
    text = search(made).stdout
    assert counting.counted == before
    assert "| `commit 30` |" in text
    assert "| code |" in text
    assert "`sort-text` +3.00 %, `hash-join` +2.00 %" in text
    assert "`ExecSort` +30,000" in text
    finer = facts(search(made, "--json", "--size", "0.5%", "--grid", "8"))
    assert [one[0] for one in named(finer)] == ["commit 30", "commit 45"]
    assert counting.counted[: len(before)] == before
    assert len(counting.counted) == len(set(counting.counted)) > len(before)


def test_an_interrupted_search_resumes_at_the_count_where_it_stopped(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    for stop in (1, 8, 20, 29):
        counting.interrupt_after = stop
        search(made)
        assert len(counting.counted) == stop
    counting.interrupt_after = None
    report = facts(search(made, "--json"))
    assert [one[0] for one in named(report)] == ["commit 30", "commit 45"]
    assert len(counting.counted) == len(set(counting.counted))


def test_commits_that_do_not_build_or_run_are_passed_over_and_named_as_a_range(
    made, monkeypatch, tmp_path
):
    pretend(Pretence(broken=[16, 30, 31]), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    counting.crashing = {29}
    counting.refused = {(45, "insert-one"), (17, "float")}
    report = facts(search(made, "--json"))
    assert named(report) == [
        ("commit 32", 4, ["sort-text", "hash-join"]),
        ("commit 46", 2, ["insert-one", "float"]),
    ]
    assert {reason for _, reason in report["skipped"]} == {
        *(f"commit {number} does not compile" for number in (16, 30, 31)),
        "the server does not start",
    }
    assert [made.commits[45][:10], "insert-one", "the counts differ"] in report["refused"]
    counted = len(counting.counted)
    assert named(facts(search(made, "--json"))) == named(report)
    assert len(counting.counted) == counted

    # a workload that is defined in another way since then is tried again
    counting.refused = set()
    (journal,) = (tmp_path / "results" / "atlas").glob("atlas-*.json")
    journal.write_text(re.sub(r'("definition": ?")', r"\1former ", journal.read_text()))
    again = facts(search(made, "--json"))
    assert not again["refused"]
    assert (45, "insert-one") in counting.counted[counted:]


def test_the_kind_of_a_change_is_found_once_by_counting_again_and_is_in_the_report(
    made, monkeypatch
):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    asked = []

    def parts(finder: CauseFinder, cells: Sequence[Cell]) -> dict[CellKey, Any]:
        asked.append((finder.before.identifier, finder.after.identifier, len(cells)))
        plan = ChangePart(kind=CauseKind.PLAN, cause=(), before=1.0, after=1.03)
        return {cell_key(cell): (plan, replace(plan, kind=CauseKind.CODE)) for cell in cells}

    monkeypatch.setattr(CauseFinder, "parts", parts)
    report = facts(search(made, "--json"))
    kinds = [[one["kind"] for one in change["workloads"]] for change in report["changes"]]
    assert kinds == [["plan +3.00 %, code +3.00 %"] * 2, ["plan +3.00 %, code +3.00 %"]]
    assert asked == [("commit-29", "commit-30", 2), ("commit-44", "commit-45", 1)]
    assert search(made).stdout.count("plan +3.00 %, code +3.00 %") == 2
    assert len(asked) == 2
    assert len(counting.counted) == len(set(counting.counted))


def test_a_kind_that_cannot_be_found_leaves_the_commit_found(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    Counting(monkeypatch)

    def fails(*_: object) -> None:
        raise MeasureError("the server does not start")

    monkeypatch.setattr(suite_causes, "setting_defaults", fails)
    result = search(made, "--json")
    assert [one[0] for one in named(facts(result))] == ["commit 30", "commit 45"]
    assert result.stderr.count("the server does not start") == 2  # tried once for each commit


def test_a_search_that_is_interrupted_knows_the_kinds_of_what_it_has_found(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    monkeypatch.setattr(
        CauseFinder, "parts", lambda _, cells: dict.fromkeys(map(cell_key, cells), ONE)
    )
    counting.interrupt_after = len(WORKLOADS) * 5 + 20
    search(made)
    report = facts(search(made, "--budget", "0", "--json"))
    kinds = [one["kind"] for change in report["changes"] for one in change["workloads"]]
    assert not report["complete"]
    assert kinds
    assert set(kinds) == {"plan"}


def test_identical_servers_are_counted_once(made, monkeypatch):
    pretend(Pretence(same=[range(16, 30), range(30, 45)]), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    assert [one[0] for one in named(facts(search(made, "--json")))] == ["commit 30", "commit 45"]
    assert not {at for at, _ in counting.counted} & {29, 31, 44}


def test_an_end_that_cannot_be_counted_is_an_error(made, monkeypatch):
    pretend(Pretence(broken=[COUNT]), monkeypatch.setattr)
    Counting(monkeypatch)
    error = search(made).exception
    assert isinstance(error, LandspeedError)
    assert error.message.startswith("BAD (")


def test_a_spent_budget_ends_with_what_is_found_and_what_is_still_open(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    Counting(monkeypatch)
    ticks = iter(range(10**6))
    monkeypatch.setattr(run, "_clock", lambda: float(next(ticks)))
    result = search(made, "--json", "--budget", "60s")
    assert isinstance(result.exception, MeasureError)
    report = facts(result)
    assert not report["complete"]
    assert "Not searched to the end" in search(made, "--budget", "20s").stdout or report["open"]
    assert search(made, "--budget", "1h").exit_code == 0


def test_a_dry_run_says_what_is_left_and_does_nothing(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    planned = facts(search(made, "--dry-run", "--json"))
    assert (planned["commits"], planned["builds"], planned["counts"]) == (COUNT, 5, 5 * 6)
    assert planned["disk_gb"] == 3.6
    assert counting.counted == []
    text = search(made, "--dry-run").stdout
    assert "5 builds and 30 counts" in text
    assert "3.6 GB of disk (LANDSPEED_TEMPLATES_GB limits the data)" in text
    monkeypatch.setenv("LANDSPEED_TEMPLATES_GB", "1")
    assert facts(search(made, "--dry-run", "--json"))["disk_gb"] == 1.1


def share(made: MadeUp, monkeypatch: pytest.MonkeyPatch, results: Path, *words: str) -> Result:
    """A search whose results are at *results*, another machine's."""
    monkeypatch.setenv("LANDSPEED_RESULTS", str(results))
    result = search(made, *words)
    assert result.exception is None, result.exception
    return result


@pytest.mark.parametrize("backwards", [False, True])
def test_machines_that_count_a_share_each_find_together_what_one_finds_if_one_of_them_is_lost(
    made, monkeypatch, tmp_path, backwards
):
    pretend(Pretence(broken=[31], same=[range(20, 26)]), monkeypatch.setattr)
    alone = Counting(monkeypatch)
    alone.refused = several_refused = {(33, "hash-join"), (48, "float")}
    one = named(facts(share(made, monkeypatch, tmp_path / "one", "--json")))
    assert [subject for subject, *_ in one] == ["commit 30", "commit 45"]

    several, union = Counting(monkeypatch), tmp_path / "union"
    several.refused = several_refused
    for go in range(9):
        plan = facts(share(made, monkeypatch, union, "--dry-run", "--machines", "3", "--json"))
        if not plan["shares_count"]:
            break
        assert (plan["good"], plan["bad"]) == (
            f"{made.commits[0]}:bs8",
            f"{made.commits[COUNT]}:bs8",
        )
        ended = []
        for job in plan["shares"]:
            machine = tmp_path / f"{go}-{job['name']}"
            merge_results(union, machine)
            before = len(several.counted)
            left = facts(share(made, monkeypatch, machine, "--share", job["share"], "--json"))
            assert (left["builds"], left["counts"]) == (0, 0)
            if (go, job["name"]) == (0, "2"):
                del several.counted[before:]  # it is lost, and what it has counted with it
            else:
                ended.append(machine)
        report = facts(share(made, monkeypatch, union, "--budget", "0", "--json"))
        assert not report["complete"]
        assert report["builds_left"] > 0
        for machine in reversed(ended) if backwards else ended:
            merge_results(machine, union)
    report = facts(share(made, monkeypatch, union, "--budget", "0", "--json"))
    assert report["complete"]
    assert named(report) == one
    assert {at for at, _ in several.counted} >= {0, COUNT}
    assert len(several.counted) == len(set(several.counted))
    # a machine for itself goes on from the same results, and has nothing to do
    before = len(several.counted)
    assert named(facts(share(made, monkeypatch, union, "--json"))) == one
    assert len(several.counted) == before


def test_a_build_that_is_another_elsewhere_is_counted_and_the_search_ends(made, monkeypatch):
    pretend(Pretence(), monkeypatch.setattr)
    counting = Counting(monkeypatch)
    search(made)
    once = len(counting.counted)
    # the same commits, but none of the files that the first builds installed
    pretend(
        Pretence(same=[[number + 1000, number] for number in range(COUNT)]), monkeypatch.setattr
    )
    assert [one[0] for one in named(facts(search(made, "--json", "--grid", "8")))] == [
        "commit 30",
        "commit 45",
    ]
    assert len(counting.counted) > once


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--all", "--metric", "tps"], "--all does not go with --metric"),
        (["--all", "--mode", "read-write"], "--all does not go with --mode"),
        (["--all", "--size", "0.1%"], "--size must be at least 0.4 % with --all"),
        (["--suite", "small"], "--suite, --workload, --grid, --machines and --share need --all"),
        (["--grid", "7"], "--suite, --workload, --grid, --machines and --share need --all"),
        (["--all", "--machines", "2"], "--machines needs --dry-run"),
        (["--all", "--share", "a..b", "--machines", "2"], "--machines needs --dry-run"),
        (["--all", "--share", "a"], '"a" is not a share'),
        (["--all", "--share", "a..b"], "there is no share a..b between GOOD and BAD"),
    ],
)
def test_options_that_do_not_go_together_are_refused(made, words, message):
    result = CliRunner().invoke(bisect_, [made.commits[0], made.commits[9], *words])
    assert isinstance(result.exception, UsageError)
    assert result.exception.message == message
