"""Among many series most of which did nothing, few are named in vain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from landspeed.stats.multiple_testing import discovery_limit, holm

# none is ever said to be smaller than 1e-9, see SMALLEST_P
p_values = st.lists(st.floats(2e-9, 1), min_size=1, max_size=50)


def test_nothing_looked_at_is_nothing_found() -> None:
    assert discovery_limit([]) == 0.0
    assert discovery_limit([1.0, 1.0]) == 0.0


def test_one_series_is_judged_by_the_rate_itself() -> None:
    assert discovery_limit([0.05]) == 0.05
    assert discovery_limit([0.051]) == 0.0


@given(p_values)
def test_the_limit_is_that_of_the_paper(values: list[float]) -> None:
    """The largest p of rank k that is at most k q / (m (1 + 1/2 + … + 1/m))."""
    found, count = 0.0, len(values)
    harmonic = sum(1 / rank for rank in range(1, count + 1))
    for rank, p in enumerate(sorted(values), 1):
        if p <= rank * 0.05 / (count * harmonic):
            found = p
    assert discovery_limit(values, 0.05) == pytest.approx(found)


@given(p_values, st.data())
def test_a_smaller_p_value_never_makes_fewer_discoveries(
    values: list[float], data: st.DataObject
) -> None:
    which = data.draw(st.integers(0, len(values) - 1))
    smaller = [*values[:which], values[which] / 2, *values[which + 1 :]]

    def discoveries(some: list[float]) -> int:
        return sum(p <= discovery_limit(some) and discovery_limit(some) > 0 for p in some)

    assert discoveries(smaller) >= discoveries(values)


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_of_the_discoveries_one_in_twenty_at_most_is_false_however_series_depend(
    shared: float,
) -> None:
    """200 series of which 20 stepped; noise is their own or the machine's, half of it mirrored."""
    chance = np.random.default_rng(6)
    shares, found = [], 0
    for _ in range(400):
        common = np.sqrt(shared) * chance.standard_normal()
        z = common * np.where(np.arange(200) % 2, 1, -1)
        z = z + np.sqrt(1 - shared) * chance.standard_normal(200)
        z[:20] += 5
        p = 2 * stats.norm.sf(np.abs(z))
        limit = discovery_limit(p.tolist())
        named = (p <= limit) & (limit > 0)
        shares.append(named[20:].sum() / max(1, named.sum()))
        found += named[:20].sum()
    assert np.mean(shares) <= 0.05
    assert found / (400 * 20) > 0.8


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holms_correction_is_by_the_number_of_hypotheses_that_are_left(values: list[float]) -> None:
    """Holm's own wording: reject in turn while the next is at most α / (how many are left)."""
    corrected = holm(values)
    for alpha in (0.01, 0.05, 0.3):
        left, rejected = sorted(range(len(values)), key=lambda i: values[i]), set()
        while left and values[left[0]] * len(left) <= alpha:
            rejected.add(left.pop(0))
        assert rejected == {i for i, p in enumerate(corrected) if p <= alpha}
