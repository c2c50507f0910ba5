"""Small release tarballs, git upstreams and a pretended apt, for the tests of the sources."""

from __future__ import annotations

import datetime
import io
import os
import re
import subprocess
import tarfile
from pathlib import Path

from base.files import digest_file
from base.paths import Paths
from base.version import Version
from builders.catalog import Catalog, Release
from builders.config import SourceKind
from builders.source import SourceConfig, Sources

IDENTITY = {
    "GIT_AUTHOR_NAME": "A Hacker",
    "GIT_AUTHOR_EMAIL": "hacker@example.org",
    "GIT_COMMITTER_NAME": "A Hacker",
    "GIT_COMMITTER_EMAIL": "hacker@example.org",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}

# Whatever a tree says of itself must not change a byte of it.
HOSTILE_ATTRIBUTES = b"* text=auto eol=crlf\n*.c ident export-ignore\nHISTORY export-subst\n"


def tree_of(version: str) -> dict[str, tuple[bytes, int]]:
    """path → (content, mode) of a release that is no larger than it must be."""
    return {
        "configure": (f"#! /bin/sh\nPACKAGE_VERSION='{version}'\n".encode(), 0o755),
        "HISTORY": (b"$Format:%H$ of " + version.encode() + b"\n", 0o644),
        ".gitattributes": (HOSTILE_ATTRIBUTES, 0o644),
        ".gitignore": (b"*.c\n/src/\n", 0o644),
        "src/main.c": (b"/* $Id$ */\r\nint main(void);\n", 0o644),
        'src/a name with spaces, "quotes" and \\.txt': (b"\x00\xff\r\n", 0o644),
    }


def make_tarball(directory: Path, version: str, *, mtime: int = 1_700_000_000) -> Path:
    """A release tarball of *version* in *directory*, under upstream's name."""
    path = directory / f"postgresql-{version}.tar.bz2"
    with tarfile.open(path, "w:bz2") as tar:
        root = f"postgresql-{version}"
        for name, (content, mode) in tree_of(version).items():
            member = tarfile.TarInfo(f"{root}/{name}")
            member.size, member.mode, member.mtime = len(content), mode, mtime
            tar.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo(f"{root}/src/link.c")
        link.type, link.linkname, link.mtime = tarfile.SYMTYPE, "main.c", mtime
        tar.addfile(link)
        hard = tarfile.TarInfo(f"{root}/src/hard.c")
        hard.type, hard.linkname, hard.mtime = tarfile.LNKTYPE, f"{root}/src/main.c", mtime
        tar.addfile(hard)
    return path


def release(version: str, day: str, sha256: str | None = None) -> Release:
    """A Release, as the catalog would have it."""
    date = datetime.date.fromisoformat(day)
    return Release(version=Version.parse(version), date=date, sha256=sha256)


def catalog(*releases: Release) -> Catalog:
    """A Catalog of *releases*."""
    return Catalog(releases=releases)


class Harness:
    """A cache, a directory of tarballs served by file://, and what was said."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.pool = root / "pool"
        self.pool.mkdir(exist_ok=True)
        self.paths = Paths(cache=root / "cache", project=root)

    @property
    def url(self) -> str:
        return f"file://{self.pool}/postgresql-{{version}}.tar.bz2"

    def released(self, version: str, day: str) -> Release:
        """A release whose tarball is in the pool and whose sha256 is in the catalog."""
        return release(version, day, digest_file(make_tarball(self.pool, version)))

    def sources(
        self, *releases: Release, order: tuple[str, ...] = ("tarball",), upstream: str = ""
    ) -> Sources:
        """Sources over a catalog of *releases*."""
        kinds = tuple(SourceKind(kind) for kind in order)
        settings = SourceConfig(order=kinds, tarball_url=self.url, upstream=upstream)
        return Sources(paths=self.paths, catalog=catalog(*releases), config=settings)


class GitUpstream:
    """A small repository that looks like PostgreSQL's."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=master")

    def git(self, *arguments: str, **environment: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.directory,
            env=os.environ | IDENTITY | environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def commit(self, version: str, subject: str, *, when: int = 1_600_000_000) -> str:
        """A commit on the current branch whose configure says *version*; its hash."""
        (self.directory / "configure").write_text(f"PACKAGE_VERSION='{version}'\n")
        (self.directory / "note").write_text(subject)
        self.git("add", "--all")
        date = f"{when} +0000"
        self.git("commit", "--quiet", "-m", subject, GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)
        return self.git("rev-parse", "HEAD")


def install_fake_apt(directory: Path, archive: Path) -> None:
    """Programs called apt-get, apt-helper and apt-config that serve *archive*, for PATH.

    *archive* holds ``Sources`` and the files it lists; ``offline`` in it makes all fail,
    with ``stalled`` apt-get never ends.
    Every call is appended to ``calls``.
    """
    directory.mkdir(parents=True, exist_ok=True)
    apt_get = f"""#!/bin/sh
echo "apt-get $*" >> "{archive}/calls"
if [ "$1" != indextargets ] && [ -e "{archive}/offline" ]; then
    echo "E: Failed to fetch http://mirror/ Could not connect" >&2
    exit 100
fi
[ -e "{archive}/stalled" ] && exec sleep 1000000
case "$1" in
indextargets) [ -e "{archive}/Sources" ] && printf 'trixie\\t%s\\n' "{archive}/Sources" ;;
source) cp "{archive}"/*.orig.tar.bz2 . ;;
esac
exit 0
"""
    programs = {
        "apt-get": apt_get,
        "apt-helper": '#!/bin/sh\ncat "$2"\n',
        "apt-config": "#!/bin/sh\n",
    }
    for name, text in programs.items():
        (directory / name).write_text(text)
        (directory / name).chmod(0o755)


def debian_stanza(version: str, sha256: str) -> str:
    """What a Debian archive's list of sources says of a release."""
    major = re.sub(r"\D.*", "", version) or "18"
    name = f"postgresql-{major}"
    return (
        f"Package: {name}\nBinary: {name}, libpq5\nVersion: {version}-1\n"
        f"Files:\n 0123 10 {name}_{version}.orig.tar.bz2\n"
        f"Checksums-Sha256:\n {'0' * 64} 10 {name}_{version}-1.dsc\n"
        f" {sha256} 10 {name}_{version}.orig.tar.bz2\nPriority: optional\n\n"
    )
