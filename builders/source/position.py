"""Where commits are in history: on which branch, and in what order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from builders.source.git import Git
from builders.source.upstream import HEADS, TRACKED

_OURS = "refs/heads"
_VIEW = "releases"


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
        argv = [
            "rev-list",
            "--reverse",
            "--first-parent",
            name,
            *(["--not", *done] if done else []),
        ]
        own = git.text(*argv).splitlines()
        # the upstream's goes on where our copy of the branch ends
        for position, commit in enumerate(own, start=lengths[line]):
            if commit in left:
                left.remove(commit)
                found[commit] = Position(branch=line, position=position)
        lengths[line] += len(own)
        done.append(name)
    return found


def _line(name: str) -> str:
    for space in (_OURS, HEADS, TRACKED):
        name = name.removeprefix(f"{space}/")
    return name


def _rank(name: str) -> tuple[bool, bool, str]:
    # our own copies of a branch come before the upstream's, and master before all
    return _line(name) != "master", not name.startswith(_OURS), name
