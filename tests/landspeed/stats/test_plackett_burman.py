"""Screening designs: balanced, orthogonal, and clear of what two factors do together."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from base.errors import UsageError
from base.version import Version
from benchmarks.server.configuration import Configuration, difference
from landspeed.stats.plackett_burman import MANY, fold_over
from landspeed.study.ablation import Ablation, NameValue, SettingPattern
from tests.kits.servers.known_settings import RECORDED

EIGHTEEN = [Version.parse("18.1")]
OWN: tuple[NameValue, ...] = (
    ("wal_compression", "on"),
    ("jit", "off"),
    ("shared_buffers", "1GB"),
    ("huge_pages", "off"),
    ("max_wal_size", None),
)


def own(*words: str, number: int = len(OWN)) -> Ablation:
    """The Ablation of the first settings of OWN."""
    return Ablation.of(words or (SettingPattern.ABLATION,), OWN[:number])


@pytest.mark.parametrize("factors", range(1, 61))
def test_every_factor_is_on_in_half_of_the_rows_and_with_every_other_in_a_quarter(
    factors: int,
) -> None:
    design = fold_over(factors)
    assert set(np.unique(design)) == {-1, 1}
    assert (design.sum(axis=0) == 0).all()
    assert (design.T @ design == len(design) * np.eye(factors)).all()


@pytest.mark.parametrize("factors", range(2, 41))
def test_no_factor_is_mixed_with_what_two_factors_do_together(factors: int) -> None:
    design = fold_over(factors)
    for one, other in itertools.combinations(range(factors), 2):
        assert not (design.T @ (design[:, one] * design[:, other])).any()


@pytest.mark.parametrize("factors", range(1, 61))
def test_no_row_is_there_twice_and_the_ends_are_among_them(factors: int) -> None:
    design = fold_over(factors)
    assert len({tuple(row) for row in design}) == len(design)
    half = len(design) // 2
    assert (design[0] == 1).all()
    assert (design[half:] == -design[:half]).all()


@pytest.mark.parametrize("factors", range(2, 41))
def test_a_design_has_hardly_more_rows_than_one_at_a_time(factors: int) -> None:
    assert len(fold_over(factors)) <= 2 * factors + 6


def test_many_settings_are_screened_and_few_are_taken_one_at_a_time() -> None:
    few, many = own(number=MANY - 1), own(number=MANY)
    assert (few.is_screened, many.is_screened) == (False, True)
    assert few.profiles == few.one_at_a_time
    assert many.profiles == many.screen
    assert len(few.one_at_a_time) == 2 * (MANY - 1) + 2


def test_all_that_tuned_has_is_screened_between_default_and_tuned() -> None:
    ablation = Ablation.of((SettingPattern.ABLATION,), (), EIGHTEEN)
    assert set(ablation.names) == set(difference(EIGHTEEN))
    assert {"default", "tuned"} < set(ablation.profiles)
    assert len(set(ablation.profiles)) == len(ablation.design) == 24


def test_a_row_is_a_profile_with_what_is_on_in_it_and_nothing_else() -> None:
    known, memory = RECORDED["18.6"], 16 << 30
    default, tuned = (Configuration.named(n).settings(known, memory) for n in ("default", "tuned"))
    ablation = Ablation.of((SettingPattern.SCREEN,), (), EIGHTEEN)
    for name, row in zip(ablation.screen, ablation.design, strict=True):
        found = Configuration.named(name).settings(known, memory)
        for setting, sign in zip(ablation.names, row, strict=True):
            assert found.get(setting) == (tuned if sign > 0 else default).get(setting)


def test_settings_of_ones_own_are_added_to_default_with_their_values() -> None:
    settings = [
        Configuration.named(one).settings(RECORDED["18.6"], 16 << 30)
        for one in own(SettingPattern.ALL).profiles
    ]
    (found,) = settings
    assert found["wal_compression"] == "on"
    assert found["shared_buffers"] == "1GB"
    assert found["max_wal_size"] == "16GB"
    assert "work_mem" not in found


def test_the_same_settings_are_the_same_profiles_in_whatever_order_they_are_given() -> None:
    assert Ablation.of((SettingPattern.ABLATION,), OWN[::-1]) == own()


def test_a_star_is_every_setting_that_tuned_has() -> None:
    found = Ablation.of(
        ("default", SettingPattern.ADDED, SettingPattern.ALL, SettingPattern.WITHOUT), ()
    ).profiles
    assert (found[0], "tuned" in found) == ("default", True)
    assert "default-with-shared_buffers" in found
    assert "tuned-without-max_wal_size" in found
    assert len(found) == len(set(found)) == 2 * len(difference()) + 2


def test_a_setting_named_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="does not exist") as caught:
        _ = Ablation.of((SettingPattern.ABLATION,), [("jit", "on"), ("jit", "off")]).profiles
    assert caught.value.detail == "jit is named twice."


def test_profiles_whose_names_say_many_settings_have_a_short_one_each() -> None:
    ablation = Ablation.of((SettingPattern.ABLATION,), (), EIGHTEEN)
    assert ablation.labels.keys() == set(ablation.screen) - {"default", "tuned"}
    assert ablation.labels[ablation.screen[1]] == "screen-02"
    assert len(set(ablation.labels.values())) == 22
    few = own(number=2)
    assert few.labels == {few.profile(few.names): "with all settings"}


def test_profiles_without_a_star_ask_nothing_of_settings() -> None:
    plain = Ablation.of(("default", "tuned"), OWN)
    assert (plain.is_asked, plain.profiles) == (False, ("default", "tuned"))
