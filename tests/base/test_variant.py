"""Variants: their names, and the sizes that PostgreSQL has."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.build import Build, Compiler, Variant
from base.errors import StorageError, VariantError
from tests.kits.builds.variant_kit import variants


@given(variants)
def test_a_name_leads_back_to_its_variant(variant):
    assert Variant.parse(variant.name) == variant


@given(variants, st.randoms())
def test_the_parts_of_a_name_may_come_in_any_order(variant, chance):
    parts = list(variant.parts)
    chance.shuffle(parts)
    assert Variant.parse("-".join(parts)) == variant


@given(variants)
def test_facts_and_axes_lead_back_to_their_variant_also_through_json(variant):
    assert Variant.of(json.loads(json.dumps(variant.facts()))) == variant
    assert Variant.from_axes(variant.axes()) == variant
    assert "" not in variant.axes().values()


def test_the_facts_of_a_variant_stay_when_there_are_new_keys():
    """Builds are known by them: what an older landspeed built and recorded must stay what it is."""
    old = {"blocksize": 4, "wal_blocksize": 16}
    assert Variant(blocksize=4, wal_blocksize=16).facts() == old
    assert Variant.of(old) == Variant(blocksize=4, wal_blocksize=16)
    assert Variant.of(old | {"segsize": None, "compiler": None, "flags": None}) == Variant.of(old)


@pytest.mark.parametrize(
    "facts",
    [{"pagesize": 8}, {"compiler": "icc"}, {"flags": "O4"}, {"blocksize": "8"}, {"segsize": 3}],
)
def test_facts_that_a_newer_landspeed_may_have_written_are_not_taken_for_the_default(facts):
    with pytest.raises((ValueError, TypeError, VariantError)):
        Variant.of(facts)


@given(variants, variants)
def test_two_variants_never_share_a_name(one, other):
    assert (one.name == other.name) == (one == other)


def test_the_default_is_called_bs8_and_a_wal_size_of_8_is_not_mentioned():
    assert Variant().name == "bs8"
    assert Variant(blocksize=4).name == "bs4"
    assert Variant(wal_blocksize=16).name == "bs8-wal16"
    assert Variant.parse("wal16") == Variant(wal_blocksize=16)
    assert Variant.parse("wal8-bs2") == Variant(blocksize=2)


def test_segments_compiler_and_flags_follow_in_a_fixed_order_and_defaults_are_not_mentioned():
    every = Variant(
        blocksize=4,
        wal_blocksize=16,
        segsize=2,
        compiler=Compiler.CLANG,
        flags=("lto", "O3", "native"),
    )
    assert every.name == "bs4-wal16-seg2-clang-O3-native-lto"
    assert Variant.parse("seg1-gcc-O2") == Variant()
    assert Variant.parse("O2-lto").name == "bs8-lto"
    assert Variant().axes() == {"blocksize": "8", "wal_blocksize": "8", "build": "default"}
    assert every.axes()["build"] == "seg2-clang-O3-native-lto"
    assert Variant.from_axes({"blocksize": "4", "wal_blocksize": "8"}) == Variant(blocksize=4)


@pytest.mark.parametrize(
    "name",
    [
        *("", "8", "bs", "bs-4", "bs4-", "4bs", "bs4bs4", "bs4-bs8", "block4", "bs4_wal8", "BS4"),
        *("bs" + "9" * 10, "bs" + "9" * 5000),
        *("icc", "gcc-clang", "clang-clang", "O2-O3", "lto-lto", "o3", "O4", "seg", "bs8-default"),
    ],
)
def test_what_is_no_name_of_a_variant_is_refused_with_examples(name):
    with pytest.raises(VariantError) as caught:
        Variant.parse(name)
    assert caught.value.message == f'"{name}" is not a build variant'
    assert "bs8-wal16" in caught.value.hint


@pytest.mark.parametrize("size", [0, 3, 5, 64, -8, 8192])
def test_a_block_size_that_postgresql_has_not_is_refused_with_those_it_has(size):
    with pytest.raises(VariantError) as caught:
        Variant(blocksize=size)
    assert caught.value.message == f"invalid block size: {size} kB"
    assert "1, 2, 4, 8, 16, 32 kB" in caught.value.detail


@pytest.mark.parametrize("size", [0, 3, -1, 2048])
def test_a_segment_size_that_is_no_power_of_two_or_too_large_is_refused(size):
    with pytest.raises(VariantError, match=f"invalid segment size: {size} GB"):
        Variant(segsize=size)


def test_wal_blocks_may_be_larger_than_blocks_can_but_not_than_64():
    assert Variant(wal_blocksize=64).name == "bs8-wal64"
    with pytest.raises(VariantError, match="invalid WAL block size: 128 kB"):
        Variant(wal_blocksize=128)


@pytest.mark.parametrize(
    "proof",
    [
        "",
        "{",
        "[]",
        "{}",
        "\x00",
        '"BUILD"',
        '{"identifier":"x","version":"13.16","origin":{"release":null,"commit":null,"tree":"","date":""},"variant":[]}',
        '{"identifier":"x","version":"13.16","origin":{},"variant":{"blocksize":3}}',
    ],
)
def test_a_damaged_proof_is_no_build(tmp_path, proof):
    (tmp_path / "BUILD.json").write_text(proof)
    with pytest.raises(StorageError, match="is not a build"):
        Build.load(tmp_path)
