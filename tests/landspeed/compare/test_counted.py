"""Comparing counts: one a side, whichever is recorded, and what they cannot tell is said."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from base.build import Build
from base.errors import MeasureError, UsageError
from benchmarks.counted.valgrind import CountEnvironment
from benchmarks.records.record import Record
from benchmarks.workloads.metrics import metric_named
from benchmarks.workloads.points import scheduled
from benchmarks.workloads.scenario import CacheState
from landspeed.compare import counted
from landspeed.compare.plan import ComparePlan
from landspeed.compare.prepare import cells_of
from landspeed.compare.report import comparison_text
from landspeed.compare.run import compare
from landspeed.compare.side import CompareScenario
from landspeed.compare.verdict import Verdict
from landspeed.console.table import as_text
from landspeed.sampling import counted as campaign_counted
from landspeed.sampling import sampler
from landspeed.sampling.sampler import Sampler
from tests.kits.made_up.compare_kit import CELL, bench, build, plan_of, session
from tests.kits.made_up.stand_ins import counted_pass
from tests.kits.made_up.synthetic import counted_record

__all__ = ["bench", "session"]
EPOCH = CountEnvironment(valgrind="3.19.0", libc="ab" * 32, cpu="cd" * 8, arch="x86_64")
COUNTED = replace(CELL, buffers=CacheState.WARM)


@dataclass
class Counts:
    """Stands for `count`: *instructions* by name of the server, two slopes *apart*."""

    instructions: dict[str, float] = field(default_factory=dict)
    apart: float = 0.0
    failing: str = ""
    asked: list[str] = field(default_factory=list)
    held: list[dict[str, bool]] = field(default_factory=list)

    def measuring(self, **how: bool) -> AbstractContextManager[None]:
        self.held.append(how)
        return nullcontext()

    def __call__(
        self,
        *,
        build: Build,
        cell: Any,
        machine: Any,
        context: Any,
        stop: threading.Event | None = None,
        **_: Any,
    ) -> Record:
        self.asked.append(str(build.origin.release))
        if build.origin.release == self.failing:
            raise MeasureError("counting twice gave different numbers")
        record = counted_record(build.facts(), cell.facts(1), machine.facts(), EPOCH.facts(machine))
        value = self.instructions.get(str(build.origin.release), 50_000.0)
        record["sample"] |= {"instructions": value, "wal_bytes_tx": 0.0}
        record["run"] |= {**context, "phases": {"count": 12.0}}
        record["passes"] = [
            counted_pass(n, n * cost)
            for cost in (value - self.apart / 2, value + self.apart / 2)
            for n in (200, 1200)
        ]
        return Record.from_json(record)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    made = Counts()
    monkeypatch.setattr(campaign_counted, "count", made)
    monkeypatch.setattr(sampler, "count", made)
    monkeypatch.setattr("benchmarks.counted.valgrind.count_epoch", lambda: EPOCH)
    monkeypatch.setattr("benchmarks.counted.cells.count_epoch", lambda: EPOCH)
    monkeypatch.setattr(counted, "measuring", made.measuring)
    return made


def asked(*names: str, metric: str = "instructions", **how: Any) -> ComparePlan:
    return plan_of(*names, metric=metric_named(metric), cell=COUNTED, **how)


@pytest.mark.parametrize(
    ("other", "apart", "verdict"),
    [
        (50_050.0, 0.5, Verdict.SAME),
        (50_150.0, 0.5, Verdict.SLOWER),
        (49_850.0, 0.5, Verdict.FASTER),
        (50_100.0, 30.0, Verdict.UNDECIDED),
    ],
)
def test_one_count_a_side_tells_a_fifth_of_a_percent(
    session: Any, counts: Counts, other: float, apart: float, verdict: Verdict
) -> None:
    counts.instructions, counts.apart = {"18": other}, apart
    state = compare(session, asked("17", "18"))
    (finding,) = state.comparison.findings
    assert finding.verdict is verdict
    assert finding.ratio == pytest.approx(other / 50_000)
    assert state.comparison.spreads == pytest.approx((apart, apart))
    assert sorted(counts.asked) == ["17", "18"]
    said = as_text(comparison_text(asked("17", "18"), state))
    assert "from how well the counts repeat" in said
    assert "99.9 %" not in said
    assert ("counting again would not help" in said) == (verdict is Verdict.UNDECIDED)


def test_what_is_counted_already_is_not_counted_again_unless_asked_for(
    session: Any, counts: Counts
) -> None:
    first = compare(session, asked("17", "18"))
    assert compare(session, asked("17", "18", budget=0.0)).comparison == first.comparison
    compare(session, asked("18", "19"))
    assert sorted(counts.asked) == ["17", "18", "19"]
    compare(session, asked("17", "18"), fresh=True)
    assert len(counts.asked) == 5
    with pytest.raises(UsageError, match="too small to count 1 side"):
        compare(session, asked("17", "16", budget=1.0))


def test_counting_disturbs_nobody_who_takes_the_time(session: Any, counts: Counts) -> None:
    compare(session, asked("17", "18"))
    assert counts.held == [{"counting": True}]
    compare(session, asked("17", "18"))
    assert len(counts.held) == 1


def test_a_count_that_a_comparison_made_is_a_dot_like_any_other(
    session: Any, counts: Counts
) -> None:
    compare(session, asked("17", "18"))
    assert scheduled(session.records.table()).num_rows == 2


def test_what_cannot_be_counted_is_an_error_and_the_other_side_is_kept(
    session: Any, counts: Counts
) -> None:
    counts.failing = "18"
    with pytest.raises(MeasureError, match="counting twice"):
        compare(session, asked("17", "18"))
    assert session.records.table(["id"]).num_rows == 1


def test_a_ratio_to_nothing_is_refused(session: Any, counts: Counts) -> None:
    with pytest.raises(MeasureError, match="has no wal_bytes to compare"):
        compare(session, asked("17", "18", metric="wal_bytes"))


def test_a_sampler_counts_what_is_exact(session: Any, counts: Counts) -> None:
    one = asked("17", "18")
    sampler = Sampler(
        session=session, pgbench=one.pgbench, cell=COUNTED, metric=one.metric, seconds=1
    )
    assert sampler.sample(build("17"), context={"preset": "bisect"}, seed=3) == 50_000.0


def test_what_is_counted_has_one_client_and_small_data(session: Any) -> None:
    cells = cells_of(session, CompareScenario(), ["default"], CacheState.COLD)
    assert cells["default"].buffers is CacheState.COLD
    with pytest.raises(UsageError, match="a counted metric needs one client"):
        cells_of(session, CompareScenario(clients=4), ["default"], CacheState.WARM)
