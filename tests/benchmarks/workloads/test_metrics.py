"""The metrics that can be drawn."""

from __future__ import annotations

import pytest

from benchmarks.workloads.metrics import METRICS, CacheState, Metric


@pytest.mark.parametrize(
    ("buffers", "counters"), [(CacheState.WARM, ()), (None, ("instructions",))]
)
def test_a_metric_has_counters_exactly_if_it_is_counted(buffers, counters):
    assert {one.exact for one in METRICS} == {True, False}
    with pytest.raises(ValueError, match="new: a counted metric has counters"):
        Metric(name="new", column="new", unit="", meaning="", buffers=buffers, counters=counters)
