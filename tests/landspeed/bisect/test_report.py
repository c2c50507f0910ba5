"""What a bisection is told as: Markdown for people, ranks for block sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.counted.callgrind import Profile
from landspeed.bisect.report_markdown import markdown
from landspeed.bisect.report_profile import cost_table
from landspeed.bisect.sweep_report import counted_ranking, ranking, ranking_markdown
from landspeed.compare.verdict import CountedValue, Verdict
from landspeed.profiling.diff import costs, whole_functions

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


def candidate(number: int) -> dict[str, str]:
    return {
        "ref": f"{number:040x}",
        "name": f"{number:010x}",
        "date": "2025-03-01",
        "subject": f"Change {number} | of the executor",
    }


def span(first: int, last: int) -> dict[str, Any]:
    return {
        "after": candidate(first - 1)["name"],
        "first": candidate(first)["name"],
        "last": candidate(last)["name"],
        "count": last - first + 1,
        "candidates": [candidate(n) for n in range(first, last + 1)],
    }


def row(position: int, runs: int, median: float) -> dict[str, Any]:
    facts = candidate(position)
    return {
        **{name: facts[name] for name in ("name", "date", "subject")},
        "position": position,
        "runs": runs,
        "median": median,
        "change": median / 0.1 - 1,
        "least": median * 0.99,
        "most": median * 1.01,
    }


def facts(**changes: Any) -> dict[str, Any]:
    """The facts of a culprit found at 37 of 64."""
    whole = {
        "answer": "culprit",
        "confidence": 0.981,
        "exact": False,
        "over": "commits",
        "metric": "latency",
        "unit": "ms",
        "higher_is_better": False,
        "improvement": False,
        "size": 0.02,
        "good": candidate(0),
        "bad": candidate(64),
        "candidates": 64,
        "variant": "bs8",
        "cell": {
            "mode": "read-only",
            "protocol": "prepared",
            "tier": "small",
            "scale": 5,
            "clients": 1,
            "threads": None,
            "profile": "default",
        },
        "seconds": 5,
        "machine": {"name": "elephant", "cpu": "EPYC", "cores": 2},
        "epoch": "e1",
        "pgbench": "18.1",
        "culprit": {
            "parent": candidate(36),
            **candidate(37),
            "steps": span(37, 37),
            "author": "A Hacker",
            "email": "hacker@example.org",
            "authored": "2025-03-01T12:00:00+00:00",
            "diffstat": " src/backend/executor/execMain.c | 3 ++-\n 1 file changed",
        },
        "left": span(37, 37),
        "change": 0.0304,
        "verification": {
            "verdict": "SLOWER",
            "ratio": 1.0288,
            "interval": [1.0198, 1.0462],
            "runs": 14,
        },
        "explanation": None,
        "others": [],
        "measurements": [row(0, 4, 0.1), row(36, 3, 0.1005), row(37, 1, 0.1033), row(64, 4, 0.103)],
        "skipped": [{"position": 32, "name": candidate(32)["name"], "reason": "does not compile"}],
        "runs": 12,
        "builds": 4,
        "recorded": 0,
        "spent_seconds": 95.0,
        "state": "good-bad-1.json",
        "command": "landspeed bisect good bad",
    }
    return whole | changes


RANGE = {**facts()["culprit"], "parent": candidate(35), "steps": span(36, 38)}
CASES = {
    "culprit": facts(),
    "range": facts(answer="range", culprit=RANGE, verification=None, recorded=9),
    "several": facts(others=[span(41, 64)], explanation="`ExecutorRun` +531 instructions."),
    "no-culprit": facts(
        answer="no culprit", culprit=None, verification=None, confidence=0.9963, skipped=[]
    ),
    "undecided": facts(
        answer="undecided", culprit=None, verification=None, confidence=None, left=span(20, 40)
    ),
    "exact": facts(
        exact=True,
        metric="instructions",
        unit="instructions/tx",
        measurements=[row(0, 1, 54910.46), row(64, 1, 55459.1)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_report_is_what_a_person_would_paste(name):
    assert markdown(CASES[name]) + "\n" == (GOLDEN / f"bisect-{name}.md").read_text()


def test_the_functions_that_cost_more_are_told_by_name():
    before = Profile(own={"ExecProcNode": 100.0, "palloc.part.0": 50.0, "same": 7.0}, edges={})
    after = Profile(own={"ExecProcNode": 512.5, "palloc": 40.0, "same": 7.0}, edges={})
    table = cost_table(costs(whole_functions(before), whole_functions(after)))
    assert (
        "| `ExecProcNode` | 100.0 | 512.5 | +412.5 |\n| `palloc` | 50.0 | 40.0 | -10.0 |" in table
    )
    assert "same" not in table


def test_a_refuted_and_a_reversed_answer_say_so():
    refuted = facts(answer="refuted", verification={**facts()["verification"], "verdict": "SAME"})
    assert "does not differ from its parent" in " ".join(markdown(refuted).split())
    assert "BAD is better than GOOD" in markdown(facts(answer="reversed", culprit=None))


def runs(level: float, count: int = 10) -> list[float]:
    return list(level * np.exp(0.01 * np.linspace(-1.5, 1.5, count)))


def test_block_sizes_are_ranked_and_neighbours_told_apart_where_they_differ():
    values = {"bs2": runs(0.12), "bs4": runs(0.1001), "bs8": runs(0.1)}
    found = ranking(values, higher_is_better=False)
    assert found.order == ("bs8", "bs4", "bs2")
    first, second = found.neighbours
    assert (first.first, first.second) == ("bs2", "bs4")
    assert first.ratio == pytest.approx(0.834, abs=0.001)
    assert first.p is not None
    assert first.p < 1e-6
    assert second.p is not None
    assert second.p > 0.3
    text = ranking_markdown(found, "latency of 18", "ms", 0.95)
    assert text + "\n" == (GOLDEN / "bisect-ranking.md").read_text()


def test_p_values_of_several_pairs_are_raised_and_one_run_has_none():
    two = ranking({"bs4": runs(0.1), "bs8": runs(0.101)}, higher_is_better=False)
    values = {"bs4": runs(0.1), "bs8": runs(0.101), "bs16": runs(0.101), "bs32": runs(0.101)}
    four = ranking(values, higher_is_better=False)
    assert two.neighbours[0].p is not None
    assert four.neighbours[0].p == pytest.approx(3 * two.neighbours[0].p)
    assert [pair.p for pair in four.neighbours[1:]] == [1.0, 1.0]
    lonely = ranking({"bs4": [1.0], "bs8": [2.0]}, higher_is_better=True)
    assert lonely.order == ("bs8", "bs4")
    assert lonely.neighbours[0].p is None
    assert "too few runs" in ranking_markdown(lonely, "t", "tx/s", 0.95)


def test_counted_block_sizes_differ_by_a_fifth_of_a_percent_unless_they_repeat_worse():
    values = {"bs4": 50_000.0, "bs8": 49_500.0, "bs16": 49_550.0, "bs32": 49_680.0}
    spreads = {"bs4": 2.0, "bs8": 1.0, "bs16": 1.5, "bs32": 30.0}
    counts = {name: CountedValue(values[name], spreads[name]) for name in values}
    found = counted_ranking(counts, higher_is_better=False)
    assert found.order == ("bs8", "bs16", "bs32", "bs4")
    verdicts = [pair.verdict for pair in found.neighbours]
    assert verdicts == [Verdict.FASTER, Verdict.SAME, Verdict.UNDECIDED]
    text = ranking_markdown(found, "instructions of 18", "instructions/tx", 0.95)
    assert text + "\n" == (GOLDEN / "bisect-ranking-counted.md").read_text()
