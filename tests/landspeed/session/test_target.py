"""Targets: REF[:VARIANT] as a person writes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.build import Variant
from base.errors import UsageError, VariantError
from landspeed.session.target import Target, parse_targets
from tests.kits.builds.variant_kit import variants

targets = st.builds(
    Target,
    ref=st.sampled_from(["18", "17.11", "REL_17_11", "master~3", "c0ffee"]),
    variant=variants,
)


@given(targets, variants)
def test_what_a_target_prints_it_parses_whatever_the_default(target, default):
    assert Target.parse(str(target), default) == target


@given(variants)
def test_a_ref_alone_is_in_the_default_variant(default):
    assert Target.parse("master~3", default) == Target(ref="master~3", variant=default)


@pytest.mark.parametrize("word", ["", ":", ":bs4", "18:"])
def test_half_a_target_is_refused_with_examples(word):
    with pytest.raises(UsageError) as caught:
        Target.parse(word, Variant())
    assert caught.value.message == f'"{word}" is not a target'
    assert "18:bs4" in caught.value.hint


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("18:bs3", "invalid block size: 3 kB"),
        ("18:4", '"4" is not a build variant'),
        ("18:bs4:bs8", '"bs4:bs8" is not a build variant'),
    ],
)
def test_a_variant_that_cannot_be_is_refused(word, message):
    with pytest.raises(VariantError, match=message):
        Target.parse(word, Variant())


@given(st.lists(targets))
def test_targets_keep_their_order_and_come_once(wanted):
    parsed = parse_targets([str(target) for target in wanted], Variant())
    assert parsed == sorted(set(wanted), key=wanted.index)


def test_a_default_that_is_also_spelled_out_is_one_target():
    assert len(parse_targets(["18", "18:bs8", "18:bs4"], Variant())) == 2
