"""The history of the git upstream: the commits between two others, and where each one is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from base.errors import RefError
from builders.source.git import Git
from builders.source.upstream import HEADS, TRACKED

# The fields of a Commit, as git log spells them.
_FIELDS = {
    "hash": "%H",
    "date": "%cI",
    "author": "%an",
    "email": "%ae",
    "authored": "%aI",
    "subject": "%s",
}
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_EDITED = re.compile(r"^(?:@@ .* @@ (?:.*[ *])?|[-+](?:#define )?)([A-Za-z_]\w*) ?\(", re.M)
_HUNK = re.compile(r"^(?=@@ )", re.M)
_CODE = re.compile(r"^[-+](?![-+]{2} )[ \t]*(?!\*|/\*|[ \t]|$)", re.M)
_OURS = "refs/heads"
_VIEW = "releases"


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

    def between(self, good: str, bad: str, *, apart: Iterable[str] = ()) -> list[Commit]:
        """Return the commits after *good* up to *bad*, oldest first, along first parents.

        A merge counts as one commit. Commits that only change files below *apart* are left out.
        Raises RefError unless *good* is an ancestor of *bad*.
        """
        base = self.merge_base(good, bad)
        if base != good:
            raise self._unrelated(good, bad, base)
        excluded = [f":(exclude,top){path}" for path in apart]
        paths = [":/", *excluded] if excluded else []
        return self._log("--first-parent", "--reverse", f"{good}..{bad}", "--", *paths)

    def latest(self, tip: str, count: int) -> list[Commit]:
        """Return the last *count* commits up to *tip* along first parents, oldest first."""
        return self._log("--first-parent", f"--max-count={count}", tip, "--")[::-1]

    def commit(self, hash_: str) -> Commit:
        """Return one commit."""
        return self._log("--no-walk", hash_)[0]

    def commits(self, hashes: Iterable[str]) -> dict[str, Commit]:
        """Return each of *hashes* (full) with its commit; those that are not here are left out."""
        asked = "".join(f"{one}\n" for one in sorted(set(hashes))).encode()
        argv = ("--no-walk=unsorted", "--ignore-missing", "--stdin")
        return {one.hash: one for one in self._log(*argv, stdin=asked)} if asked else {}

    def changing(self, good: str, bad: str, function: str, most: int = 5) -> list[Commit]:
        """Return the last commits after *good* up to *bad* that changed *function*, newest first.

        There are *most* at the most, and none where *bad* has no such function. It is looked for
        as PostgreSQL's style has it: the name begins a line.
        """
        if not _NAME.fullmatch(function):
            return []
        files = self.git.answer("grep", "-l", "-E", "-e", f"^{function}\\(", bad, "--", "*.c")
        if not files:
            return []
        lines = f"-L:^{function}(:{files.splitlines()[0].partition(':')[2]}"
        return self._log("--no-patch", f"--max-count={most}", lines, f"{good}..{bad}")

    def edited(self, good: str, bad: str) -> dict[str, frozenset[str]]:
        """Return the C functions that each commit after *good* up to *bad* edited, by its hash.

        They are found by what git names at the head of a hunk, as PostgreSQL's style lets it: a
        function's name begins a line. Hunks of comments are left out. A partial clone has none: it
        would fetch every file.
        """
        if self.git.test("config", "--get", "extensions.partialClone"):
            return {}
        form = ("--first-parent", "--diff-merges=first-parent", "-p", "-U0", "--format=%x00%H")
        plain = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames")
        text = self.git.run("log", *form, *plain, f"{good}..{bad}", "--", "*.c", "*.h")
        found = {}
        for commit in text.decode(errors="replace").split("\0")[1:]:
            hash_, _, difference = commit.partition("\n")
            hunks = filter(_is_code, _HUNK.split(difference))
            found[hash_] = frozenset(name for hunk in hunks for name in _EDITED.findall(hunk))
        return found

    def functions(self, tree: str, below: str) -> dict[str, set[str]]:
        """Return the functions in each C file of *tree* that is *below* a directory, or that file.

        A macro that begins a line is among them.
        """
        pattern = r"^[A-Za-z_][A-Za-z0-9_]*\("
        found: dict[str, set[str]] = {}
        there = self.git.answer("grep", "-o", "-E", "-e", pattern, tree, "--", f":/{below}")
        for line in (there or "").splitlines():
            _, path, name = line.split(":", 2)
            if path.endswith(".c"):
                found.setdefault(path, set()).add(name.rstrip("("))
        return found

    def _log(self, *arguments: str, stdin: bytes = b"") -> list[Commit]:
        form = "%x00".join(_FIELDS.values())
        text = self.git.run("log", f"--format={form}", *arguments, stdin=stdin)
        # by newlines alone: a subject may hold other characters that Python would take for one
        lines = filter(None, text.decode(errors="replace").split("\n"))
        return [Commit(**dict(zip(_FIELDS, one.split("\0", 5), strict=True))) for one in lines]

    def merge_base(self, one: str, other: str) -> str | None:
        """Return the newest common ancestor of *one* and *other*, or None."""
        found = self.git.answer("merge-base", one, other)
        return found.splitlines()[0] if found else None

    def difference(self, parent: str, commit: str) -> str:
        """Return git's diffstat of *commit* against *parent*, at most 20 files."""
        stat = ("--stat=78", "--stat-count=20", "--no-color", "--no-ext-diff", "--no-textconv")
        whole = self.git.run("diff", *stat, parent, commit).decode(errors="replace")
        return "\n".join(line.rstrip() for line in whole.splitlines())

    def file(self, tree: str, path: str) -> str:
        """Return the text of the file at *path* in *tree*; empty if it has none."""
        return (self.git.read("blob", f"{tree}:{path}") or b"").decode(errors="replace")

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
                hint="Give the older one first. To look for one commit that made the newer one "
                "faster, add --improvement; --all finds both.",
            )
        parted = self.commit(base)
        return RefError(
            "GOOD is not an ancestor of BAD",
            detail=f"The ways to {good[:10]} and {bad[:10]} parted at {base[:10]} "
            f"({parted.date[:10]}, {parted.subject}).",
            hint=f"Give {base[:10]} as GOOD.",
        )


