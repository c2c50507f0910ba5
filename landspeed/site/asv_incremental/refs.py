"""What asv asks of a repository before it draws: positions of commits, branches, tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from asv.plugins.git import Git
from asv.util import check_output, which

from base.files import digest_text
from landspeed.site.asv_incremental.manifest import SiteManifest

_FORM = "--format=%(refname)%09%(objectname)%09%(*objectname)%09%(*objecttype)"
_TAGS = "refs/tags/"


class FullPublishNeededError(Exception):
    """The last site cannot be brought up to date; the text says why."""


def refs_of(repository: str) -> tuple[str, dict[str, str]]:
    """Return a digest of all branches and tags of *repository*, and the commit of each tag.

    The tags are in asv's order, by the time they were made. There is one call of git, where asv
    makes two for each tag.
    """
    text = check_output(
        [which("git"), "-C", repository, "for-each-ref", "--sort=taggerdate", _FORM]
    )
    tags = {}
    for line in text.splitlines():
        name, own, peeled, kind = line.split("\t")
        if name.startswith(_TAGS):
            if kind == "tag":
                raise FullPublishNeededError(f"{name} is a tag of a tag")
            tags[name.removeprefix(_TAGS)] = peeled or own
    return digest_text(text), tags


@dataclass(frozen=True, kw_only=True)
class CommitPositions:
    """Where asv draws commits: their revision numbers, the branches of the measured ones, tags.

    ``refs`` is a digest of all branches and tags, ``tags`` has the commit of each tag. ``dates``
    (ms since 1970) are those of tagged commits that the last site did not have.
    """

    refs: str
    tags: Mapping[str, str]
    revisions: Mapping[str, int]
    branches: Mapping[str, list[str]]
    dates: Mapping[str, int]

    @classmethod
    def of(
        cls, repo: Git, url: str, branches: Iterable[str], last: SiteManifest, commits: set[str]
    ) -> Self:
        """Return the positions of *commits*, and of all commits that *last* has.

        FullPublishNeededError if a known commit has moved, or a new one is on none of *branches*.
        """
        refs, tags = refs_of(url)
        if refs == last.refs and commits <= last.branches.keys():
            revisions, placed = last.revisions, last.branches
            return cls(refs=refs, tags=tags, revisions=revisions, branches=placed, dates={})
        tagged = set(tags.values())
        revisions = repo.get_revisions({*last.revisions, *commits, *tagged})
        if any(revisions.get(commit) != number for commit, number in last.revisions.items()):
            raise FullPublishNeededError("the order of commits has changed")
        on_branch = {branch: set(repo.get_branch_commits(branch)) for branch in branches}
        placed = {
            commit: [branch for branch, some in on_branch.items() if commit in some]
            for commit in {*last.branches, *commits}
        }
        if any(placed[commit] != some for commit, some in last.branches.items()):
            raise FullPublishNeededError("the history of a branch was rewritten")
        if not all(placed.values()) or not {*commits, *tagged} <= revisions.keys():
            raise FullPublishNeededError("a commit is on no branch")
        dates = {one: repo.get_date_from_name(one) for one in tagged - last.revisions.keys()}
        return cls(refs=refs, tags=tags, revisions=revisions, branches=placed, dates=dates)

    def tagged(self, tag: str) -> int | None:
        """Return the revision number of the commit at *tag*; None if there is none."""
        return self.revisions.get(self.tags.get(tag, ""))
