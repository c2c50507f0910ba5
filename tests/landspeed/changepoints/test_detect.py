"""From records to Steps: what is compared with what, and how it is told."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from base.build import Origin
from benchmarks.records.identical_builds import IdenticalBuild
from benchmarks.workloads.metrics import METRICS, metric_named
from landspeed.changepoints.changepoint import ChangepointStatus
from landspeed.changepoints.detect import detect
from landspeed.results.points import Dots
from landspeed.results.series import series_of
from landspeed.stats.changepoint_online import SHORTEST, NoiseModel
from tests.kits.made_up.synthetic import Point, counted_record, record
from tests.kits.made_up.synthetic_series import (
    DAYS,
    Records,
    commit,
    commits,
    level,
    line,
    place_of,
    scanned,
    table_of,
)

LATENCY, TPS = metric_named("latency"), metric_named("tps")
EXACT = metric_named("instructions")


# --- what is found -------------------------------------------------------------------------


def test_a_changepoint_between_releases_has_its_cell_and_size() -> None:
    found = scanned(line(level(0.1, 0.11)), line(level(0.2), clients=4))
    (changepoint,) = found.changepoints
    assert (changepoint.before.release, changepoint.after.release) == ("17.5", "17.6")
    assert changepoint.seen.release == "17.6"
    assert (changepoint.machine, changepoint.variant.name, changepoint.metric) == (
        "elephant",
        "bs8",
        "latency",
    )
    assert changepoint.scenario == "read-only/prepared/small-5/c1/default"
    assert changepoint.interval[0] < 1.1 < changepoint.interval[1]
    assert changepoint.basis is NoiseModel.SAMPLES
    assert changepoint.worse
    assert changepoint.status == ChangepointStatus.NOMINATED
    assert (found.judged, found.short) == (2, 0)


def test_an_improvement_is_a_changepoint_too() -> None:
    (changepoint,) = scanned(line(level(0.1, 0.09))).changepoints
    assert changepoint.ratio < 1
    assert not changepoint.worse


def test_tps_is_better_when_higher_and_scanned_only_on_request() -> None:
    (changepoint,) = scanned(line(level(0.1, 0.09)), metrics=[TPS]).changepoints
    assert changepoint.metric == "tps"
    assert changepoint.ratio > 1
    assert not changepoint.worse


def test_commits_are_judged_in_the_order_of_history_by_their_own_scatter() -> None:
    found = scanned(commits([0.1] * 40 + [0.12] * 12))
    (changepoint,) = found.changepoints
    assert (changepoint.before.commit, changepoint.after.commit) == (commit(39), commit(40))
    assert changepoint.line == "master"
    assert changepoint.basis is NoiseModel.POINTS
    assert changepoint.p_value is not None
    assert changepoint.p_value < 0.01


def test_pure_noise_has_no_changepoint() -> None:
    found = scanned(commits([0.1] * 60), *(line(level(0.1), clients=2**i) for i in range(6)))
    assert found.nominated() == []
    assert (found.judged, found.short) == (7, 0)


def test_few_points_of_few_runs_say_nothing() -> None:
    found = scanned(line(level(0.1, 0.2), runs=2), commits([0.1] * 5 + [0.2] * 5))
    assert found.changepoints == ()
    assert found.short == 2


def test_many_releases_with_single_runs_are_judged_by_their_points() -> None:
    assert len(DAYS) < SHORTEST
    found = scanned(line(level(0.1, 0.2), runs=1))
    assert (found.judged, found.short) == (0, 1)


# --- what is not compared ------------------------------------------------------------------


@pytest.mark.parametrize("apart", [{"epoch": "e2"}, {"machine": "mammoth"}, {"profile": "tuned"}])
def test_nothing_is_compared_across_machines_epochs_or_cells(apart: dict[str, str]) -> None:
    old = dict.fromkeys(list(DAYS)[:6], 0.1)
    new = dict.fromkeys(list(DAYS)[6:], 0.2)
    found = scanned(line(old), line(new, **apart))
    assert found.changepoints == ()
    assert found.judged == 2


def test_nothing_is_compared_across_toolchains() -> None:
    records = list(line(level(0.1, 0.2)))
    for one in records:
        if one["build"]["origin"]["release"] in list(DAYS)[6:]:
            one["build"]["toolchain"]["cc"] = "gcc 14"
    found = scanned(records)
    assert found.changepoints == ()
    assert found.judged == 2


def test_each_branch_is_a_line_of_its_own() -> None:
    found = scanned(commits([0.1] * 30), commits([0.2] * 30, first=1000))
    assert found.changepoints == ()
    assert found.judged == 2


def test_an_origin_without_a_position_is_in_no_series() -> None:
    strange = [record(Point(release="9.0.23"), number=i) for i in range(4)]
    assert scanned(strange).judged == 0


def test_identical_builds_are_one_point_and_the_changepoint_is_after_the_last() -> None:
    """Commits 38 and 39 installed the very files of 37: their numbers are not new evidence."""
    table = table_of(commits([0.1] * 38), commits([0.12] * 12, first=40))
    digest = {r["commit"]: r["digest"] for r in table.select(["commit", "digest"]).to_pylist()}
    twins = [
        IdenticalBuild(
            digest=digest[commit(37)],
            origin=Origin(release=None, commit=commit(n), tree="", date="2025-11-13"),
        )
        for n in (38, 39)
    ]
    (series,) = series_of(Dots(table, twins), [LATENCY], place_of)
    assert len(series) == 50
    (changepoint,) = detect(Dots(table, twins), place_of).changepoints
    assert (changepoint.before.commit, changepoint.after.commit) == (commit(39), commit(40))


# --- exact metrics -------------------------------------------------------------------------


def exact(numbers: Mapping[str, float], machine: str = "elephant") -> Records:
    """One record of each release, the metric exactly as said."""
    for name, number in numbers.items():
        made = record(Point(release=name, date=DAYS[name], machine=machine))
        cell = {**made["cell"], "buffers": "warm"}
        counted = counted_record(made["build"], cell, made["machine"], made["epoch"])
        counted["sample"]["instructions"] = number
        yield counted


def test_an_exact_metric_has_a_changepoint_from_two_in_a_thousand_on() -> None:
    numbers = {"17.0": 50000.0, "17.1": 50099.0, "17.2": 50199.2, "17.3": 50199.3}
    found = scanned(exact(numbers), metrics=[EXACT])
    (changepoint,) = found.changepoints
    assert (changepoint.before.release, changepoint.after.release) == ("17.1", "17.2")
    assert changepoint.p_value is None
    assert changepoint.basis is NoiseModel.EXACT
    assert changepoint.status == ChangepointStatus.NOMINATED


def test_an_exact_metric_is_compared_over_machines_of_one_toolchain() -> None:
    here, there = {"17.0": 50000.0, "17.1": 50000.0}, {"17.2": 51000.0}
    (changepoint,) = scanned(exact(here), exact(there, "mammoth"), metrics=[EXACT]).changepoints
    assert changepoint.machine == "mammoth"
    assert changepoint.ratio == pytest.approx(1.02)
    other = list(exact(there, "mammoth"))
    other[0]["build"]["toolchain"]["libc"] = "glibc 2.41"
    assert scanned(exact(here), other, metrics=[EXACT]).changepoints == ()
    method = list(exact(there, "mammoth"))
    method[0]["epoch"] |= {"identifier": "e2"}
    assert scanned(exact(here), method, metrics=[EXACT]).changepoints == ()
    elsewhere = list(exact(there, "mammoth"))
    elsewhere[0]["epoch"] |= {"identifier": "e2", "libc": "glibc 2.41"}
    assert scanned(exact(here), elsewhere, metrics=[EXACT]).changepoints == ()


# --- how it is told ------------------------------------------------------------------------


def slight_step() -> list[dict[str, Any]]:
    """Records whose one changepoint has a p-value between 0.0004 and 0.008."""
    for thousandths in range(20, 60):
        records = list(line(level(0.1, 0.1 + thousandths / 10_000), runs=3))
        found = scanned(records).changepoints
        if len(found) == 1 and found[0].p_value and 0.0004 < found[0].p_value < 0.008:
            return records
    raise AssertionError("no such changepoint")


@pytest.mark.slow
def test_a_changepoint_that_noise_explains_among_many_series_is_doubtful() -> None:
    """A changepoint that one series is believed for, sixty are not."""
    slight = slight_step()
    (changepoint,) = scanned(slight).changepoints
    assert changepoint.status == ChangepointStatus.NOMINATED
    others = (line(level(0.1), runs=3, clients=2 + i) for i in range(60))
    found = scanned(slight, *others)
    assert {one.status for one in found.changepoints} == {ChangepointStatus.DOUBTFUL}
    assert found.nominated() == []


def test_the_status_is_that_of_fresh_samples() -> None:
    (changepoint,) = scanned(line(level(0.1, 0.11))).changepoints
    refuted = {changepoint.key: ChangepointStatus.REFUTED}
    (changepoint,) = scanned(line(level(0.1, 0.11)), statuses=refuted).changepoints
    assert changepoint.status is ChangepointStatus.REFUTED


def test_facts_are_json_and_name_both_sides_so_that_they_can_be_measured_again() -> None:
    (changepoint,) = scanned(line(level(0.1, 0.11))).changepoints
    facts = json.loads(json.dumps(changepoint.facts()))
    assert Origin(**facts["before"]) == changepoint.before
    assert Origin(**facts["after"]) == changepoint.after
    assert facts["params"] == {
        "protocol": "prepared",
        "scale": "small-5",
        "clients": 1,
        "profile": "default",
    }
    assert facts["variant"] == {"blocksize": 8, "wal_blocksize": 8}
    assert facts["interval"] == list(changepoint.interval)
    assert {"machine", "mode", "metric", "ratio", "p_value", "basis", "status"} <= facts.keys()


def test_every_metric_is_flagged_or_better_when_higher() -> None:
    assert [metric.name for metric in METRICS if metric.higher_is_better] == ["tps"]


def test_a_changepoint_is_immutable() -> None:
    (changepoint,) = scanned(line(level(0.1, 0.11))).changepoints
    with pytest.raises(dataclasses.FrozenInstanceError):
        changepoint.ratio = 1.0  # type: ignore[misc]
    assert np.isfinite(changepoint.ratio)
