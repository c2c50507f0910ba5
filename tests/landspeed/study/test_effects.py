"""What is planted in made-up runs is found, as often as is said; what is not there is not."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from landspeed.study.ablation import Ablation, SettingPattern
from landspeed.study.effects import SURE, Attribution, ScreeningResult, StudyContext, screen
from landspeed.study.samples import StudyRow
from landspeed.study.tables import ranking_table, ranking_text

pytestmark = pytest.mark.slow

ROUNDS = 3
TEN = tuple(f"s{number}" for number in range(10))
PLANTED = {"s0": 0.2, "s3": -0.1, "s7": 0.05}
"""Log ratios; the other settings do nothing."""


def ablation(names: tuple[str, ...] = TEN, *words: str) -> Ablation:
    return Ablation.of(words or (SettingPattern.SCREEN,), [(name, "1") for name in names])


def runs(
    asked: Ablation,
    effects: Mapping[str, float],
    noise: np.ndarray | None = None,
    *,
    pairs: Mapping[tuple[str, str], float] | None = None,
    rounds: int = ROUNDS,
    drift: float = 0.3,
    axes: Mapping[str, str] | None = None,
) -> list[StudyRow]:
    """A Run of each profile of *asked* in each round; *noise* is of profile and round."""
    profiles = asked.profiles
    noise = np.zeros((len(profiles), rounds)) if noise is None else noise
    found = []
    for number, round_ in itertools.product(range(len(profiles)), range(rounds)):
        # as the name says it: what is on is spelled in it
        on = {name for name in asked.names if f"-with-{name}=" in f"{profiles[number]}="}
        level = sum(value for name, value in effects.items() if name in on)
        for pair, value in (pairs or {}).items():
            # what is on together, with its mean over all taken out
            level += value * (1 if len(on & set(pair)) != 1 else -1)
        logarithm = 6 + level + drift * round_ + float(noise[number, round_])
        scalars = {
            "id": f"{number}-{round_}",
            "time": f"2026-01-01T00:{round_:02}:{number:03}",
            "preset": "tuned-quick",
            "round": round_,
            "tps": math.exp(logarithm),
        }
        place = {"profile": profiles[number], "settings": "", "clients": 4, **(axes or {})}
        found.append(StudyRow(part="ablation", axes=place, scalars=scalars))
    return found


def screened(rows: list[StudyRow], asked: Ablation | None = None) -> ScreeningResult:
    found = screen(rows, "tps", asked or ablation())
    assert found is not None
    return found


def noises(kind: str, simulations: int, seed: int) -> np.ndarray:
    """Noise of so many experiments on TEN, standard deviation 0.05: profiles × rounds."""
    dice = np.random.default_rng(seed)
    shape = (simulations, 24, ROUNDS)
    if kind == "heavy-tailed":
        return np.asarray(0.05 * dice.standard_t(4, shape) / math.sqrt(2))
    even = dice.normal(0, 0.05, shape)
    if kind == "of some more than of others":
        # runs of half of the profiles vary three times as much
        even *= np.where(np.arange(24) % 2, 3, 1)[:, np.newaxis] / math.sqrt(5)
    return np.asarray(even)


KINDS = ("normal", "heavy-tailed", "of some more than of others")
SIMULATIONS = 200


def seldom(number: int, *, share: float = 0.05) -> tuple[float, float]:
    """What *share* of *number* is below, and above, once in 1,000 tests."""
    low, high = stats.binom.ppf([0.001, 0.999], number, share)
    return float(low), float(high)


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_what_was_planted_as_often_as_they_say(kind: str) -> None:
    missed = 0
    for noise in noises(kind, SIMULATIONS, seed=1):
        for one in screened(runs(ablation(), PLANTED, noise)).effects:
            truth = math.exp(PLANTED.get(one.setting, 0.0))
            assert one.ratio.low is not None
            assert one.ratio.high is not None
            missed += not one.ratio.low <= truth <= one.ratio.high
    least, most = seldom(SIMULATIONS * len(TEN))
    assert least <= missed <= most


@pytest.mark.parametrize("kind", KINDS)
def test_settings_that_do_nothing_are_said_to_do_something_no_oftener_than_stated(
    kind: str,
) -> None:
    wrong = 0
    for noise in noises(kind, SIMULATIONS, seed=2):
        wrong += any(one.is_sure for one in screened(runs(ablation(), {}, noise)).effects)
    assert SURE == 0.05
    assert wrong <= seldom(SIMULATIONS)[1]


def test_among_settings_that_do_something_the_others_are_not_declared_either() -> None:
    wrong, found = 0, 0
    for noise in noises("normal", SIMULATIONS, seed=3):
        sure = {
            one.setting for one in screened(runs(ablation(), PLANTED, noise)).effects if one.is_sure
        }
        wrong += bool(sure - PLANTED.keys())
        found += len(sure & PLANTED.keys())
    assert wrong <= seldom(SIMULATIONS)[1]
    # the least, 5 %, is four standard errors
    assert found > 0.95 * SIMULATIONS * len(PLANTED)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.data())
def test_what_two_settings_do_together_is_in_no_effect(number: int, data: st.DataObject) -> None:
    names = tuple(f"s{one:02}" for one in range(number))
    pair = tuple(data.draw(st.permutations(names))[:2])
    planted = {name: data.draw(st.floats(-0.5, 0.5)) for name in names}
    asked = ablation(names)
    rows = runs(asked, planted, pairs={(pair[0], pair[1]): 0.7}, rounds=2)
    for one in screened(rows, asked).effects:
        assert math.log(one.ratio.value) == pytest.approx(planted[one.setting], abs=1e-9)


def test_what_settings_do_together_widens_no_interval_and_is_told() -> None:
    noise = noises("normal", 1, seed=4)[0]
    alone = screened(runs(ablation(), PLANTED, noise))
    paired = screened(runs(ablation(), PLANTED, noise, pairs={("s0", "s1"): 0.3}))
    for one, other in zip(alone.effects, paired.effects, strict=True):
        assert one.ratio.value == pytest.approx(other.ratio.value)
        assert one.ratio.low == pytest.approx(other.ratio.low)
    assert alone.together is not None
    assert paired.together is not None
    assert alone.together > SURE > 1e-6 > paired.together
    assert (paired.freedom, paired.beyond) == (23 * 2, 23 - 10)


def test_company_is_told_of_settings_that_only_add_up_no_oftener_than_stated() -> None:
    told = 0
    for noise in noises("normal", SIMULATIONS, seed=5):
        together = screened(runs(ablation(), PLANTED, noise)).together
        told += together is not None and together < SURE
    least, most = seldom(SIMULATIONS)
    assert least <= told <= most


@pytest.mark.slow
def test_a_screen_is_as_sure_of_each_effect_as_if_all_runs_were_of_it() -> None:
    """Its standard error, against that of one at a time with the same profiles' repeats."""
    alone = ablation(
        TEN, SettingPattern.ADDED, SettingPattern.WITHOUT, SettingPattern.ALL, "default"
    )
    dice = np.random.default_rng(6)
    spread: dict[str, list[float]] = {"screen": [], "one at a time": []}
    for _ in range(200):
        noise = dice.normal(0, 0.05, (24, ROUNDS))
        first = screened(runs(ablation(), {}, noise)).effects[0]
        spread["screen"].append(math.log(first.ratio.value))
        ranking = Attribution.of(runs(alone, {}, noise[:22]), "tps", alone)
        both = [
            ranking.effect("s0", context) for context in (StudyContext.ALONE, StudyContext.LAST)
        ]
        spread["one at a time"].append(sum(math.log(one.ratio.value) for one in both if one) / 2)
    ratio = np.var(spread["one at a time"]) / np.var(spread["screen"])
    # 24 / 4; an F of 199 and 199 degrees is within a factor of 1.6 but once in 1,000
    assert 6 / 1.6 < ratio < 6 * 1.6


