"""What asv asks of a repository before it draws: numbers of commits, branches, tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from asv.plugins.git import Git

from base.files import digest_text
from landspeed.site.asv_incremental.manifest import SiteManifest

_FORM = "--format=%(refname)%09%(objectname)%09%(*objectname)%09%(*objecttype)"
_TAGS = "refs/tags/"


class MadeAnewError(Exception):
    """What has changed is more than a renewal can take up; its text says what."""


@dataclass(frozen=True, kw_only=True)
class Refs:
    """Refs are the branches and tags of a repository: a digest of all, and the tags' commits.

    The tags are in asv's order, by the time they were made.
    """

    digest: str
    tags: Mapping[str, str]

    @classmethod
    def of(cls, repo: Git) -> Self:
        """Those of *repo*; one call of git, where asv makes two for each tag."""
        text = repo._run_git(["for-each-ref", "--sort=taggerdate", _FORM])
        tags = {}
        for line in text.splitlines():
            name, own, peeled, kind = line.split("\t")
            if name.startswith(_TAGS):
                if kind == "tag":
                    raise MadeAnewError(f"{name} is a tag of a tag")
                tags[name.removeprefix(_TAGS)] = peeled or own
        return cls(digest=digest_text(text), tags=tags)


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A Drawn is where asv draws commits: their numbers, the measured ones' branches, the tags.

    ``dates`` (ms since 1970) are those of tagged commits that were not known before.
    """

    refs: Refs
    revisions: Mapping[str, int]
    branches: Mapping[str, list[str]]
    dates: Mapping[str, int]

    @classmethod
    def of(
        cls, repo: Git, branches: Iterable[str], last: SiteManifest, commits: Iterable[str]
    ) -> Self:
        """That of *commits*, and of all that *last* has.

        MadeAnewError if of the latter anything has moved, or one of the former is nowhere.
        """
        refs, wanted = Refs.of(repo), set(commits)
        if refs.digest == last.refs and wanted <= last.branches.keys():
            return cls(refs=refs, revisions=last.revisions, branches=last.branches, dates={})
        tagged = set(refs.tags.values())
        revisions = repo.get_revisions({*last.revisions, *wanted, *tagged})
        if any(revisions.get(commit) != number for commit, number in last.revisions.items()):
            raise MadeAnewError("the order of commits is another")
        lines = {branch: set(repo.get_branch_commits(branch)) for branch in branches}
        placed = {
            commit: [branch for branch, line in lines.items() if commit in line]
            for commit in {*last.branches, *wanted}
        }
        if any(placed[commit] != some for commit, some in last.branches.items()):
            raise MadeAnewError("a branch was written anew")
        if not all(placed.values()) or not {*wanted, *tagged} <= revisions.keys():
            raise MadeAnewError("a commit is on no branch")
        dates = {one: repo.get_date_from_name(one) for one in tagged - last.revisions.keys()}
        return cls(refs=refs, revisions=revisions, branches=placed, dates=dates)

    def tagged(self, tag: str) -> int | None:
        """The number of the commit at *tag*; None if there is none."""
        return self.revisions.get(self.refs.tags.get(tag, ""))
