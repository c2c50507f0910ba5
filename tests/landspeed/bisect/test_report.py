"""What a bisection is told as: Markdown for people, ranks for block sizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from base.errors import RecordError
from base.typed import to_json
from benchmarks.counted.callgrind import Profile
from benchmarks.workloads.metrics import metric_named
from landspeed.bisect.report import BisectReport, validated
from landspeed.bisect.report_build import cost_table
from landspeed.bisect.report_markdown import markdown, parse_reports, reports_markdown
from landspeed.bisect.sweep import SweepReport, counted_sweep, sweep_markdown, timed_sweep
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


def row(position: int, runs: int, median: float, good: float = 0.1) -> dict[str, Any]:
    facts = candidate(position)
    return {
        **{name: facts[name] for name in ("name", "date", "subject")},
        "position": position,
        "runs": runs,
        "median": median,
        "change": median / good - 1,
        "least": median * 0.99,
        "most": median * 1.01,
    }


def facts(**changes: Any) -> dict[str, Any]:
    """Return the JSON report of a culprit found at 37 of 64, as version 1 wrote it."""
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


def bisect_report(**changes: Any) -> BisectReport:
    """Return the report of a culprit found at 37 of 64."""
    return validated(BisectReport, facts(**changes))


RANGE = {**facts()["culprit"], "parent": candidate(35), "steps": span(36, 38)}
CASES = {
    "culprit": facts(),
    "range": facts(answer="range", culprit=RANGE, verification=None, recorded=9),
    "several": facts(others=[span(41, 64)], explanation="`ExecutorRun` +531 instructions."),
    "no-culprit": facts(
        answer="no culprit", culprit=None, verification=None, confidence=0.9963, skipped=[]
    ),
    "no-difference": facts(
        answer="no culprit",
        culprit=None,
        verification=None,
        confidence=0.9963,
        skipped=[],
        measurements=[row(0, 4, 0.1), row(64, 4, 0.1009)],
        smaller={"size": 0.009, "seconds": 725.0},
    ),
    "reversed": facts(
        answer="reversed",
        culprit=None,
        verification=None,
        measurements=[row(0, 4, 0.1), row(64, 4, 0.096)],
    ),
    "refuted": facts(answer="refuted", verification={**facts()["verification"], "verdict": "SAME"}),
    "undecided": facts(
        answer="undecided", culprit=None, verification=None, confidence=None, left=span(20, 40)
    ),
    "exact": facts(
        exact=True,
        metric="instructions",
        unit="instructions/tx",
        measurements=[row(0, 1, 54910.46, 54910.46), row(64, 1, 55459.1, 54910.46)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_report_is_what_a_person_would_paste(name):
    assert (
        markdown(validated(BisectReport, CASES[name])) + "\n"
        == (GOLDEN / f"bisect-{name}.md").read_text()
    )


def test_a_report_is_read_as_it_was_written_and_earlier_ones_are_read():
    for case in CASES.values():
        report = validated(BisectReport, case)
        assert validated(BisectReport, json.loads(json.dumps(to_json(report)))) == report
        written = to_json(report)
        assert case.keys() <= written.keys()
        plain = [key for key, value in case.items() if not isinstance(value, dict | list)]
        assert {key: written[key] for key in plain} == {key: case[key] for key in plain}
    assert bisect_report().identity == "good-bad"
    assert bisect_report().title.startswith("latency from 0000000000 to 0000000040: ")


@pytest.mark.parametrize(
    ("damaged", "place"),
    [
        (facts(answer="perhaps"), "answer"),
        (facts(left=None), "left"),
        (facts(culprit={"ref": "a"}), "culprit"),
        ({"answer": "culprit"}, "confidence"),
        ([], ""),
    ],
)
def test_a_damaged_report_is_refused_with_the_place(damaged, place):
    with pytest.raises(RecordError, match="not the report of a bisection") as caught:
        parse_reports(damaged)
    assert caught.value.detail.startswith(place)


def test_the_json_of_a_deep_bisection_and_of_a_sweep_are_read_as_well():
    deep = parse_reports([facts(over="releases"), facts()])
    assert len(deep) == 2
    swept = sweep_of({"bs4": runs(0.1), "bs8": runs(0.101)}, higher_is_better=False)
    assert parse_reports(json.loads(json.dumps(to_json(swept)))) == [swept]
    assert reports_markdown([swept]) == sweep_markdown(swept)


@pytest.mark.parametrize("wrong", [{"spent_seconds": 1e999}, {"measurements": [row(0, 4, 0.0)]}])
def test_a_report_with_numbers_that_cannot_be_is_one_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(RecordError, match="not the report of a bisection"):
        parse_reports(facts(**wrong))


@pytest.mark.parametrize(
    "wrong", [{"order": []}, {"order": ["bs1"]}, {"medians": {"bs1": 0, "bs2": 1}}, {"runs": {}}]
)
def test_a_ranking_of_variants_that_it_does_not_have_is_one_error(wrong: dict[str, Any]) -> None:
    values = {"bs1": [1.0, 2.0], "bs2": [2.0, 3.0]}
    swept = timed_sweep(values, metric_named("latency"), title="latency", confidence=0.95)
    with pytest.raises(RecordError, match="not the report of a bisection"):
        parse_reports(to_json(swept) | wrong)


def test_ends_that_do_not_differ_come_first_with_what_would_find_the_difference():
    ends = [row(0, 1, 39042.4, 39042.4), row(64, 1, 39076.0, 39042.4)]
    report = bisect_report(
        answer="no culprit",
        culprit=None,
        exact=True,
        metric="instructions",
        unit="instructions/tx",
        size=0.002,
        measurements=ends,
        verification=None,
        smaller={"size": 0.0008, "seconds": 240.0},
    )
    assert markdown(report).split("\n")[2:5] == [
        "**GOOD and BAD do not differ by 0.2 % or more (counted).** "
        "GOOD has 39,042.4 and BAD 39,076.0 instructions/tx (+0.09 %).",
        "",
        "A bisection with `--size 0.08%` would look for this change; it takes about 4 min 00 s.",
    ]


def test_to_reproduce_it_both_ends_are_named_in_their_variant():
    told = markdown(bisect_report(variant="bs32"))
    ends = f"{candidate(36)['name']}:bs32 {candidate(37)['name']}:bs32"
    assert f"landspeed compare --metric latency {ends} --scenario" in told


def test_the_functions_that_cost_more_are_told_by_name():
    before = Profile(own={"ExecProcNode": 100.0, "palloc.part.0": 50.0, "same": 7.0}, edges={})
    after = Profile(own={"ExecProcNode": 512.5, "palloc": 40.0, "same": 7.0}, edges={})
    table = cost_table(costs(whole_functions(before), whole_functions(after)))
    assert (
        "| `ExecProcNode` | 100.0 | 512.5 | +412.5 |\n| `palloc` | 50.0 | 40.0 | -10.0 |" in table
    )
    assert "same" not in table


def test_a_refuted_and_a_reversed_answer_say_so():
    refuted = bisect_report(
        answer="refuted", verification={**facts()["verification"], "verdict": "SAME"}
    )
    assert "does not differ from its parent" in " ".join(markdown(refuted).split())
    assert "BAD is better than GOOD" in markdown(bisect_report(answer="reversed", culprit=None))


def sweep_of(values: dict[str, list[float]], *, higher_is_better: bool) -> SweepReport:
    metric = metric_named("tps" if higher_is_better else "latency")
    return timed_sweep(values, metric, title="latency of 18", confidence=0.95)


def runs(level: float, count: int = 10) -> list[float]:
    return list(level * np.exp(0.01 * np.linspace(-1.5, 1.5, count)))


def test_block_sizes_are_ranked_and_neighbours_told_apart_where_they_differ():
    values = {"bs2": runs(0.12), "bs4": runs(0.1001), "bs8": runs(0.1)}
    found = sweep_of(values, higher_is_better=False)
    assert found.order == ("bs8", "bs4", "bs2")
    first, second = found.neighbours
    assert (first.first, first.second) == ("bs2", "bs4")
    assert first.ratio == pytest.approx(0.834, abs=0.001)
    assert first.p is not None
    assert first.p < 1e-6
    assert second.p is not None
    assert second.p > 0.3
    text = sweep_markdown(found)
    assert text + "\n" == (GOLDEN / "bisect-ranking.md").read_text()


def test_p_values_of_several_pairs_are_raised_and_one_run_has_none():
    two = sweep_of({"bs4": runs(0.1), "bs8": runs(0.101)}, higher_is_better=False)
    values = {"bs4": runs(0.1), "bs8": runs(0.101), "bs16": runs(0.101), "bs32": runs(0.101)}
    four = sweep_of(values, higher_is_better=False)
    assert two.neighbours[0].p is not None
    assert four.neighbours[0].p == pytest.approx(3 * two.neighbours[0].p)
    assert [pair.p for pair in four.neighbours[1:]] == [1.0, 1.0]
    lonely = sweep_of({"bs4": [1.0], "bs8": [2.0]}, higher_is_better=True)
    assert lonely.order == ("bs8", "bs4")
    assert lonely.neighbours[0].p is None
    assert "too few runs" in sweep_markdown(lonely)


def test_counted_block_sizes_differ_by_a_fifth_of_a_percent_unless_they_repeat_worse():
    values = {"bs4": 50_000.0, "bs8": 49_500.0, "bs16": 49_550.0, "bs32": 49_680.0}
    spreads = {"bs4": 2.0, "bs8": 1.0, "bs16": 1.5, "bs32": 30.0}
    counts = {name: CountedValue(values[name], spreads[name]) for name in values}
    metric = metric_named("instructions")
    found = counted_sweep(counts, metric, title="instructions of 18", confidence=0.95)
    assert found.order == ("bs8", "bs16", "bs32", "bs4")
    verdicts = [pair.verdict for pair in found.neighbours]
    assert verdicts == [Verdict.FASTER, Verdict.SAME, Verdict.UNDECIDED]
    text = sweep_markdown(found)
    assert text + "\n" == (GOLDEN / "bisect-ranking-counted.md").read_text()
