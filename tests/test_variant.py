"""Variants: their names, and the sizes that PostgreSQL has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.build import BLOCK_SIZES, WAL_BLOCK_SIZES, Build, Variant
from base.errors import StorageError, VariantError

variants = st.builds(
    Variant, blocksize=st.sampled_from(BLOCK_SIZES), wal_blocksize=st.sampled_from(WAL_BLOCK_SIZES)
)


@given(variants)
def test_a_name_leads_back_to_its_variant(variant):
    assert Variant.parse(variant.name) == variant


@given(variants, variants)
def test_two_variants_never_share_a_name(one, other):
    assert (one.name == other.name) == (one == other)


def test_the_default_is_called_bs8_and_a_wal_size_of_8_is_not_mentioned():
    assert Variant().name == "bs8"
    assert Variant(blocksize=4).name == "bs4"
    assert Variant(wal_blocksize=16).name == "bs8-wal16"
    assert Variant.parse("wal16") == Variant(wal_blocksize=16)
    assert Variant.parse("wal8-bs2") == Variant(blocksize=2)


@pytest.mark.parametrize(
    "name", ["", "8", "bs", "bs-4", "bs4-", "4bs", "bs4bs4", "bs4-bs8", "block4", "bs4_wal8", "BS4"]
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
        '{"identifier":"x","version":"13.16","origin":{},"variant":{"blocksize":3}}',
    ],
)
def test_a_damaged_proof_is_no_build(tmp_path, proof):
    (tmp_path / "BUILD.json").write_text(proof)
    with pytest.raises(StorageError, match="is not a build"):
        Build.load(tmp_path)
