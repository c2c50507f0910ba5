"""Student's t without scipy.stats: the same numbers, and no verb pays for importing it."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from landspeed.stats.students_t import f_tail, t_quantile, t_tail, welch


@pytest.mark.parametrize("freedom", [1, 2, 7.3, 198, 1e6])
@pytest.mark.parametrize("probability", [1e-9, 0.025, 0.5, 0.975])
def test_quantiles_and_tails_are_those_of_scipy(freedom, probability):
    value = float(stats.t.ppf(probability, freedom))
    assert t_quantile(probability, freedom) == pytest.approx(value)
    assert t_tail(value, freedom) == pytest.approx(float(stats.t.sf(value, freedom)))


def test_welchs_test_is_that_of_scipy():
    dice = np.random.default_rng(1)
    for first, second in ((2, 2), (5, 3), (30, 8)):
        a, b = dice.normal(1, 0.1, first), dice.normal(1.1, 0.3, second)
        expected = stats.ttest_ind(a, b, equal_var=False).pvalue
        assert welch(list(a), list(b)) == pytest.approx(expected)


def test_values_that_never_vary_differ_for_sure_or_cannot_be_told_apart():
    assert not welch([1, 1], [2, 2]) > 0
    assert math.isnan(welch([1, 1], [1, 1]))


@pytest.mark.parametrize(("first", "second"), [(1, 4), (13, 46), (30, 2)])
def test_the_tail_of_f_is_that_of_scipy(first: int, second: int) -> None:
    for value in (0.0, 0.3, 1.0, 4.7):
        assert f_tail(value, first, second) == pytest.approx(stats.f.sf(value, first, second))


@pytest.mark.slow
def test_the_command_line_does_without_scipys_statistics():
    code = "import sys; from tests.kits.verbs import every_verb; every_verb()"
    code += "; sys.exit('scipy.stats' in sys.modules)"
    checkout = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=checkout, check=False)
    assert done.returncode == 0
