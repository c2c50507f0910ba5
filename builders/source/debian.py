"""Debian's source packages as a source of upstream's release tarballs."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from base.errors import SourceError
from base.files import canonical_json, write_atomic
from base.typed import AnyVersion, from_json, to_json
from base.version import Version
from builders.source.apt import Apt

_log = logging.getLogger(__name__)

DAY = 86400
# After a failed refresh an index that is already here serves this long before another try.
RETRY = 3600
_STANZA = re.compile(rb"^Package: postgresql-\d[\d.]*\n(?:.+\n)*", re.MULTILINE)
_CHECKSUMS = re.compile(r"^Checksums-Sha256:\n((?: .+\n?)+)", re.MULTILINE)
_ORIG = re.compile(r"postgresql-[\d.]+_([^_]+)\.orig\.tar\.(?:bz2|gz|xz)")


@dataclass(frozen=True, kw_only=True)
class Package:
    """A Debian source package that holds the tarball of an upstream release."""

    name: str
    version: str
    suite: str
    file: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Index:
    """The packages that the suites offered; times are in seconds since the epoch.

    ``refreshed`` is when the lists were last fetched, ``attempted`` when that was last tried.
    """

    packages: dict[AnyVersion, Package] = field(default_factory=dict)
    refreshed: float = 0.0
    attempted: float = 0.0


@dataclass(frozen=True, kw_only=True)
class DebianArchive:
    """Fetches release tarballs out of Debian's source packages."""

    apt: Apt
    clock: Callable[[], float] = time.time
    _problems: list[str] = field(default_factory=list)

    @property
    def _path(self) -> Path:
        return self.apt.directory / "index.json"

    def index(self) -> Index:
        """Return what the archive is known to offer, without asking it."""
        try:
            return from_json(Index, json.loads(self._path.read_text()))
        except (OSError, ValueError):
            return Index()

    def is_due(self) -> bool:
        """Whether the index should be refreshed: older than a day, and not tried just now."""
        index, now = self.index(), self.clock()
        age, rest = now - index.refreshed, now - index.attempted
        if 0 <= age < DAY:
            return False
        return not (index.packages and 0 <= rest < RETRY)

    def refresh(self) -> None:
        """Fetch the index if it is due; SourceError if that fails and there is no old one."""
        if self._problems:
            raise SourceError("the Debian archive could not be reached", detail=self._problems[0])
        if not self.is_due():
            return
        old, now = self.index(), self.clock()
        _log.info("refreshing the index of Debian's source packages")
        problem = self.apt.update()
        packages = read_packages(self.apt.lists())
        if problem and not packages and not old.packages:
            self._problems.append(problem)  # one try a process is enough
            raise SourceError("the Debian archive could not be reached", detail=problem)
        if problem:
            _log.info(
                f"the Debian archive could not be reached, using the index at hand: {problem}"
            )
        index = Index(
            packages=packages or old.packages,
            refreshed=old.refreshed if problem else now,
            attempted=now,
        )
        write_atomic(self._path, canonical_json(to_json(index)))

    def download(self, package: Package, into: Path) -> Path:
        """Return the upstream tarball in *package*, verified by apt against Debian's signature."""
        _log.info(f"fetching {package.file} from Debian {package.suite}")
        return self.apt.download(package.name, package.version, package.file, into)


def read_packages(lists: Iterable[tuple[str, bytes]]) -> dict[Version, Package]:
    """Return PostgreSQL's packages in the *lists* of (suite, Sources file), by upstream version."""
    found: dict[Version, Package] = {}
    for suite, content in lists:
        for match in _STANZA.finditer(content):
            package = _package(suite, match[0].decode(errors="replace"))
            if package is not None:
                version, known = package
                found.setdefault(version, known)
    return found


def _package(suite: str, stanza: str) -> tuple[Version, Package] | None:
    fields = dict(re.findall(r"^(Package|Version): (\S+)$", stanza, re.MULTILINE))
    sums = _CHECKSUMS.search(stanza)
    for line in sums[1].splitlines() if sums else ():
        sha256, _, file = line.split()
        match = _ORIG.fullmatch(file)
        if match is None or "Version" not in fields:
            continue
        try:
            version = Version.parse(match[1].replace("~", ""))
        except ValueError:
            continue
        return version, Package(
            name=fields["Package"], version=fields["Version"], suite=suite, file=file, sha256=sha256
        )
    return None
