"""Debian's archive: the isolated apt, its index, and what happens when it cannot be had."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from base.errors import SourceError
from base.files import digest_file
from base.version import Version
from builders.catalog import Catalog
from builders.source import apt
from builders.source.apt import DEFAULT_MIRROR, Apt, debian_mirror
from builders.source.debian import DAY, RETRY, DebianArchive, Index, read_packages
from tests.kits.builds.sourcekit import (
    Harness,
    debian_stanza,
    install_fake_apt,
    make_tarball,
    release,
)

V17 = Version.parse("17.11")


class BuildArchive:
    """A directory served by a pretended apt, with a clock to turn."""

    def __init__(self, root: Path) -> None:
        self.root = root / "archive"
        self.root.mkdir()
        self.now = 1_800_000_000.0
        self.state = root / "cache" / "apt"

    def publish(self, version: str) -> None:
        tarball = make_tarball(self.root, version)
        name = f"postgresql-{version.partition('.')[0]}_{version}.orig.tar.bz2"
        tarball = tarball.rename(self.root / name)
        with (self.root / "Sources").open("a") as stream:
            stream.write(debian_stanza(version, digest_file(tarball)))

    @property
    def offline(self) -> Path:
        return self.root / "offline"

    def calls(self, verb: str) -> int:
        path = self.root / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return sum(line.startswith(f"apt-get {verb}") for line in lines)

    def open(self) -> DebianArchive:
        isolated = Apt(directory=self.state, mirror="http://mirror", suites=("trixie",))
        return DebianArchive(apt=isolated, clock=lambda: self.now)


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuildArchive:
    made = BuildArchive(tmp_path)
    install_fake_apt(tmp_path / "bin", made.root)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    keyring = tmp_path / "keyring.gpg"
    keyring.touch()
    monkeypatch.setattr(apt, "KEYRING", keyring)
    return made


def test_the_index_is_refreshed_once_a_day(archive: BuildArchive) -> None:
    archive.publish("17.11")
    archive.open().refresh()
    archive.now += DAY - 1
    archive.open().refresh()
    assert archive.calls("update") == 1
    archive.now += 2
    archive.open().refresh()
    assert archive.calls("update") == 2
    assert set(archive.open().index().packages) == {V17}


def test_a_failed_refresh_leaves_the_old_index_in_use_and_says_so(
    archive: BuildArchive, caplog: pytest.LogCaptureFixture
) -> None:
    archive.publish("17.11")
    archive.open().refresh()
    archive.offline.touch()
    archive.now += DAY + 1
    archive.open().refresh()
    assert set(archive.open().index().packages) == {V17}
    assert any("using the index at hand" in line for line in caplog.messages)
    archive.now += RETRY - 1
    assert not archive.open().is_due()
    archive.now += 2
    assert archive.open().is_due()


def test_a_first_refresh_that_fails_is_an_error_and_tried_once_a_process(
    archive: BuildArchive,
) -> None:
    archive.offline.touch()
    opened = archive.open()
    for _ in range(2):
        with pytest.raises(SourceError, match="could not be reached"):
            opened.refresh()
    assert archive.calls("update") == 1


def test_a_mirror_that_never_answers_is_given_up(
    archive: BuildArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    (archive.root / "stalled").touch()
    monkeypatch.setattr(apt, "LIMIT", 0.1)
    with pytest.raises(SourceError) as caught:
        archive.open().refresh()
    assert "apt-get did not end within" in str(caught.value.detail)


def test_a_damaged_index_is_fetched_again(archive: BuildArchive) -> None:
    archive.publish("17.11")
    archive.open().refresh()
    for text in ("", "{}", "[1]", '{"packages": {"17.11": {}}}'):
        (archive.state / "index.json").write_text(text)
        assert archive.open().index() == Index()
        archive.open().refresh()
        assert set(archive.open().index().packages) == {V17}


def test_a_missing_keyring_is_a_clear_error_with_the_package(
    archive: BuildArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apt, "KEYRING", tmp_path / "none.gpg")
    with pytest.raises(SourceError, match="keyring") as caught:
        archive.open().refresh()
    assert "apt-get install debian-archive-keyring" in caught.value.hint


def test_without_apt_the_error_says_so(
    archive: BuildArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="apt-get is not installed"):
        archive.open().refresh()


def test_no_file_of_the_systems_apt_is_named(archive: BuildArchive) -> None:
    archive.publish("17.11")
    archive.open().refresh()
    settings = (archive.state / "apt.conf").read_text().splitlines()
    named = [line for line in settings if line.startswith("Dir::")]
    assert named
    assert not any('"/' in line and str(archive.state) not in line for line in named)
    entry = (archive.state / "sources.list").read_text()
    assert entry == f"deb-src [signed-by={apt.KEYRING}] http://mirror trixie main\n"


def test_a_release_of_debian_that_the_catalog_has_not_is_known(
    archive: BuildArchive, tmp_path: Path
) -> None:
    archive.publish("18.7")
    harness = Harness(tmp_path)
    sources = harness.sources(release("18.6", "2026-08-13"), order=("debian",))
    found = sources.resolve("18")
    assert found.origin.release == "18.7"
    assert found.origin.date == "2023-11-14"
    status = sources.statuses()[-1]
    assert (str(status.version), status.is_here) == ("18.7", True)
    assert "18.7" in sources.releases_branch()
    assert sources.resolve("18") == found
    assert archive.calls("source") == archive.calls("update") == 1
    assert not list(harness.paths.downloads.glob("*.bz2"))


def test_what_the_lists_have_no_more_is_taken_from_the_pool_while_the_newest_is_not_there(
    archive: BuildArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # lists that name a release whose file the mirror does not have yet
    with (archive.root / "Sources").open("a") as stream:
        stream.write(debian_stanza("17.12", "a" * 64))
    (archive.root / "no.orig.tar.bz2").touch()
    pool = tmp_path / "mirror" / "pool/main/p/postgresql-17"
    pool.mkdir(parents=True)
    tarball = make_tarball(pool, "17.11").rename(pool / "postgresql-17_17.11.orig.tar.bz2")
    known = release("17.11", "2026-08-13", digest_file(tarball))
    monkeypatch.setattr("builders.source.fetch.debian_mirror", lambda: f"file://{tmp_path}/mirror")
    harness = Harness(tmp_path)
    for order in (("debian",), ("tarball", "debian")):
        sources = harness.sources(known, order=order)
        assert sources.resolve("17").origin.release == "17.11"
    # what is not in the pool either is an error that names both
    other = release("17.10", "2026-05-14", "0" * 64)
    with pytest.raises(SourceError) as caught:
        harness.sources(known, other, order=("tarball", "debian")).resolve("17.10")
    assert "the archive has 17.12" in caught.value.detail
    assert "17_17.10.orig.tar.bz2" in caught.value.detail


def test_what_is_here_needs_no_network(archive: BuildArchive, tmp_path: Path) -> None:
    archive.publish("17.11")
    harness = Harness(tmp_path)
    sources = harness.sources(release("17.11", "2026-08-13"), order=("debian",))
    found = sources.resolve("17")
    archive.offline.touch()
    again = harness.sources(release("17.11", "2026-08-13"), order=("debian",))
    assert again.resolve("17") == again.resolve("17.11") == found
    assert archive.calls("update") == 1


def test_a_package_whose_sha256_is_not_the_catalogs_is_refused(
    archive: BuildArchive, tmp_path: Path
) -> None:
    archive.publish("17.11")
    sources = Harness(tmp_path).sources(release("17.11", "2026-08-13", "0" * 64), order=("debian",))
    with pytest.raises(SourceError) as caught:
        sources.resolve("17.11")
    assert "is not what the catalog says" in caught.value.detail
    assert not sources.statuses()[0].is_here


def test_the_list_of_sources_is_read_for_upstream_tarballs_only() -> None:
    wanted = debian_stanza("17.11", "a" * 64)
    other = debian_stanza("17.11", "b" * 64).replace("postgresql-17\n", "postgresql-17-age\n", 1)
    beta = debian_stanza("19~beta1", "c" * 64)
    odd = debian_stanza("one.two", "d" * 64)
    packages = read_packages([("trixie", (other + wanted + beta + odd).encode())])
    assert set(map(str, packages)) == {"17.11", "19beta1"}
    assert packages[V17].sha256 == "a" * 64
    assert packages[V17].suite == "trixie"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, DEFAULT_MIRROR),
        ({"os-release": "ID=ubuntu\nVERSION_CODENAME=noble\n"}, DEFAULT_MIRROR),
        (
            {
                "os-release": "ID=debian\nVERSION_CODENAME=bookworm\n",
                "apt/sources.list": "# deb http://no/ bookworm main\n"
                "deb [arch=amd64 signed-by=/x] http://one/debian/ bookworm main\n",
            },
            "http://one/debian",
        ),
        (
            {
                "os-release": 'ID="debian"\nVERSION_CODENAME="trixie"\n',
                "apt/sources.list.d/a.sources": "Types: deb\nURIs: http://sec\n"
                "Suites: trixie-security\n\nEnabled: no\nURIs: http://off\nSuites: trixie\n\n"
                "Types: deb\n# a comment\nURIs: http://two/debian\nSuites: trixie trixie-updates\n",
            },
            "http://two/debian",
        ),
        (
            {
                "os-release": "ID=debian\nVERSION_CODENAME=bookworm\n",
                "apt/sources.list": "deb cdrom:[Debian]/ bookworm main\n",
            },
            DEFAULT_MIRROR,
        ),
    ],
)
def test_the_mirror_is_the_machines_own_if_it_is_a_debian(
    tmp_path: Path, files: dict[str, str], expected: str
) -> None:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert debian_mirror(tmp_path) == expected


@pytest.mark.postgres
def test_the_real_archive_has_a_release_that_can_be_exported(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    # of the catalog's releases one has its file there, even while the lists are ahead of the files
    sources = harness.sources(*Catalog.load().releases, order=("debian",))
    found = sources.resolve("17")
    sources.export(found, tmp_path / "out")
    assert (tmp_path / "out" / "src" / "backend" / "Makefile").is_file()
    assert os.access(tmp_path / "out" / "configure", os.X_OK)
