"""Obtain the source of a release from the configured sources, in their order."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import assert_never
from urllib.parse import urlsplit

from base.errors import SourceError
from base.files import canonical_json, digest_file, digest_text, write_atomic
from base.paths import Paths
from base.version import Version
from builders.catalog import Catalog
from builders.config import CONFIG_NAME, SourceConfig, SourceKind
from builders.source.apt import Apt, debian_mirror
from builders.source.debian import DebianArchive, Package
from builders.source.repository import Repository, TreeRef
from builders.source.tarball import Download, UnreachableError
from builders.source.upstream import DAY, MINUTES, TaggedRelease, Upstream

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Prospect:
    """What one source is expected to have for a release, as far as is known offline."""

    kind: SourceKind
    is_possible: bool
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True, kw_only=True)
class Offers:
    """What upstream's tags and Debian's index were last seen to hold."""

    tags: dict[Version, TaggedRelease]
    packages: dict[Version, Package]


@dataclass(frozen=True, kw_only=True)
class Fetcher:
    """Brings the trees of releases into the repository."""

    repository: Repository
    upstream: Upstream
    debian: DebianArchive
    catalog: Catalog
    config: SourceConfig
    downloads: Path
    clock: Callable[[], float] = time.time
    _dead_hosts: dict[str, str] = field(default_factory=dict)

    @classmethod
    def create(cls, paths: Paths, catalog: Catalog, config: SourceConfig) -> Fetcher:
        """The fetcher of a cache, with its upstream and its Debian archive."""
        repository = Repository(directory=paths.sources)
        upstream = Upstream(repository=repository, config=config)
        upstream.configure()
        apt = Apt(
            directory=paths.cache / "apt",
            mirror=config.debian_mirror or debian_mirror(),
            suites=config.debian_suites,
        )
        return cls(
            repository=repository,
            upstream=upstream,
            debian=DebianArchive(apt=apt),
            catalog=catalog,
            config=config,
            downloads=paths.downloads,
        )

    def offers(self) -> Offers:
        """What the sources were last seen to have, asking nobody."""
        return Offers(tags=self.upstream.releases(), packages=self.debian.index().packages)

    def prospects(self, version: Version, offers: Offers) -> list[Prospect]:
        """What each configured source promises for *version*, in order, asking nobody."""
        return [self._prospect(kind, version, offers) for kind in self.config.order]

    def _prospect(self, kind: SourceKind, version: Version, offers: Offers) -> Prospect:
        match kind:
            case SourceKind.GIT:
                possible, text = self._git_prospect(version, offers)
            case SourceKind.TARBALL:
                possible, text = self._tarball_prospect(version)
            case SourceKind.DEBIAN:
                possible, text = self._debian_prospect(version, offers)
            case _:
                assert_never(kind)
        return Prospect(kind=kind, is_possible=possible, text=text)

    def _git_prospect(self, version: Version, offers: Offers) -> tuple[bool, str]:
        if not self.upstream.is_configured:
            return False, "no upstream is configured"
        if version in offers.tags:
            return True, f"tag {version.tag}"
        if self.upstream.age > DAY:
            return True, f"tag {version.tag}, if {self.config.upstream} has it"
        return False, f"the upstream has no tag {version.tag}"

    def _tarball_prospect(self, version: Version) -> tuple[bool, str]:
        release = self.catalog.get(version)
        if not self.config.tarball_url:
            return False, "no URL is configured"
        if release is None or release.sha256 is None:
            return False, "the catalog has no sha256 for it"
        return True, release.tarball_url(self.config.tarball_url)

    def _debian_prospect(self, version: Version, offers: Offers) -> tuple[bool, str]:
        package = offers.packages.get(version)
        if package is not None:
            return True, f"source package {package.name} {package.version} in {package.suite}"
        if offers.packages:
            return False, f"the archive has {', '.join(map(str, sorted(offers.packages)))}"
        return self.debian.is_due(), "the archive's index was not fetched yet"

    def obtain(self, version: Version) -> TreeRef:
        """Bring the tree of *version* here; the caller holds the lock.

        SourceError lists every source that was tried, in order, and why it failed.
        """
        self.repository.ensure()
        failures: list[str] = []
        for kind in self.config.order:
            try:
                return self._obtain_by(kind, version)
            except SourceError as error:
                if self._prospect(kind, version, self.offers()).is_possible:
                    _log.info(f"{kind}: {error.message}")
                detail = error.detail.replace("\n", "\n  ")
                failures.append(f"{kind}: {error.message}" + (f"\n  {detail}" if detail else ""))
        self._remember_failure(version)
        raise SourceError(
            f"the source of PostgreSQL {version} cannot be reached",
            detail="\n".join(failures) or f"No source is configured in {CONFIG_NAME}.",
            hint=self.advice(version),
        )

    def advice(self, version: Version) -> str:
        """What would make *version* reachable."""
        ways = []
        if not (SourceKind.GIT in self.config.order and self.upstream.is_configured):
            ways.append(f"set [sources.git] upstream in {CONFIG_NAME} to a URL or a local clone")
        release = self.catalog.get(version)
        if SourceKind.TARBALL not in self.config.order:
            ways.append(f'add "tarball" to [sources] order in {CONFIG_NAME}')
        elif release is None or release.sha256 is None:
            ways.append("give its sha256 in builders/releases.toml")
        return f"To reach it, {', or '.join(ways)}." if ways else "Check the network and try again."

    def _obtain_by(self, kind: SourceKind, version: Version) -> TreeRef:
        match kind:
            case SourceKind.GIT:
                return self._from_git(version)
            case SourceKind.TARBALL:
                return self._from_tarball(version)
            case SourceKind.DEBIAN:
                return self._from_debian(version)
            case _:
                assert_never(kind)

    def _from_git(self, version: Version) -> TreeRef:
        if not self.upstream.is_configured:
            raise SourceError("no upstream is configured")
        tagged = self.upstream.releases().get(version)
        if tagged is None:
            self.upstream.refresh(older_than=MINUTES)
            tagged = self.upstream.releases().get(version)
        if tagged is None:
            raise SourceError(f"the upstream has no tag {version.tag}")
        return self.repository.keep_tree(
            version,
            tagged.tree,
            day=self._day(version) or tagged.time.date(),
            origin=f"git tag {version.tag}, commit {tagged.commit}",
        )

    def _from_tarball(self, version: Version) -> TreeRef:
        possible, url = self._tarball_prospect(version)
        release = self.catalog.get(version)
        if not possible or release is None or release.sha256 is None:
            raise SourceError(url)
        host = urlsplit(url).netloc
        if host in self._dead_hosts:
            raise SourceError(f"{host} did not answer a moment ago", detail=self._dead_hosts[host])
        download = Download(url=url, sha256=release.sha256, directory=self.downloads)
        try:
            archive = download.fetch()
        except UnreachableError as error:
            if host:
                self._dead_hosts[host] = error.detail
            raise
        return self._import(version, archive, f"{url} sha256 {release.sha256}")

    def _from_debian(self, version: Version) -> TreeRef:
        self.debian.refresh()
        offers = self.offers()
        package = offers.packages.get(version)
        if package is None:
            raise SourceError(self._debian_prospect(version, offers)[1])
        archive = self.debian.download(package, self.downloads)
        actual, release = digest_file(archive), self.catalog.get(version)
        listed = release.sha256 if release and package.file.endswith(".bz2") else None
        for who, expected in (("the catalog", listed), ("the archive's index", package.sha256)):
            if expected and actual != expected:
                archive.unlink()
                raise SourceError(
                    f'"{package.file}" is not what {who} says',
                    detail=f"sha256 expected: {expected}\nsha256 received: {actual}",
                )
        origin = f"debian {package.name} {package.version} {package.file} sha256 {actual}"
        return self._import(version, archive, origin)

    def _import(self, version: Version, archive: Path, origin: str) -> TreeRef:
        _log.info(f"importing {archive.name}")
        try:
            return self.repository.import_tarball(
                version, archive, day=self._day(version), origin=origin
            )
        finally:
            # its tree is in the repository now; or it is no good, though verified
            archive.unlink(missing_ok=True)

    def _day(self, version: Version) -> date | None:
        release = self.catalog.get(version)
        return release.date if release else None

    def failed_recently(self, version: Version) -> bool:
        """Whether *version* was tried in vain within a day, under the same configuration."""
        when = self._failures().get(str(version), 0.0)
        return 0 <= self.clock() - when < DAY

    def _remember_failure(self, version: Version) -> None:
        failures = self._failures() | {str(version): self.clock()}
        write_atomic(self._memory, canonical_json({"key": self._key, "failed": failures}))

    def _failures(self) -> dict[str, float]:
        try:
            facts = json.loads(self._memory.read_text())
            return dict(facts["failed"]) if facts["key"] == self._key else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    @property
    def _memory(self) -> Path:
        return self.downloads / "failed.json"

    @property
    def _key(self) -> str:
        return digest_text(repr((self.config, self.catalog)))
