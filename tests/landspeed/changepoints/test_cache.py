"""A line that was read before is read on from where it was, and shows the very same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from base.paths import Paths
from landspeed.changepoints.cache import TraceCache
from landspeed.results.arrays import Floats
from landspeed.stats import changepoint_online
from landspeed.stats.changepoint_online import Scan, scan_points
from landspeed.stats.glr import Batch, scores

pytestmark = pytest.mark.slow


def walk(seed: int, length: int = 120) -> Floats:
    """A noisy line with two steps."""
    dice = np.random.default_rng(seed)
    levels = np.where(np.arange(length) < 40, 1.0, np.where(np.arange(length) < 75, 1.1, 1.02))
    return np.asarray(0.1 * levels * dice.lognormal(0, 0.01, length))


def shown(scans: list[Scan]) -> list[list[tuple[float, ...]]]:
    return [
        [(j.at, j.seen, j.before, j.after, j.low, j.high, j.p_value or 0.0) for j in scan.jumps]
        for scan in scans
    ]


LINES = [walk(1), walk(2, 90), walk(3)[:60], np.full(50, 0.1), walk(4)[:12]]


@pytest.mark.parametrize("more", [1, 3, 40])
def test_a_series_that_grew_gives_the_same_scan_as_when_read_whole(more: int) -> None:
    earlier = scan_points([line[:-more] for line in LINES if len(line) > more])
    traces = [scan.trace for scan in earlier]
    again = scan_points([line for line in LINES if len(line) > more], traces=traces)
    whole = scan_points([line for line in LINES if len(line) > more])
    assert any(scan.jumps for scan in whole)
    for left, right in zip(shown(again), shown(whole), strict=True):
        assert left == [pytest.approx(one, rel=1e-9) for one in right]


@pytest.mark.parametrize("at", [0, 20, 39, 42, 80, 118])
def test_a_commit_measured_again_is_read_again_with_all_later_ones(at: int) -> None:
    before = scan_points([walk(1)])
    line = walk(1)
    line[at] *= 1.03
    again = scan_points([line], traces=[before[0].trace])
    assert shown(again)[0] == [
        pytest.approx(one, rel=1e-9) for one in shown(scan_points([line]))[0]
    ]


def test_an_inserted_commit_is_read_with_all_later_ones() -> None:
    whole = walk(1)
    before = scan_points([np.delete(whole, 60)])
    again = scan_points([whole], traces=[before[0].trace])
    assert shown(again)[0] == [pytest.approx(o, rel=1e-9) for o in shown(scan_points([whole]))[0]]


def test_only_new_scores_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = [scan.trace for scan in scan_points([line[:-1] for line in LINES])]
    reckoned: list[int] = []

    def counting(batch: Batch, known: list[Floats]) -> Floats:
        lengths = zip(batch.lengths, known, strict=True)
        reckoned.append(sum(length - len(own) for length, own in lengths))
        return scores(batch, known)

    monkeypatch.setattr(changepoint_online, "scores", counting)
    scan_points(LINES, traces=traces)
    assert 0 < sum(reckoned) <= 3 * len(LINES), "each level of each line is asked for one more"
    reckoned.clear()
    traces = [scan.trace for scan in scan_points(LINES)]
    assert sum(reckoned) > 300
    reckoned.clear()
    again = scan_points(LINES, traces=traces)
    assert sum(reckoned) == 0
    assert [scan.trace for scan in again] == traces


def test_traces_are_cached_and_may_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traces = TraceCache.of(Paths(cache=tmp_path / "cache", project=tmp_path))
    assert traces.load() == {}
    memory = {str(i): scan.trace for i, scan in enumerate(scan_points(LINES)) if scan.trace}
    traces.save(memory)
    loaded = traces.load()
    assert loaded.keys() == memory.keys()
    for name, one in memory.items():
        assert np.array_equal(one.logs, loaded[name].logs)
        assert one.starts == loaded[name].starts
        for left, right in zip(one.scores, loaded[name].scores, strict=True):
            assert np.array_equal(left, right)
    other = TraceCache(path=traces.path, code="of another version")
    assert other.load() == {}
    for whole in (traces.path.read_bytes()[:1000], b""):
        traces.path.write_bytes(whole)
        assert traces.load() == {}
