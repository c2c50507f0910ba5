"""What is known of releases without asking anyone, and which of them are here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from base.version import Version
from builders.catalog import Release, is_covered
from builders.config import SourceKind
from builders.source.fetch import Fetcher
from builders.source.upstream import TaggedRelease
from builders.source.view import Entry


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
class Inventory:
    """What is known from this machine alone: catalog, index, tags, trees."""

    fetcher: Fetcher

    def tagged(self) -> dict[Version, TaggedRelease]:
        """The versions, betas included, that the git upstream tagged."""
        return self.fetcher.offers().tags if self._has(SourceKind.GIT) else {}

    def versions(self) -> set[Version]:
        """Every version that anything knows, betas that upstream tagged included."""
        packaged = self.fetcher.offers().packages if self._has(SourceKind.DEBIAN) else {}
        found = {v for v in (*packaged, *self.tagged()) if is_covered(v)}
        return found | {release.version for release in self.releases()}

    def releases(self) -> tuple[Release, ...]:
        """The releases whose day is known, ascending: the catalog's, and those here or tagged."""
        trees = self.fetcher.repository.trees().values()
        here = [Release(version=t.version, date=t.date) for t in trees]
        tagged = [Release(version=t.version, date=t.time.date()) for t in self.tagged().values()]
        found = self.fetcher.catalog.merged([*tagged, *here]).releases
        return tuple(r for r in found if r.version.is_release and is_covered(r.version))

    def entries(self) -> list[Entry]:
        """What the ``releases`` branch is to show."""
        trees = {version: tagged.tree for version, tagged in self.tagged().items()}
        trees |= {version: kept.tree for version, kept in self.fetcher.repository.trees().items()}
        return [Entry(name=r.name, date=r.date, tree=trees.get(r.version)) for r in self.releases()]

    def statuses(self) -> list[ReleaseStatus]:
        """Every known release, ascending, without asking anyone."""
        here = self.fetcher.repository.trees()
        offers = self.fetcher.offers()
        dates = {r.version: r.date for r in self.releases()}
        statuses = []
        for version in sorted(v for v in self.versions() if v.is_release):
            prospects = self.fetcher.prospects(version, offers)
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

    def _has(self, kind: SourceKind) -> bool:
        return kind in self.fetcher.config.order