@dataclass(frozen=True, kw_only=True, order=True)
class Position:
    """The position of a commit among the commits of its branch, counted from the oldest."""

    branch: str
    position: int


def positions(git: Git, commits: Collection[str], *, ours: bool = False) -> dict[str, Position]:
    """Return the position of each of *commits* that is on a branch, or on one of *ours*, by hash.

    What several branches share belongs to master, else to the first of them by name; of a merge
    only the first parent is on the branch, as PostgreSQL has no merges and forks do.
    """
    left, found = set(commits), {}
    spaces = (_OURS,) if ours else (_OURS, HEADS, TRACKED)
    names = git.text("for-each-ref", "--format=%(refname)", *spaces).splitlines()
    done: list[str] = []
    lengths: Counter[str] = Counter()
    for name in sorted(names, key=_rank):
        line = _line(name)
        if not left or name == f"{_OURS}/{_VIEW}" or line == "HEAD":
            continue
        rest = ["--not", *done] if done else []
        own = git.text("rev-list", "--reverse", "--first-parent", name, *rest).splitlines()
        # the upstream's goes on where our copy of the branch ends
        for position, commit in enumerate(own, start=lengths[line]):
            if commit in left:
                left.remove(commit)
                found[commit] = Position(branch=line, position=position)
        lengths[line] += len(own)
        done.append(name)
    return found


def _is_code(hunk: str) -> bool:
    """Return whether *hunk* changes a line that is neither empty nor of a comment."""
    return hunk.startswith("@@ ") and bool(_CODE.search(hunk))


def _line(name: str) -> str:
    for space in (_OURS, HEADS, TRACKED):
        name = name.removeprefix(f"{space}/")
    return name


def _rank(name: str) -> tuple[bool, bool, str]:
    # our own copies of a branch come before the upstream's, and master before all
    return _line(name) != "master", not name.startswith(_OURS), name
