"""Every release and commit that can be built, from whichever source it comes."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path

from base.build import Origin
from base.errors import RefError, SourceError
from base.files import locked
from base.paths import Paths
from base.version import Version
from builders.catalog import Catalog, require_covered
from builders.config import SourceConfig, SourceKind
from builders.source.difference import Change, apply, changes
from builders.source.fetch import Fetcher, ReleaseStatus
from builders.source.history import History, Position, positions
from builders.source.patches import apply_series
from builders.source.refs import Revision, parse_ref
from builders.source.repository import Repository, TreeRef, noon
from builders.source.upstream import DAY, MINUTES, Upstream
from builders.source.view import View

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Source:
    """A clean tree of a release or commit, identified by its git tree hash."""

    version: Version
    origin: Origin


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Resolves refs to sources and exports their trees, through one bare repository."""

    paths: Paths
    catalog: Catalog
    config: SourceConfig

    @cached_property
    def _fetcher(self) -> Fetcher:
        return Fetcher.create(self.paths, self.catalog, self.config)

    @property
    def _repository(self) -> Repository:
        return self._fetcher.repository

    @property
    def _upstream(self) -> Upstream:
        return self._fetcher.upstream

    @property
    def _view(self) -> View:
        return View(repository=self._repository)

    # -- from a ref to a source ------------------------------------------------------------

    def is_of_strangers(self, source: Source) -> bool:
        """Return whether *source* is a commit that upstream never had, such as somebody's patch."""
        commit = source.origin.commit
        return commit is not None and not self._upstream.has(commit)

    def is_listed(self, source: Source) -> bool:
        """Return whether *source* is upstream's or a listed remote's; a patch is neither."""
        commit = source.origin.commit
        return commit is None or self._upstream.is_listed(commit)

    def patched(self, base: Source, patches: Sequence[Path]) -> Source:
        """Return *base* with a series of *patches*, a commit on no branch; see `apply_series`."""
        with self._lock():
            before = base.origin.commit or self._repository.commit_of(base.origin.tree)
            commit = apply_series(self._repository, before, patches)
            self._upstream.mark_unlisted(commit)
        return self._of_commit(commit)

    def resolve(self, ref: str) -> Source:
        """Return the Source that *ref* names, fetched if it is not here yet.

        RefError when it names nothing or too much; SourceError when it is known but cannot
        be reached.
        """
        wanted = parse_ref(ref)
        if isinstance(wanted, Revision):
            return self._resolve_revision(wanted)
        require_covered(wanted.version, f"PostgreSQL {wanted}")
        find = self._resolve_major if wanted.is_major else self._resolve_exact
        return find(wanted.version)

    def _resolve_major(self, major: Version) -> Source:
        self._refresh(DAY)
        candidates = sorted(self._of_major(major), reverse=True)
        if not candidates:
            raise self._unknown(major, f"PostgreSQL {major.major_text}")
        here = self._repository.trees()
        some_here = any(v in here for v in candidates)
        failures: list[SourceError] = []
        for version in candidates:
            if version in here:
                return self._source(here[version])
            can_wait = some_here and self._fetcher.failed_recently(version)
            # a mirror's pool may have the release before the one that its lists name in vain
            if can_wait or not (len(failures) == 1 or self._is_within_reach(version)):
                continue
            try:
                return self._source(self._obtain(version))
            except SourceError as error:
                failures.append(error)
        raise failures[0] if failures else self._unreachable(candidates[0])

    def _resolve_exact(self, version: Version) -> Source:
        here = self._repository.trees().get(version)
        if here is not None:
            return self._source(here)
        if version not in self._fetcher.versions():
            self._refresh(0)  # it may have been released since
            if version not in self._fetcher.versions():
                raise self._unknown(version, f"PostgreSQL {version}")
        return self._source(self._obtain(version))

    def _resolve_revision(self, revision: Revision) -> Source:
        release = None if revision.suffix else self.release_at(revision.base)
        if release is not None:
            return self.resolve(release)
        if SourceKind.GIT not in self.config.order or not self._upstream.is_configured:
            raise RefError(
                f'"{revision}" is not known',
                detail="It is no version, and no git upstream that could have it is configured.",
                hint="Set [sources.git] upstream in landspeed.toml, "
                'or name a release: see "landspeed list".',
            )
        commit = self._find_commit(revision)
        if commit is None:
            remotes = [f"Remote, as {one}/BRANCH: {at}" for one, at in self.config.remotes.items()]
            raise RefError(
                f'the git upstream has no "{revision}"',
                detail="\n".join([f"Upstream: {self.config.upstream}", *remotes]),
                hint="Give a branch, a tag or a commit hash that it has.",
            )
        return self._of_commit(commit)

    def _of_commit(self, commit: str) -> Source:
        shown = self._repository.git.text("show", "--no-patch", "--format=%T %ct", commit)
        tree, _, seconds = shown.partition(" ")
        version = self._repository.version_of(tree)
        if version is None:
            raise RefError(
                f'commit "{commit[:10]}" is not PostgreSQL',
                detail="It has neither a configure script nor a meson.build with a version.",
            )
        require_covered(version, f'commit "{commit[:10]}" (PostgreSQL {version})')
        try:
            when = datetime.fromtimestamp(int(seconds), UTC)
        except (ValueError, OverflowError) as error:
            why = f'commit "{commit[:10]}" has no date that is understood'
            raise RefError(why, detail=str(error)) from error
        origin = Origin(release=None, commit=commit, tree=tree, date=when.isoformat())
        return Source(version=version, origin=origin)

    def _find_commit(self, revision: Revision) -> str | None:
        """Return the commit of *revision*; upstream is fetched if the name is not known."""
        found = self._upstream.find(revision) if revision.may_be_hash else None
        if found:
            return found
        before = self._upstream.age
        self._refresh_upstream(MINUTES)
        if remote := self._upstream.remote_of(revision):
            with self._lock():
                self._upstream.refresh_remote(remote, revision)
        found = self._upstream.find(revision)
        if found is None and before <= MINUTES and not remote:
            self._refresh_upstream(0)  # it may have been pushed since
            found = self._upstream.find(revision)
        return found

    def look_up(self, ref: str) -> tuple[Version, Source | None]:
        """Return what *ref* would resolve to as far as is known, and its source if that is here.

        Asks no one for a release. RefError when *ref* names nothing that is known.
        """
        wanted = parse_ref(ref)
        if isinstance(wanted, Revision):
            source = self.resolve(ref)
            return source.version, source
        require_covered(wanted.version, f"PostgreSQL {wanted}")
        here = self._repository.trees()
        if wanted.is_major:
            of_major = self._of_major(wanted.version)
            within = [v for v in of_major if v in here]
            likely = [v for v in of_major if self._is_within_reach(v)]
            version = max(within or likely or of_major, default=None)
        else:
            if wanted.version not in self._fetcher.versions():
                self._refresh_upstream(0)  # a beta is known by its tag alone
            version = wanted.version if wanted.version in self._fetcher.versions() else None
        if version is None:
            raise self._unknown(wanted.version, f"PostgreSQL {ref}")
        return version, self._source(here[version]) if version in here else None

    def _is_within_reach(self, version: Version) -> bool:
        return any(p.is_possible for p in self._fetcher.prospects(version))

    def _of_major(self, major: Version) -> set[Version]:
        known = self._fetcher.versions()
        return {v for v in known if v.major == major.major and v.is_release}

    # -- what is known, and what is here ---------------------------------------------------

    def statuses(self) -> list[ReleaseStatus]:
        """Return every known release, ascending, without asking anyone."""
        return self._fetcher.statuses()

    def export(self, source: Source, directory: Path) -> None:
        """Write the tree of *source* to the new or empty *directory*, all files of one age.

        Cut short it leaves part of a tree: export to a temporary name, or remove it after.
        """
        when = datetime.fromisoformat(source.origin.date)
        when = when if when.tzinfo else noon(when.date())
        self._repository.export(source.origin.tree, directory, seconds=int(when.timestamp()))

    def size(self, source: Source) -> int:
        """Return the number of C files of *source*: a measure of how long it takes to compile."""
        return sum(name.endswith(".c") for name in self.files(source))

    def changes(self, tree: str, source: Source) -> list[Change] | None:
        """Return the changes from *tree* to the tree of *source*; None if *tree* is not here."""
        git = self._repository.git
        known = git.peel("tree", tree) is not None
        return changes(git, tree, source.origin.tree) if known else None

    def update(self, some: Iterable[Change], directory: Path, *, time_ns: int) -> None:
        """Carry *some* Changes out in *directory*; the files written are dated *time_ns*."""
        apply(self._repository.git, some, directory, time_ns=time_ns)

    def files(self, source: Source) -> list[str]:
        """Return the paths of all files of *source*."""
        listed = self._repository.git.run("ls-tree", "-r", "-z", "--name-only", source.origin.tree)
        return listed.decode(errors="surrogateescape").split("\0")[:-1]

    def hashes(self, source: Source, paths: Iterable[str]) -> str:
        """Return which of *paths* are in *source*, each with its hash, as text."""
        return self._repository.git.text("ls-tree", source.origin.tree, "--", *paths)

    def _source(self, kept: TreeRef) -> Source:
        release = self.catalog.get(kept.version)
        tagged = self._fetcher.offers().tags.get(kept.version)
        origin = Origin(
            release=str(kept.version),
            commit=tagged.commit if tagged and tagged.tree == kept.tree else None,
            tree=kept.tree,
            date=(release.date if release else kept.date).isoformat(),
        )
        return Source(version=kept.version, origin=origin)

    @property
    def history(self) -> History:
        """What lies between the commits that are here."""
        return History(git=self._repository.git)

    def releases_branch(self) -> dict[str, str]:
        """Release name → commit on the ``releases`` branch, rebuilt if its inputs changed.

        A tree that arrives changes its commit and those after it: see ``release_at``.
        """
        if not self._view.is_current(self._fetcher.entries()):
            with self._lock():
                self._repository.ensure()
                entries = self._fetcher.entries()
                if not self._view.is_current(entries):
                    self._view.rebuild(entries)
        return self._view.commits()

    def release_at(self, commit_hash: str) -> str | None:
        """Return the release that a full hash stands for, on the branch as it is or once was."""
        return self._view.release_at(commit_hash) if self._repository.exists else None

    def dates(self, commits: Collection[str]) -> dict[str, datetime]:
        """Return the author dates of *commits* (full hashes), of ``releases`` or of upstream."""
        return self._view.dates_of(commits)

    def positions(self, commits: Collection[str]) -> dict[str, Position]:
        """Where in history *commits* (full hashes) are; those on no branch are left out."""
        if not commits or not self._repository.exists:
            return {}
        return positions(self._repository.git, commits)

    def branches_of(self, commits: Collection[str], watched: Iterable[str] = ()) -> dict[str, str]:
        """Return the branch of our own that each is on, those that match *watched* made such."""
        if not commits or not self._repository.exists:
            return {}
        with self._lock():
            self._upstream.show(watched)
        found = positions(self._repository.git, commits, ours=True)
        return {one: place.branch for one, place in found.items()}

    # -- what is new upstream --------------------------------------------------------------

    def refresh(self) -> None:
        """Ask the git upstream what is new; SourceError if it cannot be reached or is none."""
        if not self._upstream.is_configured:
            raise SourceError(
                "no git upstream is configured",
                detail="What is new can only be told by one.",
                hint="Set [sources.git] upstream in landspeed.toml.",
            )
        with self._lock():
            self._repository.ensure()
            self._upstream.refresh(older_than=-1)

    def fetch_missing(self, commits: Collection[str]) -> None:
        """Ask the git upstream what is new if one of *commits* (full hashes) is not here.

        Being unable is said, and what is not known even then stays so.
        """
        if not commits or not self._upstream.is_configured:
            return
        if not self._repository.exists or not self._repository.has(commits):
            self._refresh_upstream(MINUTES)

    def branches(self) -> dict[str, str]:
        """Upstream's branches, as last fetched: name → the commit at its tip."""
        return self._upstream.branches() if self._repository.exists else {}

    def tagged(self) -> dict[Version, str]:
        """Return the versions that upstream tagged, as last fetched, each with its commit."""
        return {version: one.commit for version, one in self._upstream.releases().items()}

    # -- reaching out ----------------------------------------------------------------------

    def _obtain(self, version: Version) -> TreeRef:
        with self._lock():
            here = self._repository.trees().get(version)  # another landspeed may have been faster
            return here or self._fetcher.obtain(version)

    def _refresh(self, older_than: float) -> None:
        """Ask the sources what is new, where that was not done lately; being unable is said."""
        self._refresh_upstream(older_than)
        debian = self._fetcher.debian
        if SourceKind.DEBIAN in self.config.order and debian.is_due():
            with self._lock(), self._tolerant():
                debian.refresh()

    def _refresh_upstream(self, older_than: float) -> None:
        wanted = SourceKind.GIT in self.config.order and self._upstream.is_configured
        if wanted and self._upstream.age > older_than:
            with self._lock():
                self._repository.ensure()
                with self._tolerant():
                    self._upstream.refresh(older_than=older_than)

    @contextmanager
    def _tolerant(self) -> Iterator[None]:
        try:
            yield
        except SourceError as error:
            _log.info(": ".join(filter(None, (error.message, error.detail))))

    @contextmanager
    def _lock(self) -> Iterator[None]:
        waiting = partial(_log.info, "waiting for another landspeed that is fetching sources")
        with locked(self.paths.cache / "sources.lock", waiting=waiting):
            self._repository.sweep()
            yield

    def _unknown(self, version: Version, what: str) -> RefError:
        near = Catalog(releases=self._fetcher.releases()).nearby(version)
        return RefError(
            f"{what} is not known",
            detail=f"Known nearby: {', '.join(release.name for release in near)}.",
            hint='"landspeed list" shows all; a new release is a stanza in builders/releases.toml.',
        )

    def _unreachable(self, version: Version) -> SourceError:
        prospects = map(str, self._fetcher.prospects(version))
        return SourceError(
            f"PostgreSQL {version} is known, but its source cannot be reached",
            detail="\n".join(prospects) or "No source is configured in landspeed.toml.",
            hint=self._fetcher.advice(version),
        )
