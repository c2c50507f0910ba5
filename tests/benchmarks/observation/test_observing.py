"""What looking takes of TPS is known by looking much more often, and divided rightly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.records.record import EvidenceFacts, Record
from landspeed.compare.verdict import Finding, Verdict
from landspeed.stats.confidence_sequence import Interval
from perf.observing import Looking, taken
from tests.kits.made_up.synthetic import Point, record

FOUND = Finding(
    verdict=Verdict.SLOWER,
    ratio=0.9,
    interval=None,
    shown_interval=Interval(low=0.8, high=1.02),
    blocks=14,
    needed=None,
)


def test_a_look_is_its_share_of_many_and_dearer_where_it_comes_seldom() -> None:
    often, always = Looking(rate=200.0, cost_ms=0.5), Looking(rate=1.0, cost_ms=1.0)
    assert taken(FOUND, often, often) == pytest.approx((0.05, -0.01, 0.1))
    assert taken(FOUND, often, always) == pytest.approx((0.1, -0.02, 0.2))


def test_a_look_costs_what_all_of_them_cost_together() -> None:
    one = Record.from_json(record(Point(seconds=3)))
    records = [
        one.model_copy(
            update={"evidence": EvidenceFacts(looks=n, cost_ms={"ours": n, "server": ms})}
        )
        for n, ms in ((590, 100.0), (610, 140.0))
    ]
    assert Looking.of(records) == Looking(rate=200.0, cost_ms=1.2)


def test_without_an_interval_it_is_said_that_there_are_too_few_blocks() -> None:
    with pytest.raises(SystemExit, match="too few blocks"):
        taken(
            replace(FOUND, shown_interval=None),
            Looking(rate=1, cost_ms=1),
            Looking(rate=1, cost_ms=1),
        )
