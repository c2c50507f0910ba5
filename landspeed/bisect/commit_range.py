"""The Line: the candidates between GOOD and BAD, in order, whatever they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from base.errors import RefError, UsageError
from builders.source import Source
from builders.source.history import Commit, History
from builders.source.sources import Sources


class Over(StrEnum):
    """An Over is what a bisection goes over: commits, releases, or build variants."""

    COMMITS = "commits"
    RELEASES = "releases"
    VARIANTS = "variants"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A Candidate is one place on a Line: a commit or a release; ``ref`` is its full name."""

    ref: str
    name: str
    date: str
    subject: str


@dataclass(frozen=True, kw_only=True)
class CommitRange:
    """A Line is what lies between GOOD, its first Candidate, and BAD, its last."""

    over: Over
    candidates: tuple[Candidate, ...]

    @property
    def last(self) -> int:
        """BAD's position."""
        return len(self.candidates) - 1

    @property
    def positions(self) -> Mapping[str, int]:
        """Where each Candidate is, by its ref."""
        return {candidate.ref: at for at, candidate in enumerate(self.candidates)}

    def __getitem__(self, position: int) -> Candidate:
        return self.candidates[position]


def commit_line(sources: Sources, good: str, bad: str) -> CommitRange:
    """The first-parent history from *good* to *bad*; RefError where there is none."""
    ends = [_commit_of(sources.resolve(ref), ref) for ref in (good, bad)]
    if ends[0] == ends[1]:
        raise _same(good, bad, f"commit {ends[0][:10]}")
    return line_between(sources.history, *ends)


def line_between(history: History, good: str, bad: str) -> CommitRange:
    """The Line from commit *good* to commit *bad*, given by their hashes."""
    commits = [history.commit(good), *history.between(good, bad)]
    return CommitRange(over=Over.COMMITS, candidates=tuple(map(_of_commit, commits)))


def release_line(sources: Sources, good: str, bad: str) -> CommitRange:
    """The releases from *good* to *bad* in version order, as on the ``releases`` branch."""
    names = [_release_of(sources.resolve(ref), ref) for ref in (good, bad)]
    if names[0] == names[1]:
        raise _same(good, bad, f"release {names[0]}")
    known = list(sources.releases_branch())
    first, last = (known.index(name) for name in names)
    if first > last:
        raise RefError(
            "GOOD comes after BAD",
            detail=f"Release {names[1]} is before {names[0]}.",
            hint="Give the older one first; to look for what made the newer one faster, "
            "add --improvement.",
        )
    dates = _dates(sources)
    return CommitRange(
        over=Over.RELEASES,
        candidates=tuple(
            Candidate(ref=n, name=n, date=dates.get(n, ""), subject=f"PostgreSQL {n}")
            for n in known[first : last + 1]
        ),
    )


def deep_line(sources: Sources, good: Candidate, bad: Candidate) -> CommitRange:
    """The commits between two neighbouring releases: from where their branches parted."""
    commits = [_commit_of(sources.resolve(one.ref), one.ref) for one in (good, bad)]
    base = sources.history.merge_base(*commits)
    return line_between(sources.history, base or commits[0], commits[1])


def _dates(sources: Sources) -> dict[str, str]:
    return {str(r.version): r.date.isoformat() for r in sources.catalog.releases}


def _of_commit(commit: Commit) -> Candidate:
    return Candidate(
        ref=commit.hash, name=commit.name, date=commit.date[:10], subject=commit.subject
    )


def _commit_of(source: Source, ref: str) -> str:
    if source.origin.commit is None:
        raise RefError(
            f'"{ref}" is known as a release, not as a commit',
            detail="Its source came without a history.",
            hint="Set [sources.git] upstream in landspeed.toml, or bisect --over releases.",
        )
    return source.origin.commit


def _release_of(source: Source, ref: str) -> str:
    if source.origin.release is None:
        raise RefError(
            f'"{ref}" is not a release',
            hint="Name two releases such as 17.0 and 18, or bisect --over commits.",
        )
    return source.origin.release


def _same(good: str, bad: str, what: str) -> UsageError:
    named: Sequence[str] = list(dict.fromkeys((good, bad)))
    return UsageError(
        "GOOD and BAD are the same",
        detail=f"{' and '.join(named)}: both are {what}."
        if len(named) > 1
        else f"Both are {what}.",
        hint='"landspeed compare" with --aa tells how much two measurements of one server differ.',
    )