def test_rounds_that_drift_are_no_noise() -> None:
    noise = noises("normal", 1, seed=7)[0]
    calm, wild = (screened(runs(ablation(), PLANTED, noise, drift=drift)) for drift in (0.0, 5.0))
    for one, other in zip(calm.effects, wild.effects, strict=True):
        assert (one.ratio.low, one.ratio.high) == pytest.approx((other.ratio.low, other.ratio.high))


def test_runs_of_several_modes_are_compared_within_each() -> None:
    noise = noises("normal", 2, seed=8)
    one, two = (
        runs(ablation(), PLANTED, n, axes={"mode": m}) for n, m in zip(noise, "ab", strict=True)
    )
    raised = [
        StudyRow(part=r.part, axes=r.axes, scalars={**r.scalars, "tps": 50 * r.scalars["tps"]})
        for r in two
    ]
    both, plain = screened(one + two), screened(one + raised)
    assert plain.effects[0].ratio.value == pytest.approx(both.effects[0].ratio.value)
    assert plain.effects[0].ratio.low == pytest.approx(both.effects[0].ratio.low)
    assert plain.freedom == 2 * 46


def test_what_was_measured_at_another_time_is_not_taken_for_the_same_round() -> None:
    """A day later everything is half as fast; the one profile of before says nothing of it."""
    noise = noises("normal", 1, seed=11)[0]
    rows = runs(ablation(), PLANTED, noise)
    later = [
        StudyRow(
            part=row.part,
            axes=row.axes,
            scalars={
                **row.scalars,
                "time": row.scalars["time"].replace("01T", "02T"),
                "tps": row.scalars["tps"] / 2,
            },
        )
        if row.axes["profile"] != "default"
        else row
        for row in rows
    ]
    for one, other in zip(screened(rows).effects, screened(later).effects, strict=True):
        assert other.ratio.value == pytest.approx(one.ratio.value, rel=0.05)


