"""Carrying out a comparison: its runs, its end, and going on after whatever ended it early."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from base.errors import MeasureError, UsageError
from base.paths import Paths
from benchmarks.workloads.scenario import CacheState
from landspeed.compare.report import comparison_facts, comparison_text
from landspeed.compare.run import compare
from landspeed.compare.timed import recorded_state
from landspeed.compare.verdict import Verdict
from landspeed.console.table import as_text
from landspeed.farm.merge import merge_results
from landspeed.sampling import counted
from tests.kits.made_up.compare_kit import (
    TPS,
    Bench,
    FakeSession,
    bench,
    elsewhere,
    plan_of,
    session,
)
from tests.kits.made_up.stand_ins import timed_record

pytestmark = pytest.mark.slow

__all__ = ["bench", "session"]


def test_it_ends_when_it_is_decided_and_every_run_is_a_record_that_names_its_block(
    session: Any, bench: Bench
) -> None:
    bench.latency = {"17": 0.1, "18": 0.09}
    state = compare(session, plan_of("17", "18"))
    (finding,) = state.comparison.findings
    assert finding.verdict is Verdict.FASTER
    assert finding.ratio == pytest.approx(0.9, rel=0.02)
    rows = session.records.table().to_pylist()
    assert len(rows) == len(bench.asked) == 2 * len(state.comparison.blocks)
    assert {(row["preset"], row["comparison"]) for row in rows} == {("compare", state.identifier)}
    assert Counter(row["block"] for row in rows) == Counter(
        dict.fromkeys(range(1, len(state.comparison.blocks) + 1), 2)
    )


def test_the_data_of_a_side_is_loaded_where_its_profile_has_it_and_given_back(
    session: Any, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    monkeypatch.setattr("landspeed.sampling.sampler.give_back", lambda *what: given.append(what))
    asked = plan_of("17", "18")
    first, second = asked.sides
    in_memory = replace(first.cell, profile="default-on-tmpfs")
    compare(session, replace(asked, sides=(first, replace(second, cell=in_memory))))
    assert [one["store"] for one in bench.loaded] == [first.cell, in_memory]
    assert [one["build"] for one in bench.loaded] == [first.build, second.build]
    assert given == [({"tmpfs"}, session.paths.server_root)]


def test_sides_are_interleaved_in_random_order_with_one_seed_a_block(
    session: Any, bench: Bench
) -> None:
    bench.noise = 0.1
    compare(session, plan_of("17", "18", "16", budget=360.0))
    blocks = [bench.asked[n : n + 3] for n in range(0, len(bench.asked), 3)]
    assert len(blocks) == 40
    assert all(len({run["build"] for run in block}) == 3 for block in blocks)
    assert all(len({run["seed"] for run in block}) == 1 for block in blocks)
    assert len({tuple(run["build"] for run in block) for block in blocks}) == 6


def test_a_spent_budget_is_undecided_and_says_what_it_would_take(
    session: Any, bench: Bench
) -> None:
    bench.noise = 0.1
    asked = plan_of("17", "18", budget=100.0)
    state = compare(session, asked)
    (finding,) = state.comparison.findings
    assert finding.verdict is Verdict.UNDECIDED
    assert state.spent <= 100
    assert len(bench.asked) == 32
    assert finding.blocks_left  # how many depends on the lot that puts the sides in order
    said = as_text(comparison_text(asked, state))
    assert "18 is UNDECIDED" in said
    assert "A verdict takes about" in said
    assert "--budget" in said


def test_a_budget_that_will_not_do_is_told_after_the_first_blocks_with_the_counted_answer(
    session: Any, bench: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.noise = 0.1
    plan = plan_of("17", "18", budget=100.0)
    epoch = session.machine.epoch
    monkeypatch.setattr(counted, "count_environment", lambda *_: epoch)
    for side, instructions in zip(plan.sides, (1000.0, 1020.0), strict=True):
        cell = replace(side.cell, clients=1, buffers=CacheState.WARM)
        made = timed_record(build=side.build, cell=cell, machine=session.machine, run={})
        sample = made.sample.model_copy(update={"instructions": instructions})
        session.records.add(made.model_copy(update={"sample": sample}))
    compare(session, plan)
    said = capsys.readouterr().err
    assert said.count("the budget of 1 min 40 s will hardly do: A verdict takes about") == 1
    assert "Counted, one client, against 17: 18 +2.00 % instructions." in said
    capsys.readouterr()
    bench.noise = 0.001
    compare(session, plan_of("17", "18", budget=1000.0), fresh=True)
    assert "will hardly do" not in capsys.readouterr().err


def test_a_verdict_whose_interval_is_still_too_wide_says_what_narrow_takes(
    session: Any, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.latency, bench.noise = {"18": 0.2}, 0.05
    asked = plan_of("17", "18", budget=120.0, narrow=True)
    state = compare(session, asked)
    (finding,) = state.comparison.findings
    assert finding.verdict is Verdict.SLOWER
    assert not state.comparison.is_settled
    assert finding.blocks_left
    assert "the budget of 2 min 00 s will hardly do" in capsys.readouterr().err
    said = as_text(comparison_text(asked, state))
    assert "18 is SLOWER" in said
    assert "An interval as narrow as asked takes about" in said
    # without --narrow the same runs are enough
    assert compare(session, replace(asked, rule=plan_of("17", "18").rule)).seconds_left == 0


def test_an_interrupted_comparison_goes_on_with_the_whole_blocks_it_has(
    session: Any, bench: Bench
) -> None:
    bench.noise, bench.stop_after = 0.1, 15
    asked = plan_of("17", "18", budget=120.0)
    with pytest.raises(KeyboardInterrupt):
        compare(session, asked)
    assert session.records.table(["id"]).num_rows == 15
    assert list((session.paths.records / "loose").glob("*.json")) == []
    bench.stop_after = None
    state = compare(session, asked)
    assert (state.recorded, state.attempted) == (7, 20)
    assert len(state.comparison.blocks) == 19  # the eighth was cut in half, and is no pair
    assert state.spent == pytest.approx(39 * 3.0)
    again = recorded_state(session, asked)
    assert again.comparison == state.comparison


def test_one_that_is_finished_answers_from_its_records_unless_it_is_to_begin_anew(
    session: Any, bench: Bench
) -> None:
    bench.latency = {"17": 0.1, "18": 0.05}
    first = compare(session, plan_of("17", "18"))
    runs = len(bench.asked)
    again = compare(session, plan_of("17", "18", budget=0.0))
    assert (len(bench.asked), again.comparison) == (runs, first.comparison)
    fresh = compare(session, plan_of("17", "18"), fresh=True)
    assert len(bench.asked) > runs
    assert first.identifier != fresh.identifier
    assert compare(session, plan_of("17", "18")).identifier == fresh.identifier


def test_the_same_runs_answer_the_question_the_other_way_round_and_for_another_metric(
    session: Any, bench: Bench
) -> None:
    bench.latency = {"17": 0.1, "18": 0.05}
    compare(session, plan_of("17", "18"))
    runs = len(bench.asked)
    (swapped,) = compare(session, plan_of("18", "17")).comparison.findings
    (tps,) = compare(session, plan_of("17", "18", metric=TPS)).comparison.findings
    assert len(bench.asked) == runs
    assert (swapped.verdict, tps.verdict) == (Verdict.SLOWER, Verdict.FASTER)
    assert swapped.ratio == pytest.approx(2.0, rel=0.02)
    assert tps.ratio == pytest.approx(2.0, rel=0.02)


def test_a_larger_budget_goes_on_and_no_other_change_of_the_question_does(
    session: Any, bench: Bench
) -> None:
    bench.noise = 0.1
    compare(session, plan_of("17", "18", budget=60.0))
    assert compare(session, plan_of("17", "18", budget=90.0)).recorded == 10
    other = recorded_state(session, plan_of("17", "18", seconds=2))
    assert other.recorded == 0


def test_runs_of_another_machine_or_epoch_are_told_and_not_used(
    session: Any, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    here = session.machine
    for there in (elsewhere(here, name="mammoth"), elsewhere(here, kernel="1.0")):
        session.machine = there
        compare(session, plan_of("17", "18", budget=12.0))
    session.machine = here
    state = compare(session, plan_of("17", "18", budget=12.0))
    assert state.recorded == 0
    said = capsys.readouterr().err
    assert "not used: 4 runs of the same comparison, measured on machine mammoth" in said
    assert "measured on this machine before its kernel or processor changed" in said


@pytest.mark.parametrize("budget", [0.0, 5.0])
def test_a_budget_with_no_room_for_a_block_is_an_error(
    session: Any, bench: Bench, budget: float
) -> None:
    with pytest.raises(UsageError, match="too small for a single block") as caught:
        compare(session, plan_of("17", "18", budget=budget))
    assert "about 6 s" in caught.value.detail
    assert bench.asked == []


def test_a_server_that_dies_twice_ends_it_and_one_death_costs_one_block(
    session: Any, bench: Bench
) -> None:
    bench.failing = "17"
    with pytest.raises(MeasureError, match="the server died"):
        compare(session, plan_of("17", "18"))
    assert {run["block"] for run in bench.asked} == {1, 2}
    bench.failing = ""
    state = compare(session, plan_of("17", "18", budget=60.0))
    assert state.comparison.blocks
    assert min(run["block"] for run in bench.asked[-4:]) > 2


def test_what_it_says_to_programs_is_json_with_all_of_it(session: Any, bench: Bench) -> None:
    bench.latency = {"18": 0.085, "19": 0.1}
    asked = plan_of("17", "18", "19", budget=240.0)
    facts = comparison_facts(asked, compare(session, asked))
    assert json.loads(json.dumps(facts)) == facts
    assert facts["findings"][0]["verdict"] == "FASTER"
    assert {one["against"] for one in facts["findings"]} == {"17"}
    assert [side["summary"]["runs"] for side in facts["sides"]] == [facts["blocks"]] * 3
    assert facts["runs"] == 3 * facts["blocks"]
    said = as_text(comparison_text(asked, compare(session, asked)))
    assert "18 is FASTER: 0.8" in said


def test_a_comparison_without_a_block_says_so(session: Any, bench: Bench) -> None:
    asked = plan_of("17", "18")
    state = recorded_state(session, asked)
    assert "nothing is measured yet" in as_text(comparison_text(asked, state))
    assert comparison_facts(asked, state)["findings"][0]["ratio"] is None


def test_comparisons_that_were_made_apart_are_not_mixed_when_their_records_are_merged(
    session: Any, bench: Bench, tmp_path: Path
) -> None:
    bench.noise = 0.1
    asked = plan_of("17", "18", budget=30.0)
    state = compare(session, asked)
    apart = FakeSession(paths=Paths(cache=tmp_path / "cache", project=tmp_path / "apart"))
    other = compare(cast(Any, apart), asked)
    assert other.identifier != state.identifier
    apart.records.seal()
    merge_results(apart.paths.results, session.paths.results)
    merged = recorded_state(session, asked)
    assert merged.identifier == other.identifier
    assert merged.comparison == other.comparison
