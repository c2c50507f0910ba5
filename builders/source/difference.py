"""Compare two trees, and take a directory from one to the other."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from base.files import storage_errors
from builders.source.git import Git

_ABSENT = "000000"


class ChangeKind(StrEnum):
    """What became of a file; RETYPED is a link for a file, or another executable bit."""

    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RETYPED = "retyped"


@dataclass(frozen=True, kw_only=True)
class Change:
    """One file that differs between two trees; mode and blob are the newer ones."""

    path: str
    kind: ChangeKind
    mode: str
    blob: str


def changes(git: Git, old: str, new: str) -> list[Change]:
    """Return the changes that lead from tree *old* to tree *new*, by path."""
    # asked for line counts, git first fetches all missing blobs of a partial clone in one go
    raw = git.run("diff-tree", "-r", "-z", "--no-renames", "--raw", "--numstat", old, new)
    found = []
    fields = iter(raw.decode(errors="surrogateescape").split("\0"))
    for head in fields:
        if head.startswith(":"):
            found.append(_change(head, next(fields)))
    return found


def _change(head: str, path: str) -> Change:
    old, mode, _, blob, _ = head.removeprefix(":").split(" ")
    if old == _ABSENT:
        kind = ChangeKind.ADDED
    elif mode == _ABSENT:
        kind = ChangeKind.DELETED
    else:
        kind = ChangeKind.MODIFIED if old == mode else ChangeKind.RETYPED
    return Change(path=path, kind=kind, mode=mode, blob=blob)


def apply(git: Git, some: Iterable[Change], directory: Path, *, time_ns: int) -> None:
    """Carry out *some* changes in *directory*; the files written are dated *time_ns*.

    All other files stay as they are, their times included: that is how make and ninja know
    what is to be done.
    """
    some = list(some)
    written = [change for change in some if change.kind is not ChangeKind.DELETED]
    with storage_errors(f'update the source tree "{directory}"', directory):
        # deletions first: a file may come in the place of a directory
        for change in sorted(some, key=lambda one: one.kind is not ChangeKind.DELETED):
            (directory / change.path).unlink(missing_ok=True)
            if change.kind is ChangeKind.DELETED:
                _remove_empty(directory, Path(change.path).parent)
        if not written:
            return
        lines = "".join(f"{c.mode} {c.blob}\t{c.path}\0" for c in written)
        with git.scratch_index(directory) as environment:
            git.run(
                *("update-index", "-z", "--index-info"),
                stdin=lines.encode(errors="surrogateescape"),
                environment=environment,
            )
            git.run("checkout-index", "--all", "--force", environment=environment)
        for change in written:
            os.utime(directory / change.path, ns=(time_ns, time_ns), follow_symlinks=False)


def _remove_empty(root: Path, below: Path) -> None:
    # git knows no empty directories: a clean tree has none either
    with suppress(OSError):
        for directory in (below, *below.parents[:-1]):
            (root / directory).rmdir()