def test_one_round_has_no_intervals_and_says_so() -> None:
    found = screened(runs(ablation(), PLANTED, rounds=1))
    assert {(one.ratio.low, one.p, one.is_sure) for one in found.effects} == {(None, None, False)}
    told = " ".join(
        ranking_text(
            Attribution.of(runs(ablation(), PLANTED, rounds=1), "tps", ablation()), ablation()
        )
    )
    assert "A single round does not show the noise" in told


def test_profiles_that_were_not_measured_are_counted_and_said_and_too_few_tell_nothing() -> None:
    rows = runs(ablation(), PLANTED, noises("normal", 1, seed=9)[0])
    gone = ablation().screen[5]
    less = [row for row in rows if row.axes["profile"] != gone]
    assert screened(less).missing == 1
    told = " ".join(ranking_text(Attribution.of(less, "tps", ablation()), ablation()))
    assert "1 of its configurations have no run" in told
    few = [row for row in rows if row.axes["profile"] in ablation().screen[:6]]
    assert screen(few, "tps", ablation()) is None
    assert screen([], "tps", ablation()) is None
    told = " ".join(ranking_text(Attribution.of(few, "tps", ablation()), ablation()))
    assert told.startswith("Too few of the 24 configurations")


def test_a_ranking_has_what_is_averaged_first_and_one_at_a_time_beside_it() -> None:
    asked = ablation(TEN, SettingPattern.SCREEN, SettingPattern.ADDED, SettingPattern.WITHOUT)
    noise = np.random.default_rng(10).normal(0, 0.01, (len(asked.profiles), ROUNDS))
    ranking = Attribution.of(runs(asked, PLANTED, noise), "tps", asked)
    assert ranking.settings[:3] == ("s0", "s3", "s7")
    assert ranking.contexts == tuple(StudyContext)
    assert ranking.settings_to_confirm == ("s0", "s3", "s7")
    for setting, context in itertools.product(TEN, StudyContext):
        one = ranking.effect(setting, context)
        assert one is not None
        assert math.log(one.ratio.value) == pytest.approx(PLANTED.get(setting, 0), abs=0.03)
    assert ranking.all_of_them is not None
    assert math.log(ranking.all_of_them.value) == pytest.approx(0.15, abs=0.03)
    first = ranking_table(ranking).splitlines()[2]
    assert first.startswith("| s0 | +2")
    assert first.endswith("| <0.001 |")
