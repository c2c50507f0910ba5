"""The grammar of REF."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import RefError
from base.version import Version
from builders.source.refs import Numbered, Revision, parse_ref


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("18", Numbered(version=Version.parse("18"), is_major=True)),
        ("9.6", Numbered(version=Version.parse("9.6"), is_major=True)),
        ("17.11", Numbered(version=Version.parse("17.11"))),
        ("9.6.24", Numbered(version=Version.parse("9.6.24"))),
        ("18beta1", Numbered(version=Version.parse("18beta1"))),
        ("REL_17_11", Numbered(version=Version.parse("17.11"))),
        ("REL9_6_24", Numbered(version=Version.parse("9.6.24"))),
        ("REL_18_BETA1", Numbered(version=Version.parse("18beta1"))),
        ("REL_17_STABLE", Revision(base="REL_17_STABLE", suffix="")),
        ("REL_18", Revision(base="REL_18", suffix="")),
        ("master~3", Revision(base="master", suffix="~3")),
        ("master^2~10^", Revision(base="master", suffix="^2~10^")),
        ("feature/x-1", Revision(base="feature/x-1", suffix="")),
        ("1234567", Revision(base="1234567", suffix="")),
    ],
)
def test_a_ref_is_a_major_a_release_or_a_revision(ref: str, expected: Numbered | Revision) -> None:
    assert parse_ref(ref) == expected


@pytest.mark.parametrize(
    "ref",
    [
        *("", "-x", "--upload-pack=evil", "a b", "a..b", "a@{1}", "HEAD:configure", "$(id)", "a;b"),
        *("a//b", "/a", "a/", "a/.b", "a/-b", "x.lock", "a\nb", "a\x00b", "é", "^a", "~1", "a~~b"),
        *("9", "17.11.2", "9.6.1.1"),
    ],
)
def test_what_has_no_such_form_is_refused(ref: str) -> None:
    with pytest.raises(RefError):
        parse_ref(ref)


@given(st.text(max_size=30))
def test_nothing_that_passes_could_be_an_option_or_more_than_a_name(ref: str) -> None:
    try:
        wanted = parse_ref(ref)
    except RefError:
        return
    if isinstance(wanted, Revision):
        assert not wanted.base.startswith(("-", "/", "."))
        assert not set(wanted.base) & set(" :?*[\\^~@{}\n\t\x7f")
        assert ".." not in wanted.base
        assert set(wanted.suffix) <= set("^~0123456789")


@pytest.mark.parametrize(
    ("base", "expected"), [("abcd", True), ("0" * 40, True), ("abc", False), ("master", False)]
)
def test_a_hash_has_4_to_40_digits(base: str, *, expected: bool) -> None:
    assert Revision(base=base, suffix="").may_be_hash is expected
