"""The history of the git upstream: which commits lie between two, and what one of them is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from base.errors import RefError
from builders.source.git import Git

_FORM = "%H%x00%cI%x00%an%x00%ae%x00%aI%x00%s"


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit of upstream: full hash, commit and author date (ISO 8601), author, subject."""

    hash: str
    date: str
    author: str
    email: str
    authored: str
    subject: str

    @property
    def name(self) -> str:
        """Its first ten digits."""
        return self.hash[:10]


@dataclass(frozen=True, kw_only=True)
class History:
    """Commits between two others; all are named by full hashes and must be in the repository."""

    git: Git

    def between(self, good: str, bad: str) -> list[Commit]:
        """The commits after *good* up to *bad*, oldest first, along first parents.

        What a branch that was merged brought counts as one, its merge. RefError unless *good* is
        an ancestor of *bad*.
        """
        base = self.merge_base(good, bad)
        if base != good:
            raise self._unrelated(good, bad, base)
        lines = self.git.run(
            "log", "--first-parent", "--reverse", f"--format={_FORM}", f"{good}..{bad}"
        )
        # by newlines alone: a subject may hold other characters that Python would take for one
        return [_parsed(line) for line in lines.decode(errors="replace").split("\n")[:-1]]

    def latest(self, tip: str, count: int) -> list[Commit]:
        """The last *count* commits up to *tip* along first parents, oldest first."""
        argv = ("log", "--first-parent", f"--max-count={count}", f"--format={_FORM}", tip)
        lines = self.git.run(*argv, "--").decode(errors="replace").split("\n")
        return [_parsed(line) for line in reversed(lines) if line]

    def commit(self, hash_: str) -> Commit:
        """What is known of one commit."""
        line = self.git.run("show", "--no-patch", f"--format={_FORM}", hash_)
        return _parsed(line.decode(errors="replace").rstrip("\n"))

    def commits(self, hashes: Iterable[str]) -> dict[str, Commit]:
        """What is known of each of *hashes* (full); those that are not here are left out."""
        asked = "".join(f"{one}\n" for one in sorted(set(hashes)))
        if not asked:
            return {}
        argv = ("log", "--no-walk=unsorted", "--ignore-missing", f"--format={_FORM}", "--stdin")
        lines = self.git.run(*argv, stdin=asked.encode()).decode(errors="replace").split("\n")
        return {one.hash: one for one in map(_parsed, filter(None, lines))}

    def merge_base(self, one: str, other: str) -> str | None:
        """The commit where the ways to *one* and *other* parted; None if they never met."""
        if not self.git.test("merge-base", one, other):
            return None
        return self.git.text("merge-base", one, other).splitlines()[0]

    def difference(self, parent: str, commit: str) -> str:
        """What *commit* changed against *parent*, as git's diffstat of at most 20 files."""
        stat = ("--stat=78", "--stat-count=20", "--no-color", "--no-ext-diff", "--no-textconv")
        whole = self.git.run("diff", *stat, parent, commit).decode(errors="replace")
        return "\n".join(line.rstrip() for line in whole.splitlines())

    def _unrelated(self, good: str, bad: str, base: str | None) -> RefError:
        if base is None:
            return RefError(
                f"commits {good[:10]} and {bad[:10]} have no history in common",
                hint="Name two commits of one upstream.",
            )
        if base == bad:
            return RefError(
                "GOOD comes after BAD",
                detail=f"Commit {bad[:10]} is an ancestor of {good[:10]}.",
                hint="Give the older one first; to look for what made the newer one faster, "
                "add --improvement.",
            )
        parted = self.commit(base)
        return RefError(
            "GOOD is not an ancestor of BAD",
            detail=f"The ways to {good[:10]} and {bad[:10]} parted at {base[:10]} "
            f"({parted.date[:10]}, {parted.subject}).",
            hint=f'Bisect from there: "landspeed bisect {base[:10]} {bad[:10]}".',
        )


def _parsed(line: str) -> Commit:
    hash_, date, author, email, authored, subject = line.split("\0", 5)
    return Commit(
        hash=hash_, date=date, author=author, email=email, authored=authored, subject=subject
    )
