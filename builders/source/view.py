"""The synthetic ``releases`` branch: one commit per release, in version order, for asv to draw.

asv numbers revisions by ``git rev-list --all --date-order --reverse``, in which a child never
comes before its parent: the branch is one line of commits in version order, so that is how it
is drawn. It also has a view by (author) date, where a line whose dates run backwards would be
drawn as a zigzag. The last minors of an old major are younger than the next major, so such a
commit is dated just before the next release of a higher version: every release that opens a
major keeps its true day, and both views show version order. The true day is in the message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from base.errors import RefError
from base.files import canonical_json, digest_text, write_atomic
from builders.source.repository import Repository, noon

BRANCH = "refs/heads/releases"
_RULES = "1"  # raised when the same entries shall make other commits
_SUBJECT = re.compile(r"PostgreSQL (\S+)\n")
_AUTHOR = "landspeed <landspeed@localhost>"
_ABSENT = "The source of PostgreSQL {name} is not on the machine that made this branch.\n"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A release on the branch; ``tree`` is None where its source is not here."""

    name: str
    date: date
    tree: str | None


@dataclass(frozen=True, kw_only=True)
class View:
    """The ``releases`` branch of ``repository`` with its tags, made from entries."""

    repository: Repository

    def is_current(self, entries: list[Entry]) -> bool:
        """Whether the branch was made from exactly these *entries*."""
        facts = self._facts()
        tip = self.repository.git.peel("commit", BRANCH)
        return facts.get("digest") == _digest(entries) and tip == facts.get("tip")

    def commits(self) -> dict[str, str]:
        """Release name → hash of its commit on the branch, in version order."""
        commits = self._facts().get("commits")
        return commits if isinstance(commits, dict) else {}

    def rebuild(self, entries: list[Entry]) -> None:
        """Rebuild the branch and its tags; the caller holds the lock."""
        git = self.repository.git
        with git.feed("fast-import", "--quiet", "--force", "--done") as stream:
            stream.write(_fast_import(entries).encode())
        form = "--format=%(refname:lstrip=2) %(objectname)"
        lines = git.text("for-each-ref", form, "refs/tags").splitlines()
        tags = dict(line.split(" ") for line in lines)
        names = [entry.name for entry in entries]
        stale = "".join(f"delete refs/tags/{tag}\n" for tag in tags.keys() - set(names))
        git.run("update-ref", "--stdin", stdin=stale.encode())
        git.run("symbolic-ref", "HEAD", BRANCH)
        commits = {name: tags[name] for name in names}
        facts = {"digest": _digest(entries), "tip": commits[names[-1]], "commits": commits}
        write_atomic(self._path, json.dumps(facts))

    def release_at(self, commit: str) -> str | None:
        """Return the release that *commit* stands for, on this branch or a former state of it."""
        if not re.fullmatch(r"[0-9a-f]{40}", commit):
            return None
        text = self.repository.git.read("commit", commit) or b""
        header, _, message = text.decode(errors="replace").partition("\n\n")
        match = _SUBJECT.match(message)
        return match[1] if match and f"\nauthor {_AUTHOR} " in header else None

    def dates_of(self, commits: Collection[str]) -> dict[str, datetime]:
        """Return the author dates of *commits*, which asv shows; RefError if one is not here."""
        git, asked = self.repository.git, sorted(set(commits))
        if asked and not self.repository.has(asked):
            raise RefError("a commit is not in the source repository", detail=", ".join(asked[:9]))
        lines = "".join(f"{commit}\n" for commit in asked)
        form = ("log", "--no-walk=unsorted", "--format=%H %at", "--stdin")
        rows = map(str.split, git.text(*form, stdin=lines).splitlines()) if asked else ()
        return {commit: datetime.fromtimestamp(int(seconds), UTC) for commit, seconds in rows}

    @property
    def _path(self) -> Path:
        return self.repository.directory / "landspeed-view.json"

    def _facts(self) -> dict[str, object]:
        try:
            facts = json.loads(self._path.read_text())
        except (OSError, ValueError):
            return {}
        return facts if isinstance(facts, dict) else {}


def branch_dates(entries: list[Entry]) -> list[datetime]:
    """Return the dates of the commits: noon of the day of release, lowered so that they ascend."""
    dates: list[datetime] = []
    later: datetime | None = None
    for entry in reversed(entries):
        own = noon(entry.date)
        later = own if later is None else min(own, later - timedelta(seconds=1))
        dates.append(later)
    return dates[::-1]


def _digest(entries: list[Entry]) -> str:
    rows = [[entry.name, entry.date.isoformat(), entry.tree] for entry in entries]
    return digest_text(canonical_json([_RULES, rows]))


def _fast_import(entries: list[Entry]) -> str:
    lines = []
    for mark, (entry, when) in enumerate(zip(entries, branch_dates(entries), strict=True), 1):
        who = f"{_AUTHOR} {int(when.timestamp())} +0000"
        message = f"PostgreSQL {entry.name}\n\nReleased {entry.date}.\n"
        lines += [f"commit {BRANCH}", f"mark :{mark}", f"author {who}", f"committer {who}"]
        lines += [f"data {len(message)}", message]
        if mark > 1:
            lines += [f"from :{mark - 1}", "deleteall"]
        if entry.tree:
            lines += [f'M 040000 {entry.tree} ""']
        else:
            text = _ABSENT.format(name=entry.name)
            lines += ["M 100644 inline SOURCE-NOT-HERE", f"data {len(text)}", text]
        lines += [f"reset refs/tags/{entry.name}", f"from :{mark}", ""]
    return "\n".join([*lines, "done", ""])
