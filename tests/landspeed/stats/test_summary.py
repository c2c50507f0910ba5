"""Plain statistics of one sample."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from landspeed.stats.summary import Summary


def test_a_summary_is_plain_statistics() -> None:
    summary = Summary.of([1.0, None, 2.0, 6.0])
    assert summary is not None
    assert (summary.runs, summary.mean, summary.median) == (3, 3.0, 2.0)
    assert (summary.minimum, summary.maximum) == (1.0, 6.0)
    assert summary.stddev == pytest.approx(math.sqrt(7))


def test_a_single_value_has_neither_deviation_nor_interval() -> None:
    summary = Summary.of([1.0])
    assert summary is not None
    assert summary.stddev is summary.interval is None
    assert Summary.of([None]) is None


@given(st.lists(st.floats(1e-3, 1e6), min_size=2, max_size=30))
def test_the_interval_is_students_on_a_logarithmic_scale(values: list[float]) -> None:
    summary = Summary.of(values)
    assert summary is not None
    assert summary.interval is not None
    if np.std(values) > 1e-6 * np.mean(values):
        share = stats.sem(values) / np.mean(values)
        wanted = stats.t.interval(0.95, len(values) - 1, np.log(np.mean(values)), share)
        assert summary.interval == pytest.approx(np.exp(wanted), rel=1e-6)
        assert 0 < summary.interval[0] <= summary.mean <= summary.interval[1]
