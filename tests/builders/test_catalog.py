"""The catalog of releases, and landspeed.toml."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path

import pytest

import builders.catalog
from base.errors import UsageError
from base.version import Version
from builders.catalog import Catalog, is_covered
from builders.config import SourceConfig, SourceKind
from tests.kits.builds.sourcekit import catalog, release

PROJECT = Path(builders.catalog.__file__).parent.parent
NEWEST = Catalog.load().newest_stable().version.major[0]
MAJORS = ["8.3", "8.4", *(f"9.{n}" for n in range(7)), *map(str, range(10, NEWEST + 1))]


def test_every_major_from_8_3_has_its_first_release_and_a_later_one() -> None:
    known = Catalog.load()
    for major in MAJORS:
        releases = known.of_major(Version.parse(major))
        assert releases[0].version == Version.parse(f"{major}.0"), major
        assert len(releases) > 1 or major == str(NEWEST), major


def test_the_releases_ascend_and_a_minor_is_younger_than_its_major() -> None:
    known = Catalog.load()
    versions = [r.version for r in known.releases]
    assert versions == sorted(set(versions))
    for major in MAJORS:
        days = [r.date for r in known.of_major(Version.parse(major))]
        assert days == sorted(days), major


def test_a_release_knows_its_tag_and_its_tarball() -> None:
    known = Catalog.load()
    old = known.get(Version.parse("9.6.24"))
    assert old is not None
    assert old.tag == "REL9_6_24"
    assert (
        old.tarball_url("https://x/v{version}/p-{version}.tar") == "https://x/v9.6.24/p-9.6.24.tar"
    )


def test_the_newest_release_is_the_highest_version_not_the_latest_date() -> None:
    known = catalog(release("17.9", "2026-02-26"), release("18.0", "2025-09-25"))
    assert known.newest_stable().name == "18.0"


def test_what_is_nearby_is_the_major_or_its_neighbours() -> None:
    known = catalog(*(release(f"{n}.0", "2020-01-01") for n in range(10, 16)))
    assert [r.name for r in known.nearby(Version.parse("12.7"))] == ["12.0"]
    assert [r.name for r in known.nearby(Version.parse("42"))] == ["13.0", "14.0", "15.0"]
    assert [r.name for r in known.nearby(Version.parse("8.4"))] == ["10.0", "11.0", "12.0"]


def test_merging_keeps_what_the_catalog_says() -> None:
    known = catalog(release("17.0", "2024-09-26"))
    more = known.merged([release("17.0", "1999-01-01"), release("16.0", "2023-09-14")])
    assert [(r.name, r.date.year) for r in more.releases] == [("16.0", 2023), ("17.0", 2024)]


@pytest.mark.parametrize(
    ("version", "covered"),
    [("8.2.23", False), ("8.3devel", True), ("8.3.0", True), ("19devel", True)],
)
def test_8_3_is_the_oldest_version_covered(version: str, *, covered: bool) -> None:
    assert is_covered(Version.parse(version)) is covered


@pytest.mark.parametrize(
    "text",
    [
        'version = "17.0"',
        'version = "17"\ndate = 2024-09-26',
        'version = "17.0"\ndate = "2024-09-26"',
        'version = "17.0"\ndate = 2024-09-26\nsha256 = "abc"',
        'version = "17.0"\ndate = 2024-09-26\ncolour = "blue"',
        'version = "17beta1"\ndate = 2024-09-26',
        "version = ",
    ],
)
def test_a_bad_stanza_is_one_clear_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "releases.toml"
    path.write_text(f"[[release]]\n{text}\n")
    with pytest.raises(UsageError, match="cannot be read"):
        Catalog.load(path)


def test_releases_out_of_order_are_refused(tmp_path: Path) -> None:
    stanza = '[[release]]\nversion = "{}"\ndate = 2024-09-26\n'
    path = tmp_path / "releases.toml"
    path.write_text(stanza.format("17.1") + stanza.format("17.0"))
    with pytest.raises(UsageError, match="cannot be read") as caught:
        Catalog.load(path)
    assert "17.0 is listed after 17.1" in caught.value.detail


def test_the_configuration_file_shows_the_defaults() -> None:
    assert SourceConfig.load(PROJECT / "landspeed.toml") == SourceConfig()
    assert SourceConfig.load(PROJECT / "no-such-file.toml") == SourceConfig()
    section = tomllib.loads((PROJECT / "landspeed.toml").read_text())["sources"]
    assert set(section) == {"order", "git", "tarball", "debian"}


def test_a_relative_upstream_is_beside_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "landspeed.toml"
    path.write_text('[sources]\norder = ["git", "git"]\n[sources.git]\nupstream = "clone"\n')
    config = SourceConfig.load(path)
    assert config.order == (SourceKind.GIT,)
    assert config.upstream_directory == tmp_path / "clone"


def test_a_table_whose_keys_are_all_commented_out_has_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "landspeed.toml"
    path.write_text('[sources]\n[sources.git]\n[sources.tarball]\n# url = "https://example.org"\n')
    assert SourceConfig.load(path) == SourceConfig()


@pytest.mark.parametrize("upstream", ["https://example.org/pg.git", "git@example.org:pg.git"])
def test_a_url_is_no_directory(upstream: str) -> None:
    assert SourceConfig(upstream=upstream).upstream_directory is None


@pytest.mark.parametrize(
    "text",
    [
        '[sources]\norder = ["cvs"]',
        '[sources]\ncolour = "blue"',
        '[sources.git]\nurl = "https://example.org"',
        '[sources.git]\nupstream = "ext::sh -c evil"',
        '[sources.git]\nupstream = "gopher://example.org"',
        '[sources.git]\nupstream = "~nobody-of-this-name/postgresql"',
        '[sources.tarball]\nurl = "https://example.org/latest.tar.bz2"',
        '[sources.tarball]\nurl = "/srv/postgresql-{version}.tar.bz2"',
        '[sources.tarball]\nurl = "ssh://example.org/postgresql-{version}.tar.bz2"',
        '[sources.tarball]\nurl = "http://[::1/postgresql-{version}.tar.bz2"',
        '[sources.debian]\nsuites = ["Not A Suite"]',
        '[sources.debian]\nmirror = "somewhere"',
        "[sources.debain]",
        'sources = "all"',
        "[sources",
    ],
)
def test_a_bad_configuration_is_one_clear_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "landspeed.toml"
    path.write_text(text)
    with pytest.raises(UsageError):
        SourceConfig.load(path)


def test_a_directory_in_the_place_of_the_file_is_one_clear_error(tmp_path) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        SourceConfig.load(tmp_path)


def test_the_environment_outranks_the_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "landspeed.toml"
    path.write_text('[sources.git]\nupstream = "clone"\n[sources.git.remotes]\nhacker = "fork"\n')
    assert SourceConfig.load(path).remotes == {"hacker": str(tmp_path / "fork")}
    monkeypatch.setenv("LANDSPEED_UPSTREAM", "")
    assert SourceConfig.load(path).upstream == str(tmp_path / "clone")
    monkeypatch.setenv("LANDSPEED_UPSTREAM", "https://example.org/pg.git")
    monkeypatch.setenv("LANDSPEED_REMOTES", "a=https://example.org/a.git b=/srv/b")
    config = SourceConfig.load(path)
    assert config.upstream == "https://example.org/pg.git"
    assert config.remotes == {"a": "https://example.org/a.git", "b": "/srv/b"}


@pytest.mark.parametrize("words", ["a", "a=", "a=ext::sh", "../a=/b", "a=-x", "a=gopher://x"])
def test_a_remote_that_is_none_is_one_clear_error(tmp_path, monkeypatch, words: str) -> None:
    monkeypatch.setenv("LANDSPEED_REMOTES", words)
    with pytest.raises(UsageError):
        SourceConfig.load(tmp_path / "landspeed.toml")


def test_dates_are_plain_days() -> None:
    assert all(type(r.date) is datetime.date for r in Catalog.load().releases)
