"""The candidates between GOOD and BAD, in order: commits or releases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from base.errors import LandspeedError, RefError, UsageError
from builders.source import Source
from builders.source.history import History
from builders.source.sources import Sources
from landspeed.console.format import counted


class RangeKind(StrEnum):
    """What lies between GOOD and BAD."""

    COMMITS = "commits"
    RELEASES = "releases"
    VARIANTS = "variants"

    @property
    def noun(self) -> str:
        """The word for one of them."""
        return self.value.removesuffix("s")


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A commit or a release of a range; ``ref`` is its full name, ``date`` is YYYY-MM-DD."""

    ref: str
    name: str
    date: str
    subject: str


@dataclass(frozen=True, kw_only=True)
class CommitRange:
    """The candidates from GOOD, the first, to BAD, the last."""

    kind: RangeKind
    candidates: tuple[Candidate, ...]

    @property
    def last(self) -> int:
        """The position of BAD."""
        return len(self.candidates) - 1

    @property
    def positions(self) -> Mapping[str, int]:
        """The position of each candidate, by its ref."""
        return {candidate.ref: at for at, candidate in enumerate(self.candidates)}

    @property
    def text(self) -> str:
        """How many steps it has, and its ends."""
        first, last = self.candidates[0], self.candidates[-1]
        return f"{counted(self.last, self.kind.noun)} from {first.name} to {last.name}"

    def __getitem__(self, position: int) -> Candidate:
        return self.candidates[position]

    def require_inside(self, position: int, error: LandspeedError, what: str) -> None:
        """Raise *error* as one of GOOD or BAD, which *what* says, if *position* is an end."""
        if 0 < position < self.last:
            return
        end = "GOOD" if position == 0 else "BAD"
        raise type(error)(
            f"{end} ({self[position].name}) {what}",
            detail="\n".join(filter(None, (error.message, error.detail))),
            hint=error.hint or "Choose another end: GOOD and BAD must build and run.",
        ) from error


def commit_range(
    sources: Sources, good: str, bad: str, *, apart: Iterable[str] = ()
) -> CommitRange:
    """Return the first-parent history from *good* to *bad*; RefError if there is none.

    Commits that only change files below *apart* are left out.
    """
    ends = [_commit_of(sources.resolve(ref), ref) for ref in (good, bad)]
    if ends[0] == ends[1]:
        raise _same(good, bad, f"commit {ends[0][:10]}")
    return range_between(sources.history, *ends, apart=apart)


def range_between(
    history: History, good: str, bad: str, *, apart: Iterable[str] = ()
) -> CommitRange:
    """Return the commits from *good* to *bad*, given by their hashes, without those of *apart*."""
    candidates = (
        Candidate(ref=one.hash, name=one.name, date=one.date[:10], subject=one.subject)
        for one in (history.commit(good), *history.between(good, bad, apart=apart))
    )
    return CommitRange(kind=RangeKind.COMMITS, candidates=tuple(candidates))


def release_range(sources: Sources, good: str, bad: str) -> CommitRange:
    """Return the releases from *good* to *bad* in version order."""
    names = [_release_of(sources.resolve(ref), ref) for ref in (good, bad)]
    if names[0] == names[1]:
        raise _same(good, bad, f"release {names[0]}")
    known = list(sources.releases_branch())
    first, last = (known.index(name) for name in names)
    if first > last:
        raise RefError(
            "GOOD comes after BAD",
            detail=f"Release {names[1]} is before {names[0]}.",
            hint="Give the older release first; to find what made the newer one faster, "
            "add --improvement.",
        )
    dates = {str(one.version): one.date.isoformat() for one in sources.catalog.releases}
    return CommitRange(
        kind=RangeKind.RELEASES,
        candidates=tuple(
            Candidate(ref=name, name=name, date=dates.get(name, ""), subject=f"PostgreSQL {name}")
            for name in known[first : last + 1]
        ),
    )


def commits_of_release(sources: Sources, good: Candidate, bad: Candidate) -> CommitRange:
    """Return the commits between two consecutive releases, from where their branches parted."""
    commits = [_commit_of(sources.resolve(one.ref), one.ref) for one in (good, bad)]
    base = sources.history.merge_base(*commits)
    return range_between(sources.history, base or commits[0], commits[1])


def _commit_of(source: Source, ref: str) -> str:
    if source.origin.commit is None:
        raise RefError(
            f'"{ref}" is known as a release, not as a commit',
            detail="Its source came from a tarball, without history.",
            hint="Set [sources.git] upstream in landspeed.toml; a bisection of releases (--over "
            "releases) needs none.",
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
    return UsageError(
        "GOOD and BAD are the same",
        detail=f"Both are {what}." if good == bad else f"{good} and {bad} are both {what}.",
        hint='To see how much two measurements of one server differ, use "landspeed compare --aa".',
    )
