"""The git upstream: a URL or a clone on this machine, fetched into refs of our own."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from base.errors import RefError, SourceError, UsageError
from base.files import storage_errors, write_atomic
from base.version import Version
from builders.config import SourceConfig, is_path
from builders.source.git import Git
from builders.source.refs import Revision
from builders.source.repository import Repository

_log = logging.getLogger(__name__)

HEADS = "refs/landspeed/heads"
TRACKED = "refs/landspeed/tracked"
TAGS = "refs/landspeed/tags"
KEPT = "refs/landspeed/kept"
REMOTES = "refs/landspeed/remotes"
UNLISTED = "refs/landspeed/unlisted"
_REMOTE = "upstream"
_REFSPECS = (
    f"+refs/heads/*:{HEADS}/*",
    f"+refs/remotes/origin/*:{TRACKED}/*",
    f"+refs/tags/REL*:{TAGS}/REL*",
)
_FETCH = (
    *("fetch", "--quiet", "--prune"),
    *("--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"),
)
# Git refuses another user's clone unless a configuration allows it, and ours reads none. That the
# clone is named in landspeed.toml allows it.
_UPLOAD_PACK = "--upload-pack=git -c 'safe.directory=*' upload-pack"
_SHOWN = ("master", "REL*_STABLE")
_VIEW = "releases"
_CFBOT = "cf"
DAY = 86400
MINUTES = 600


@dataclass(frozen=True, kw_only=True)
class TaggedRelease:
    """A release that upstream's git has: its commit, tree and time."""

    version: Version
    commit: str
    tree: str
    time: datetime


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """The history of PostgreSQL in the repository, and its names of commits.

    master, the REL…_STABLE branches and those that are shown appear as real branches; everything
    upstream calls anything is under refs/landspeed. Where a branch was rewritten, what it was
    stays under refs/landspeed/kept: a measured commit must not vanish.
    """

    repository: Repository
    config: SourceConfig
    clock: Callable[[], float] = time.time

    @property
    def is_configured(self) -> bool:
        """Whether landspeed.toml names an upstream."""
        return bool(self.config.upstream)

    @property
    def age(self) -> float:
        """Seconds since the upstream was last fetched; infinite if never, or it was another."""
        try:
            stamp, _, location = self._stamp.read_text().partition(" ")
            age = abs(self.clock() - float(stamp))
        except (OSError, ValueError):
            return float("inf")
        is_same = location == self.config.upstream and self.repository.exists
        return age if is_same and age >= 0 else float("inf")

    @property
    def _stamp(self) -> Path:
        return self.repository.directory.parent / "upstream.stamp"

    @property
    def _git(self) -> Git:
        return self.repository.git

    def configure(self) -> None:
        """Write the configuration of an existing repository anew."""
        if self.repository.exists:
            directory = self.config.upstream_directory
            if directory is not None and directory.is_dir() and self._missing_lender():
                self._borrow(directory)  # the clone was moved, and landspeed.toml says where to
            packs = self.repository.directory / "objects" / "pack"
            is_partial = self.config.upstream_directory is None or any(packs.glob("*.promisor"))
            self.repository.configure(self.config.upstream if is_partial else "")

    def refresh(self, *, older_than: float) -> None:
        """Fetch, unless that was done within *older_than* seconds; the caller holds the lock."""
        if self.age <= older_than:
            return
        upstream = f'the git upstream "{self.config.upstream}"'
        with _fetching(upstream, "Check [sources.git] upstream in landspeed.toml."):
            directory = self.config.upstream_directory
            if directory is not None:
                self._borrow(directory)
                self._forget_vanished()
                location = [_UPLOAD_PACK, str(directory)]
            else:
                self.configure()
                location = ["--filter=blob:none", _REMOTE]
            before = self._tips()
            try:
                self._git.run(*_FETCH, *location, *_REFSPECS)
            finally:
                # one that fails may have moved some of the branches
                self._keep_rewritten(before)
        self.show(_SHOWN)
        write_atomic(self._stamp, f"{self.clock()} {self.config.upstream}")

    def _borrow(self, clone: Path) -> None:
        """Let objects of *clone* serve as ours, so that a fetch copies none."""
        if not clone.is_dir():
            raise SourceError(f"There is no {clone}.")
        inside = clone / ".git" if (clone / ".git").exists() else clone
        asked = ("--path-format=absolute", "--git-path", "objects", "--is-shallow-repository")
        found, shallow = Git(directory=inside).text("rev-parse", *asked).splitlines()
        if shallow == "true":
            raise UsageError(
                "the git upstream is a shallow clone",
                detail=f"{clone} lacks history.",
                hint='Complete it by "git fetch --unshallow"; in a workflow check out with '
                '"fetch-depth: 0".',
            )
        promised = any(Path(found, "pack").glob("*.promisor"))
        all_tips = ("rev-list", "--objects", "--missing=print", "--no-walk", "--all")
        if promised and b"\n?" in Git(directory=inside).run(*all_tips):
            raise UsageError(
                "the git upstream is a partial clone",
                detail=f"{clone} lacks contents of files.",
                hint="Clone it without --filter, or give the URL that it was cloned from.",
            )
        former = [path for path in self._lenders() if path != found and Path(path).is_dir()]
        write_atomic(self._alternates, "\n".join([found, *former, ""]))

    def _forget_vanished(self) -> None:
        """Delete the refs to objects that the borrowed clone dropped: they make git fetch fail."""
        names = self._git.run("for-each-ref", "--format=%(refname)")
        found = self._git.run("cat-file", "--batch-check", stdin=names).splitlines()
        gone = [line.removesuffix(b" missing") for line in found if line.endswith(b" missing")]
        self._git.run("update-ref", "--stdin", stdin=b"".join(b"delete %s\n" % one for one in gone))

    @property
    def _alternates(self) -> Path:
        return self.repository.directory / "objects" / "info" / "alternates"

    def _lenders(self) -> list[str]:
        """Return the directories of objects we borrow, the configured upstream's first."""
        return self._alternates.read_text().splitlines() if self._alternates.is_file() else []

    def _missing_lender(self) -> str | None:
        """Return the directory of borrowed objects if it is gone; without it we know no commit."""
        return next((path for path in self._lenders() if not Path(path).is_dir()), None)

    def remote_of(self, revision: Revision) -> str | None:
        """Return the name of the remote whose branch *revision* asks for, as NAME/BRANCH."""
        name, slash, _ = revision.base.partition("/")
        known = {*self.config.remotes, *([_CFBOT] if self.config.cfbot else [])}
        return name if slash and name in known else None

    def refresh_remote(self, name: str, revision: Revision) -> None:
        """Fetch the branches of the remote *name*, of cfbot's only that of *revision*.

        All of their contents that is not here: only the upstream is asked for files later. The
        caller holds the lock.
        """
        location = self.config.remotes.get(name, self.config.cfbot)
        wanted = f"+refs/heads/*:{REMOTES}/{name}/*"
        local = [_UPLOAD_PACK] if is_path(location) else []
        if name == _CFBOT:  # it has a branch for each of hundreds of patches, called cf/NUMBER
            wanted = f"+refs/heads/{revision.base}:{REMOTES}/{revision.base}"
        hint = "Check [sources.git.remotes] in landspeed.toml, or $LANDSPEED_REMOTES."
        with _fetching(f'remote "{name}", {location},', hint):
            self._git.run(*_FETCH, *local, location, wanted)
        if name == _CFBOT:
            self.mark_unlisted(self._git.text("rev-parse", f"{REMOTES}/{revision.base}"))

    def mark_unlisted(self, commit: str) -> None:
        """Keep *commit*, which anybody may have sent, and know it and its ancestors as such."""
        self._git.run("update-ref", f"{UNLISTED}/{commit}", commit)

    def _tips(self) -> dict[str, str]:
        lines = self._git.text("for-each-ref", "--format=%(refname) %(objectname)", HEADS, TRACKED)
        return dict(line.split(" ") for line in lines.splitlines())

    def _keep_rewritten(self, before: dict[str, str]) -> None:
        after = self._tips()
        for name, old in before.items():
            new = after.get(name)
            if new == old or (new and self._git.test("merge-base", "--is-ancestor", old, new)):
                continue
            _log.info(f"{name.rpartition('/')[2]} was rewritten upstream; its old commits are kept")
            self._git.run("update-ref", f"{KEPT}/{old}", old)
            self._copy_borrowed(old)

    def _copy_borrowed(self, tip: str) -> None:
        """Copy what only *tip* reaches out of the borrowed clone, which may soon drop it."""
        if self.config.upstream_directory is None:
            return
        spared = ["--not", f"--glob={HEADS}/*", f"--glob={TRACKED}/*", f"--glob={TAGS}/*"]
        listed = self._git.run("rev-list", "--objects", "--no-object-names", tip, *spared)
        pack = self.repository.directory / "objects" / "pack" / "pack"
        with storage_errors("keep commits that upstream dropped", pack):
            pack.parent.mkdir(parents=True, exist_ok=True)
            self._git.run("pack-objects", "--quiet", str(pack), stdin=listed)

    def show(self, patterns: Iterable[str]) -> None:
        """Make branches of our own of those that match one of *patterns*, as last fetched.

        asv draws no others. ``releases`` is our view's, whatever upstream has by that name.
        """
        some = list(patterns)
        shown = {
            f"refs/heads/{name}": tip
            for name, tip in self.branches().items()
            if name.partition("/")[0] != _VIEW and any(fnmatchcase(name, one) for one in some)
        }
        # a branch of ours that upstream removed may stand in the way: feature of feature/x
        ours = self._git.text("for-each-ref", "--format=%(refname)", "refs/heads").splitlines()
        clashing = [
            old
            for old in ours
            if any(old.startswith(f"{new}/") or new.startswith(f"{old}/") for new in shown)
        ]
        for updates in (
            [f"delete {name}\n" for name in clashing],
            [f"update {name} {tip}\n" for name, tip in shown.items()],
        ):
            self._git.run("update-ref", "--stdin", stdin="".join(updates).encode())

    def branches(self) -> dict[str, str]:
        """Return all its branches, as last fetched: name → the hash at the tip."""
        # HEADS sort before TRACKED, which so win: a clone's own branches may be old
        return {
            name.removeprefix(f"{HEADS}/").removeprefix(f"{TRACKED}/"): tip
            for name, tip in self._tips().items()
            if name != f"{TRACKED}/HEAD"
        }

    def has(self, commit: str) -> bool:
        """Return whether *commit*, which is here, is or was on a branch or tag of the upstream."""
        return self._contains(commit, HEADS, TRACKED, TAGS, KEPT)

    def is_listed(self, commit: str) -> bool:
        """Return whether *commit* is the upstream's or a listed remote's, no patch or cfbot's."""
        remotes = [f"{REMOTES}/{name}" for name in self.config.remotes]
        is_known = self._contains(commit, HEADS, TRACKED, TAGS, KEPT, *remotes)
        # of cfbot's branches the last one may have been fetched and, by a kill -9, not marked
        return is_known or not self._contains(commit, UNLISTED, f"{REMOTES}/{_CFBOT}")

    def _contains(self, commit: str, *places: str) -> bool:
        return bool(self._git.text("for-each-ref", "--count=1", f"--contains={commit}", *places))

    def releases(self) -> dict[Version, TaggedRelease]:
        """Return the versions that upstream tagged, betas included, as far as they were fetched."""
        if not self.is_configured or not self.repository.exists or self._missing_lender():
            return {}
        fields = ("refname:lstrip=3", "objectname", "tree", "*objectname", "*tree")
        form = "%09".join(f"%({name})" for name in (*fields, "creatordate:unix"))
        found = {}
        for line in self._git.run("for-each-ref", f"--format={form}", TAGS).decode().splitlines():
            tag, commit, tree, peeled, peeled_tree, seconds = line.split("\t")
            version = Version.from_tag(tag)
            if version is None or (version.is_release and version.tag != tag):
                continue
            if peeled_tree or tree:
                found[version] = TaggedRelease(
                    version=version,
                    commit=peeled or commit,
                    tree=peeled_tree or tree,
                    time=datetime.fromtimestamp(int(seconds or 0), UTC),
                )
        return found

    def find(self, revision: Revision) -> str | None:
        """Return the hash of the commit that *revision* names, as far as is known here.

        RefError when an abbreviated hash could be more than one commit.
        """
        if not self.repository.exists:
            return None
        lender = self._missing_lender()
        if lender:
            raise SourceError(
                "the clone that the source repository borrows from is gone",
                detail=f"There is no {lender}.",
                hint="Put it back, or set [sources.git] upstream to where it is now.",
            )
        remote = self.remote_of(revision)
        places = (REMOTES,) if remote else ("refs/heads", TRACKED, HEADS, TAGS)
        names = [f"{place}/{revision}" for place in places if revision.base != _VIEW]
        if revision.is_full_hash:
            names.append(str(revision))
        found = self._git.peel("commit", *names)
        if found or revision.is_full_hash or not revision.may_be_hash:
            return found
        base = self._unabbreviated(revision.base)
        return self._git.peel("commit", f"{base}{revision.suffix}") if base else None

    def _unabbreviated(self, prefix: str) -> str | None:
        names = self._git.text("rev-parse", f"--disambiguate={prefix}").splitlines()
        kinds = self._git.text("cat-file", "--batch-check", stdin="\n".join([*names, ""]))
        commits = [line.split()[0] for line in kinds.splitlines() if line.split()[1] == "commit"]
        if len(commits) > 1:
            form = "--format=%h %cs %s"
            shown = self._git.text("show", "--no-patch", form, *sorted(commits)[:5])
            raise RefError(
                f'commit hash "{prefix}" is ambiguous',
                detail=f"{len(commits)} commits begin with it:\n{shown}",
                hint="Give more digits.",
            )
        return commits[0] if commits else None


@contextmanager
def _fetching(what: str, hint: str) -> Iterator[None]:
    _log.info(f"fetching {what.removesuffix(',')}")
    try:
        yield
    except SourceError as error:
        raise SourceError(
            f"{what} could not be fetched", detail=error.detail or error.message, hint=hint
        ) from error
