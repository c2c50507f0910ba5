"""What the configured sources have, and how to obtain a release from them."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from urllib.parse import urlsplit

from base.errors import SourceError
from base.files import canonical_json, digest_file, digest_text, write_atomic
from base.paths import Paths
from base.version import Version
from builders.catalog import Catalog, Release, is_covered
from builders.config import CONFIG_NAME, SourceConfig, SourceKind
from builders.source.apt import Apt, debian_mirror
from builders.source.debian import DebianArchive, Package
from builders.source.repository import Repository, TreeRef
from builders.source.tarball import Download, UnreachableError
from builders.source.upstream import DAY, MINUTES, TaggedRelease, Upstream
from builders.source.view import Entry

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
    """What upstream's tags and Debian's index were last seen to hold, if they are configured."""

    tags: dict[Version, TaggedRelease]
    packages: dict[Version, Package]


@dataclass(frozen=True, kw_only=True)
class ReleaseStatus:
    """What is known of a release without the network.

    ``tree`` is its tree if that is here and ``taken_from`` says from where; ``reach`` holds one
    line per configured source: how that would bring it, or why it cannot. ``is_reachable`` is
    whether any is thought to.
    """

    version: Version
    date: date | None
    tree: str | None
    taken_from: str | None
    is_reachable: bool
    reach: tuple[str, ...]

    @property
    def is_here(self) -> bool:
        """Whether its tree is on this machine."""
        return self.tree is not None


@dataclass(frozen=True, kw_only=True)
class Fetcher:
    """What the configured sources have, and how a release's tree gets into the repository."""

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
        """Return the fetcher of a cache, with its upstream and its Debian archive."""
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

    # -- what is known without asking anyone ---------------------------------------------------

    def offers(self) -> Offers:
        """Return what the configured sources were last seen to have."""
        has = self.config.order.__contains__
        return Offers(
            tags=self.upstream.releases() if has(SourceKind.GIT) else {},
            packages=self.debian.index().packages if has(SourceKind.DEBIAN) else {},
        )

    def versions(self) -> set[Version]:
        """Return every version that anything knows, with the betas that upstream tagged."""
        offers = self.offers()
        found = {v for v in (*offers.packages, *offers.tags) if is_covered(v)}
        return found | {release.version for release in self.releases()}

    def releases(self) -> tuple[Release, ...]:
        """Return the releases whose day is known, ascending: in the catalog, tagged or here."""
        here = [Release(version=t.version, date=t.date) for t in self.repository.trees().values()]
        tags = self.offers().tags.values()
        tagged = [Release(version=t.version, date=t.time.date()) for t in tags]
        found = self.catalog.merged([*tagged, *here]).releases
        return tuple(r for r in found if r.version.is_release and is_covered(r.version))

    def entries(self) -> list[Entry]:
        """Return what the ``releases`` branch is to show."""
        trees = {version: tagged.tree for version, tagged in self.offers().tags.items()}
        trees |= {version: kept.tree for version, kept in self.repository.trees().items()}
        return [Entry(name=r.name, date=r.date, tree=trees.get(r.version)) for r in self.releases()]

    def statuses(self) -> list[ReleaseStatus]:
        """Return the status of every known release, ascending."""
        here, offers = self.repository.trees(), self.offers()
        dates = {r.version: r.date for r in self.releases()}
        statuses = []
        for version in sorted(v for v in self.versions() if v.is_release):
            prospects = self.prospects(version, offers)
            kept = here.get(version)
            statuses.append(
                ReleaseStatus(
                    version=version,
                    date=dates.get(version),
                    tree=kept.tree if kept else None,
                    taken_from=kept.origin if kept else None,
                    is_reachable=kept is not None or any(p.is_possible for p in prospects),
                    reach=tuple(map(str, prospects)),
                )
            )
        return statuses

    def prospects(self, version: Version, offers: Offers | None = None) -> list[Prospect]:
        """Return what each configured source promises for *version*, in order."""
        offers = offers or self.offers()
        ask = {
            SourceKind.GIT: self._git_prospect,
            SourceKind.TARBALL: self._tarball_prospect,
            SourceKind.DEBIAN: self._debian_prospect,
        }
        found = [(kind, *ask[kind](version, offers)) for kind in self.config.order]
        return [
            Prospect(kind=kind, is_possible=possible, text=text) for kind, possible, text in found
        ]

    def _git_prospect(self, version: Version, offers: Offers) -> tuple[bool, str]:
        if not self.upstream.is_configured:
            return False, "no upstream is configured"
        if version in offers.tags:
            return True, f"tag {version.tag}"
        if self.upstream.age > DAY:
            return True, f"tag {version.tag}, if {self.config.upstream} has it"
        return False, f"the upstream has no tag {version.tag}"

    def _tarball_prospect(self, version: Version, _: Offers) -> tuple[bool, str]:
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

    # -- fetching ------------------------------------------------------------------------------

    def obtain(self, version: Version) -> TreeRef:
        """Bring the tree of *version* here; the caller holds the lock.

        The SourceError lists every source that was tried, in order, and why it failed.
        """
        self.repository.ensure()
        obtain = {
            SourceKind.GIT: self._from_git,
            SourceKind.TARBALL: self._from_tarball,
            SourceKind.DEBIAN: self._from_debian,
        }
        failures: list[str] = []
        for kind in self.config.order:
            try:
                return obtain[kind](version)
            except SourceError as error:
                if any(p.kind is kind and p.is_possible for p in self.prospects(version)):
                    _log.info(f"{kind}: {error.message}")
                detail = error.detail.replace("\n", "\n  ")
                failures.append(f"{kind}: {error.message}" + (f"\n  {detail}" if detail else ""))
        failed = self._failures() | {str(version): self.clock()}
        write_atomic(self._memory, canonical_json({"key": self._key, "failed": failed}))
        raise SourceError(
            f"the source of PostgreSQL {version} cannot be reached",
            detail="\n".join(failures) or f"No source is configured in {CONFIG_NAME}.",
            hint=self.advice(version),
        )

    def advice(self, version: Version) -> str:
        """Return what would make *version* reachable."""
        ways = []
        if not (SourceKind.GIT in self.config.order and self.upstream.is_configured):
            ways.append(f"set [sources.git] upstream in {CONFIG_NAME} to a URL or a local clone")
        release = self.catalog.get(version)
        if SourceKind.TARBALL not in self.config.order:
            ways.append(f'add "tarball" to [sources] order in {CONFIG_NAME}')
        elif release is None or release.sha256 is None:
            ways.append("give its sha256 in builders/releases.toml")
        return f"To reach it, {', or '.join(ways)}." if ways else "Check the network and try again."

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
        possible, url = self._tarball_prospect(version, self.offers())
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
            return self._from_pool(version, self._debian_prospect(version, offers)[1])
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

    def _from_pool(self, version: Version, why: str) -> TreeRef:
        """Return the tree of a *version* that Debian's index does not name; *why* says that.

        A mirror may have new lists before it has the new files, and it keeps the old files for some
        days: until then the release before the newest is all that it has.
        """
        release = self.catalog.get(version)
        if release is None or release.sha256 is None:
            raise SourceError(why)
        name = f"postgresql-{version.major_text}"
        file = f"{name}_{version}.orig.tar.bz2"
        url = f"{self.debian.apt.mirror}/pool/main/p/{name}/{file}"
        try:
            archive = Download(url=url, sha256=release.sha256, directory=self.downloads).fetch()
        except SourceError as error:
            raise SourceError(why, detail=f"{error.message}: {error.detail}") from error
        return self._import(version, archive, f"{url} sha256 {release.sha256}")

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
