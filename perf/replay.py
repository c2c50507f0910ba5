"""Known changes, asked of ``landspeed bisect --all`` blind, and scored: ``make replay``.

It is given a range of 300 commits that holds the change at a place that depends on nothing but the
commit's hash, and a suite. The project's git upstream must have the history. With arguments, only
the changes whose hashes begin so are asked. One JSON line each, then the score.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self

from builders.source.history import History
from landspeed.session.session import Session

KNOWN = Path(__file__).parents[1] / "tests" / "known_changes.toml"
COMMITS = 300
_VISIBLE = {"instructions", "plan"}
_COMMAND = (sys.executable, "-c", "from landspeed.cli.main import main; main()", "bisect")
_OPTIONS = ("--all", "--suite", "all", "--grid", "100", "--budget", "24h", "--json")


@dataclass(frozen=True, kw_only=True)
class KnownChange:
    """A change that upstream's commit messages report, and the workloads that should show it."""

    commit: str
    direction: str
    workloads: tuple[str, ...]
    seen_by: frozenset[str]

    @classmethod
    def parse(cls, row: dict[str, Any]) -> Self:
        """Return the change of a row of known_changes.toml."""
        return cls(
            commit=row["commit"],
            direction=row["direction"],
            workloads=tuple(row["workloads"]),
            seen_by=frozenset(row["seen_by"]),
        )

    @property
    def is_visible(self) -> bool:
        """Whether counting the catalog should show it."""
        return bool(self.workloads and self.seen_by & _VISIBLE)

    def shows_in(self, row: dict[str, Any]) -> bool:
        """Return whether a workload's change in a report has its workload and direction."""
        is_slower = row["after"] > row["before"]
        named = any(fnmatchcase(row["workload"], pattern) for pattern in self.workloads)
        return named and is_slower == (self.direction == "slower")


def known_changes() -> list[KnownChange]:
    """Return all known changes."""
    return [KnownChange.parse(row) for row in tomllib.loads(KNOWN.read_text())["change"]]


def score(change: KnownChange, report: dict[str, Any], commits: list[str]) -> str:
    """Return ``exact``, ``range``, ``wrong`` (another commit is named for it) or ``missed``.

    *commits* are the hashes of the range, oldest first.
    """
    named = [one for one in report["changes"] if any(map(change.shows_in, one["workloads"]))]
    place = {commit: at for at, commit in enumerate(commits)}
    for one in named:
        first, last = place[one["parent"]["ref"]], place[one["commit"]["ref"]]
        if one["commit"]["ref"] == change.commit and one["among"] == 1:
            return "exact"
        if first < place[change.commit] <= last:
            return "range"
    return "wrong" if named else "missed"


def range_of(history: History, commit: str, tip: str) -> list[str]:
    """Return the hashes of a range of COMMITS commits after its first that holds *commit*."""
    after = [one.hash for one in history.between(commit, tip)]
    behind = min(int(commit[:8], 16) % COMMITS, len(after))
    before = [one.hash for one in history.latest(commit, COMMITS - behind + 1)]
    return [*before, *after[:behind]]


def main(chosen: list[str]) -> int:
    """Ask for each visible change that is chosen; 1 if one was named wrongly."""
    sources = Session.open().builder.sources
    tip = str(sources.resolve("master").origin.commit)
    scores: Counter[str] = Counter()
    for change in filter(lambda one: one.is_visible, known_changes()):
        if chosen and not change.commit.startswith(tuple(chosen)):
            continue
        commits = range_of(sources.history, change.commit, tip)
        argv = [*_COMMAND, commits[0], commits[-1], *_OPTIONS]
        done = subprocess.run(argv, stdout=subprocess.PIPE, check=False)
        found = score(change, json.loads(done.stdout), commits) if done.stdout else "failed"
        scores[found] += 1
        print(json.dumps({"commit": change.commit[:10], "score": found}), flush=True)
    print(json.dumps({"score": dict(scores)}))
    return int(bool(scores["wrong"] or scores["failed"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
