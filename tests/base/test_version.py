"""Versions and ranges of them: order, spelling, tags, edges."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.version import Version, VersionRange

LADDER = ["devel", "alpha1", "alpha2", "beta1", "beta3", "rc1", "rc2", ".0", ".1", ".10"]

majors = st.one_of(
    st.tuples(st.integers(6, 9), st.integers(0, 9)).map(lambda m: f"{m[0]}.{m[1]}"),
    st.integers(10, 99).map(str),
)
minors = st.integers(0, 99).map(lambda n: f".{n}")
stages = st.builds(
    lambda stage, number: f"{stage}{number}",
    st.sampled_from(["alpha", "beta", "rc"]),
    st.integers(1, 30),
)
releases = st.builds(lambda major, minor: Version.parse(major + minor), majors, minors)
tagged = st.builds(lambda major, rest: Version.parse(major + rest), majors, minors | stages)
versions = st.builds(
    lambda major, rest: Version.parse(major + rest), majors, minors | stages | st.just("devel")
)


@given(majors)
def test_a_major_grows_from_devel_by_alpha_beta_and_rc_to_its_releases(major):
    spelled = [Version.parse(major + rest) for rest in LADDER]
    assert all(earlier < later for earlier, later in pairwise(spelled))


@given(versions, versions)
def test_a_greater_major_is_later_whatever_its_stage(one, other):
    if one.major < other.major:
        assert one < other


def test_majors_of_two_parts_come_before_those_of_one():
    spelled = "8.3.0 8.3.23 8.4.0 9.0.0 9.6.24 10.0 10.23 11.0 18.6 19devel".split()
    assert sorted(map(Version.parse, reversed(spelled))) == list(map(Version.parse, spelled))


@given(versions)
def test_what_a_version_prints_it_parses(version):
    assert Version.parse(str(version)) == version


@given(tagged)
def test_a_tag_leads_back_to_its_version(version):
    assert Version.from_tag(version.tag) == version


@pytest.mark.parametrize(
    ("tag", "version"),
    [
        ("REL8_3_0", "8.3.0"),
        ("REL9_6_24", "9.6.24"),
        ("REL9_5_ALPHA1", "9.5alpha1"),
        ("REL9_6_BETA4", "9.6beta4"),
        ("REL9_4_RC1", "9.4rc1"),
        ("REL_10_0", "10.0"),
        ("REL_17_11", "17.11"),
        ("REL_18_BETA1", "18beta1"),
        ("REL_18_RC1", "18rc1"),
    ],
)
def test_tags_are_spelled_as_upstream_spells_them(tag, version):
    assert Version.parse(version).tag == tag
    assert str(Version.from_tag(tag)) == version


@pytest.mark.parametrize(
    "tag",
    ["REL_17_STABLE", "REL9_6_STABLE", "master", "17.11", "REL", "REL_17_11_1", "xREL_17_1"],
)
def test_what_is_no_tag_of_a_version_is_none(tag):
    assert Version.from_tag(tag) is None


@given(majors)
def test_a_bare_major_is_its_first_release(major):
    assert Version.parse(major) == Version.parse(f"{major}.0")
    assert Version.parse(major).major_text == major


@pytest.mark.parametrize(
    "text",
    ["", "9", "17.", ".17", "17.1.2", "8.3.1.1", "v17", "17 ", "17\n", "17dev", "17.1beta1", "-1"],
)
def test_what_is_no_version_is_refused_by_name(text):
    with pytest.raises(ValueError, match="is not a PostgreSQL version"):
        Version.parse(text)


@given(majors)
def test_every_stage_of_a_major_is_inside_what_begins_with_it_and_outside_what_ends_there(major):
    since, until = VersionRange.parse(since=major), VersionRange.parse(until=major)
    for rest in LADDER:
        assert Version.parse(major + rest) in since
        assert Version.parse(major + rest) not in until


@given(majors)
def test_of_a_development_at_an_edge_the_source_tells_and_of_no_other_version(major):
    since, until = VersionRange.parse(since=major), VersionRange.parse(until=major)
    for there in (True, False):

        def has(path: str, there: bool = there) -> bool:
            assert path == "file"
            return there

        for stage in ("devel", "beta2"):
            one = Version.parse(major + stage)
            assert since.covers(one, "file", has) is there
            assert until.covers(one, "file", has) is not there
        release = Version.parse(major)
        assert since.covers(release, "file", has)
        assert not until.covers(release, "file", has)
        for unknown in ((None, has), ("file", None)):
            assert since.covers(Version.parse(f"{major}devel"), *unknown)


@given(releases, releases, versions)
def test_a_range_is_half_open_and_two_that_meet_share_nothing(one, other, version):
    low, high = sorted([one, other])
    inside = version in VersionRange(since=low, until=high)
    below = version in VersionRange(until=low)
    above = version in VersionRange(since=high)
    assert inside + below + above == 1
    if low < high:
        assert low in VersionRange(since=low, until=high)
    assert high not in VersionRange(since=low, until=high)


@given(versions)
def test_a_range_without_edges_holds_everything(version):
    assert version in VersionRange()


def test_a_range_prints_its_edges():
    assert str(VersionRange()) == "all"
    assert str(VersionRange.parse(since="9.3")) == "9.3.0"
    assert str(VersionRange.parse(until="9.2")) == "before 9.2.0"
    assert str(VersionRange.parse(since="9.0", until="13")) == "9.0.0 – before 13.0"
