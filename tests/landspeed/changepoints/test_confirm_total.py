"""Confirming and bisecting within a total time: what it has no room for is left for the next."""

from __future__ import annotations

import json
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from base.build import Origin
from landspeed.changepoints import confirm
from landspeed.changepoints.changepoint import ChangepointStatus, Confirmation
from landspeed.changepoints.confirm import ConfirmRun
from landspeed.cli import changes
from landspeed.farm import bisect_confirmed as bisecting
from tests.kits.made_up.compare_kit import Bench, bench, session
from tests.landspeed.changepoints.test_confirm import changepoint, inquiry

__all__ = ["bench", "inquiry", "session"]

NOW = 100.0


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (confirm, bisecting):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: NOW))


@pytest.mark.parametrize("metric", ["latency", "instructions"])
def test_a_changepoint_stays_nominated_where_no_block_fits_into_the_rest_of_the_time(
    inquiry: ConfirmRun, bench: Bench, metric: str
) -> None:
    inquiry.end = NOW + 1.0
    (found,) = inquiry.of([replace(changepoint(), metric=metric)])
    assert found.status is ChangepointStatus.NOMINATED
    assert found.reason == "the total time is spent"
    assert inquiry.failure(1) is None
    assert bench.asked == []


def test_the_blocks_of_an_earlier_session_do_not_count_against_the_total(
    inquiry: ConfirmRun, bench: Bench
) -> None:
    bench.noise, inquiry.end = 0.3, NOW + 60
    for runs in (20, 40):
        (found,) = inquiry.of([changepoint()])
        assert found.status is ChangepointStatus.UNDECIDED
        assert len(bench.asked) == runs


@dataclass
class Request:
    """Stands for BisectRequest, of which an earlier session spent 300 s."""

    sampler: Any
    commits: Any
    variant: Any
    size: float
    budget: float

    def journal(self, *, fresh: bool) -> Any:
        assert not fresh
        return nullcontext(SimpleNamespace(spent=300.0))


def test_a_bisection_that_the_total_ends_is_continued_the_next_time(
    inquiry: ConfirmRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets = []

    def bisect(request: Request) -> Any:
        budgets.append(request.budget)
        return SimpleNamespace(conclusion=SimpleNamespace(decision=None))

    monkeypatch.setattr(bisecting, "BisectRequest", Request)
    monkeypatch.setattr(bisecting, "bisect", bisect)
    for name in ("commit_range", "sampler_of"):
        monkeypatch.setattr(bisecting, name, lambda *_: None)
    inquiry.session.builder.sources = None  # type: ignore[misc]
    before, after = (
        Origin(release=None, commit=one * 40, tree=one, date="2025-01-01") for one in "ab"
    )
    one = replace(changepoint(), before=before, after=after)
    confirmed = Confirmation(changepoint=one, status=ChangepointStatus.CONFIRMED, time="t")
    inquiry.end = NOW + 60
    assert list(bisecting.bisect_confirmed(inquiry, [confirmed])) == []
    assert budgets == [360.0]
    assert inquiry.errors == []
    assert inquiry.session.records.bisections.read(dict) == []


@pytest.mark.parametrize(("words", "least"), [([], inf), (["--total", "0"], 0.0)])
def test_a_total_of_zero_is_no_time_at_all(
    words: list[str], least: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []
    monkeypatch.setenv("LANDSPEED_PROJECT", str(tmp_path))
    monkeypatch.setattr(changes, "_confirm", lambda run, *_, **__: asked.append(run.end))
    path = tmp_path / "changes.json"
    path.write_text(json.dumps([changepoint().facts()]))
    result = CliRunner().invoke(changes.changes_, ["--confirm", str(path), *words])
    assert result.exception is None
    (end,) = asked
    assert least <= end <= least + time.monotonic()
