"""``landspeed bisect`` from end to end, on real commits and made-up servers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from base.errors import LandspeedError
from base.files import locked
from benchmarks.counted.valgrind import require_countable
from landspeed.cli.bisect import bisect_
from tests.kits.made_up.bisect_project import COUNT, MadeUp, Pretence, facts, pretend

pytestmark = pytest.mark.slow

SLOWER = Pretence(steps={"37": 1.03})


def bisect(
    made: MadeUp, pretence: Pretence, monkeypatch: pytest.MonkeyPatch, *words: str, **ends: int
) -> Result:
    pretend(pretence, monkeypatch.setattr)
    good, bad = made.commits[ends.get("good", 0)], made.commits[ends.get("bad", COUNT)]
    return CliRunner().invoke(bisect_, [good, bad, *words])


def error_of(result: Result) -> LandspeedError:
    assert isinstance(result.exception, LandspeedError), result.exception
    return result.exception


def test_the_commit_that_made_it_slower_is_named_verified_and_told_of(made, monkeypatch):
    result = bisect(made, SLOWER, monkeypatch, "--json")
    found = facts(result)
    assert found["answer"] == "culprit"
    assert found["culprit"]["ref"] == made.commits[37]
    assert found["culprit"]["subject"] == "commit 37"
    assert found["culprit"]["parent"]["ref"] == made.commits[36]
    assert found["culprit"]["author"] == "A Hacker"
    assert "note" in found["culprit"]["diffstat"]
    assert found["confidence"] >= 0.95
    assert found["change"] == pytest.approx(0.03, abs=0.01)
    assert found["verification"]["verdict"] == "SLOWER"
    assert result.exit_code == 0
    again = bisect(made, SLOWER, monkeypatch)
    assert "commit 37" in again.stdout
    assert made.commits[37] in again.stdout


def test_it_is_found_by_tps_where_less_is_worse_as_well(made, monkeypatch):
    found = facts(bisect(made, SLOWER, monkeypatch, "--json", "--metric", "tps"))
    assert found["culprit"]["ref"] == made.commits[37]
    assert found["change"] == pytest.approx(-0.03, abs=0.01)
    assert found["verification"]["verdict"] == "SLOWER"


def test_where_nothing_changed_no_commit_is_named(made, monkeypatch):
    result = bisect(made, Pretence(), monkeypatch, "--json")
    assert facts(result)["answer"] == "no culprit"
    assert facts(result)["confidence"] >= 0.95
    assert facts(result)["builds"] <= 4
    assert result.exit_code == 0


def test_a_bad_that_is_faster_is_said_and_found_with_improvement_from_the_same_runs(
    made, monkeypatch
):
    faster = Pretence(steps={"20": 0.96})
    result = bisect(made, faster, monkeypatch, "--json")
    assert facts(result)["answer"] == "reversed"
    assert "--improvement" in error_of(result).hint
    found = facts(bisect(made, faster, monkeypatch, "--json", "--improvement"))
    assert found["culprit"]["ref"] == made.commits[20]
    assert found["verification"]["verdict"] == "FASTER"
    assert found["measurements"][0]["runs"] >= facts(result)["measurements"][0]["runs"]


def test_commits_that_do_not_build_or_crash_are_passed_over(made, monkeypatch):
    pretence = replace(SLOWER, broken=[32, 33, 40], crashing=[35, 38, 48])
    found = facts(bisect(made, pretence, monkeypatch, "--json"))
    assert found["culprit"]["ref"] == made.commits[37]
    reasons = {row["position"]: row["reason"] for row in found["skipped"]}
    assert reasons.keys() <= {32, 33, 35, 38, 40, 48}
    assert reasons


def test_commits_none_of_which_build_are_named_as_a_range(made, monkeypatch):
    result = bisect(made, replace(SLOWER, broken=list(range(1, COUNT))), monkeypatch, "--json")
    steps = facts(result)["culprit"]["steps"]
    assert facts(result)["answer"] == "range"
    assert steps["count"] >= 0.95 * COUNT
    report = bisect(made, replace(SLOWER, broken=list(range(1, COUNT))), monkeypatch).stdout
    assert f"One of {steps['count']} commits" in report
    assert "cannot be built" in report


def test_twins_share_their_runs(made, monkeypatch):
    same = [list(range(37)), list(range(37, COUNT + 1))]
    found = facts(bisect(made, replace(SLOWER, same=same), monkeypatch, "--json"))
    assert found["culprit"]["ref"] == made.commits[37]
    assert {row["name"] for row in found["measurements"]} == {made.commits[n][:10] for n in (0, 64)}


def test_ends_that_are_one_server_are_no_culprit_without_a_run_inside(made, monkeypatch):
    same = [list(range(COUNT + 1))]
    found = facts(bisect(made, Pretence(same=same), monkeypatch, "--json"))
    assert (found["answer"], found["confidence"]) == ("no culprit", 1.0)


def test_two_steps_are_told_of(made, monkeypatch):
    pretence = Pretence(steps={"20": 1.06, "50": 1.05}, noise=0.004)
    found = facts(bisect(made, pretence, monkeypatch, "--json"))
    assert found["culprit"]["ref"] in (made.commits[20], made.commits[50])
    (other,) = found["others"]
    assert other["count"] < COUNT


def test_a_budget_that_runs_out_leaves_an_interval_and_a_larger_one_goes_on(made, monkeypatch):
    result = bisect(made, SLOWER, monkeypatch, "--json", "--budget", "12s")
    assert facts(result)["answer"] == "undecided"
    assert facts(result)["left"]["count"] <= COUNT
    assert "--budget" in error_of(result).hint
    found = facts(bisect(made, SLOWER, monkeypatch, "--json"))
    assert found["culprit"]["ref"] == made.commits[37]
    assert found["runs"] > facts(result)["runs"]


def test_runs_in_the_results_are_taken_as_known_once_both_ends_are_measured_afresh(
    made, monkeypatch
):
    first = facts(bisect(made, SLOWER, monkeypatch, "--json"))
    again = facts(bisect(made, SLOWER, monkeypatch, "--json", "--fresh"))
    assert again["recorded"] >= first["runs"]
    assert again["runs"] < first["runs"]
    assert again["culprit"]["ref"] == made.commits[37]


def test_a_killed_bisection_goes_on_where_it_was(made, tmp_path):
    words = (made.commits[0], made.commits[COUNT], "--json")
    whole = made.run(replace(SLOWER, log=str(tmp_path / "whole")), *words)
    assert whole.returncode == 0, whole.stderr
    for path in (made.project / "results", tmp_path / "results"):
        if path.exists():
            path.rename(path.with_name("results-of-the-whole"))
    log = str(tmp_path / "killed")
    killed = made.run(replace(SLOWER, log=log, kill_after=11), *words)
    assert killed.returncode == -9
    resumed = made.run(replace(SLOWER, log=log), *words)
    assert resumed.returncode == 0, resumed.stderr
    assert "continuing after 10 runs" in resumed.stderr
    one, other = (json.loads(done.stdout) for done in (whole, resumed))
    assert other["culprit"] == one["culprit"]
    assert other["measurements"] == one["measurements"]
    # the run that was lost is made again, all others once
    runs = [Path(tmp_path / name).read_text().splitlines() for name in ("whole", "killed")]
    assert len(runs[1]) == len(runs[0]) + 1


def test_another_machines_bisection_is_told_of_and_not_used(made, monkeypatch, capfd):
    monkeypatch.setenv("LANDSPEED_MACHINE", "elephant")
    bisect(made, SLOWER, monkeypatch)
    monkeypatch.setenv("LANDSPEED_MACHINE", "mouse")
    found = bisect(made, SLOWER, monkeypatch, "--json")
    assert facts(found)["recorded"] == 0
    assert "not used: the same bisection on machine elephant" in found.stderr


def test_block_sizes_are_all_measured_ranked_and_told_apart(made, monkeypatch):
    pretend(Pretence(steps={"16": 1.1}), monkeypatch.setattr)
    tip = made.commits[COUNT]
    words = [f"{tip}:bs4", f"{tip}:bs32", "--over", "variants"]
    found = json.loads(CliRunner().invoke(bisect_, [*words, "--json"]).stdout)
    assert set(found["order"][:2]) == {"bs4", "bs8"}
    assert set(found["runs"].values()) == {10}
    even, rise, flat = found["neighbours"]
    assert rise["ratio"] == pytest.approx(1.1, abs=0.01)
    # by chance one of the two is below once in five hundred times
    assert rise["p"] < 0.001 < min(even["p"], flat["p"])
    result = CliRunner().invoke(bisect_, words)
    assert "| bs8 | bs16 |" in result.stdout
    assert "0 runs" in result.stderr


# --- counted, not timed ------------------------------------------------------------------------


def counted(made: MadeUp, pretence: Pretence, monkeypatch: pytest.MonkeyPatch, *words: str):
    return bisect(made, pretence, monkeypatch, "--json", "--metric", "instructions", *words)


def test_counting_takes_log_n_plus_2_measurements_and_verifies_by_them(made, monkeypatch):
    found = facts(counted(made, Pretence(steps={"37": 1.004}), monkeypatch))
    assert found["culprit"]["ref"] == made.commits[37]
    assert found["runs"] == 2 + 6
    assert found["verification"]["verdict"] == "SLOWER"
    assert found["exact"]
    assert found["cell"]["buffers"] == "warm"


def test_counts_in_the_results_are_not_made_again_but_for_both_ends(made, monkeypatch):
    first = facts(counted(made, Pretence(steps={"37": 1.004}), monkeypatch))
    again = facts(counted(made, Pretence(steps={"37": 1.004}), monkeypatch, "--fresh"))
    assert again["culprit"] == first["culprit"]
    assert again["recorded"] == first["runs"]
    # both ends, and the two that the verdict rests on
    assert again["runs"] == 4


def test_counting_finds_an_improvement_likewise(made, monkeypatch):
    faster = Pretence(steps={"12": 0.99})
    result = counted(made, faster, monkeypatch)
    assert facts(result)["answer"] == "reversed"
    found = facts(counted(made, faster, monkeypatch, "--improvement"))
    assert found["culprit"]["ref"] == made.commits[12]
    assert found["runs"] == 2 + 6
    assert found["verification"]["verdict"] == "FASTER"


def test_counting_says_no_culprit_after_two_measurements_and_where_the_cost_crept_up(
    made, monkeypatch
):
    assert facts(counted(made, Pretence(), monkeypatch))["runs"] == 2
    crept = Pretence(steps={str(n): 1.0005 for n in range(1, COUNT + 1)})
    assert facts(counted(made, crept, monkeypatch, "--fresh"))["answer"] == "no culprit"


def test_block_sizes_are_counted_once_each_ranked_and_told_apart_exactly(made, monkeypatch):
    pretend(Pretence(steps={"8": 0.999, "16": 1.003}), monkeypatch.setattr)
    tip = made.commits[COUNT]
    words = [f"{tip}:bs4", f"{tip}:bs32", "--over", "variants", "--metric", "instructions"]
    found = json.loads(CliRunner().invoke(bisect_, [*words, "--json"]).stdout)
    assert found["order"][0] == "bs8"
    assert set(found["runs"].values()) == {1}
    assert [pair["verdict"] for pair in found["neighbours"]] == ["SAME", "SLOWER", "SAME"]
    result = CliRunner().invoke(bisect_, words)
    assert "| bs4 | bs8 | -0.10 % | the same |" in result.stdout
    assert "| bs8 | bs16 | +0.30 % | differs |" in result.stdout
    assert "counting" not in result.stderr


def test_counting_passes_over_what_crashes_and_shows_other_steps(made, monkeypatch):
    pretence = Pretence(steps={"20": 1.01, "50": 1.004}, crashing=[32], broken=[33])
    found = facts(counted(made, pretence, monkeypatch))
    assert found["culprit"]["ref"] == made.commits[20]
    assert [row["position"] for row in found["skipped"]] == [32]
    assert len(found["others"]) == 1


def test_without_valgrind_the_command_that_installs_it_is_shown(made, monkeypatch):
    pretend(SLOWER, monkeypatch.setattr)
    monkeypatch.setattr("landspeed.compare.prepare.require_countable", require_countable)
    monkeypatch.setattr("benchmarks.machine.spawn.shutil.which", lambda _: None)
    words = [made.commits[0], made.commits[COUNT], "--metric", "instructions"]
    error = error_of(CliRunner().invoke(bisect_, words))
    assert error.message == "valgrind is not installed"
    assert "apt-get install valgrind" in error.hint


# --- what cannot be ----------------------------------------------------------------------------


def test_a_good_that_is_no_ancestor_is_refused_and_the_merge_base_is_offered(made, monkeypatch):
    git = made.upstream.git
    tree = git("rev-parse", f"{made.commits[10]}^{{tree}}")
    side = git("commit-tree", tree, "-p", made.commits[10], "-m", "commit 900")
    git("update-ref", "refs/heads/side", side)
    monkeypatch.setattr("builders.source.upstream.MINUTES", -1)
    pretend(SLOWER, monkeypatch.setattr)
    (made.project.parent / "cache/upstream.stamp").unlink(missing_ok=True)
    error = error_of(CliRunner().invoke(bisect_, [side, made.commits[COUNT]]))
    assert error.message == "GOOD is not an ancestor of BAD"
    assert error.hint == f"Give {made.commits[10][:10]} as GOOD."


@pytest.mark.parametrize(
    ("ends", "words", "message"),
    [
        ((5, 5), (), "GOOD and BAD are the same"),
        ((9, 5), (), "GOOD comes after BAD"),
        ((0, 5), ("--budget", "0"), "a budget of zero measures nothing"),
        (
            (0, 5),
            ("--metric", "instructions", "--clients", "4"),
            "a counted metric needs one client and data that fits in shared_buffers",
        ),
        ((0, 5), ("--deep",), "--deep needs --over releases"),
        ((0, 5), ("--over", "releases"), f'"{"{good}"}" is not a release'),
        ((0, 5), ("--over", "variants"), "GOOD and BAD are different REFs"),
        ((0, 5), ("--size", "0"), '"0" is not a share'),
        (
            (0, 5),
            ("--over", "variants", "--fresh"),
            "--over variants does not go with --fresh",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_sentence(made, monkeypatch, ends, words, message):
    good, bad = ends
    result = bisect(made, SLOWER, monkeypatch, *words, good=good, bad=bad)
    assert error_of(result).message == message.format(good=made.commits[good])
    assert result.stdout == ""


def test_an_end_that_does_not_build_or_run_is_an_error_that_says_which(made, monkeypatch):
    for pretence, what in (
        (Pretence(broken=[0]), "GOOD"),
        (Pretence(crashing=[COUNT]), "BAD"),
    ):
        error = error_of(bisect(made, pretence, monkeypatch))
        assert error.message.startswith(what)
        assert "commit" in error.detail


def test_one_bisection_is_made_by_one_landspeed_at_a_time(made, monkeypatch, tmp_path):
    bisect(made, SLOWER, monkeypatch)
    (state,) = (tmp_path / "results/bisect").glob("*.json")
    lock = state.with_name(f".{state.stem.removesuffix('-1')}.lock")
    with locked(lock):
        error = error_of(bisect(made, SLOWER, monkeypatch))
    assert error.message == "another landspeed carries out this bisection"


def test_a_damaged_journal_is_set_aside_and_its_runs_are_used_again(made, monkeypatch, tmp_path):
    bisect(made, SLOWER, monkeypatch)
    (state,) = (tmp_path / "results/bisect").glob("*.json")
    state.write_text(state.read_text()[:-20])
    assert facts(bisect(made, SLOWER, monkeypatch, "--json"))["answer"] == "culprit"
    assert len([*(tmp_path / "results/bisect").glob("*.json")]) == 2


def test_a_journal_that_was_forged_to_skip_other_commits_is_no_traceback(
    made, monkeypatch, tmp_path
):
    bisect(made, SLOWER, monkeypatch)
    (state,) = (tmp_path / "results/bisect").glob("*.json")
    journal = json.loads(state.read_text())
    journal["events"] += [{"event": "skipped"}, {"event": "skipped", "candidate": "0" * 40}]
    state.write_text(json.dumps(journal))
    assert facts(bisect(made, SLOWER, monkeypatch, "--json"))["skipped"] == []
