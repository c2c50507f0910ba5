"""Known changes, asked of ``landspeed bisect --all`` blind, and scored: ``make replay``.

Each development cycle is divided into ranges of at least ``--span`` commits, wherever its changes
are, and each range that holds one is searched: the search is given the two ends and the suite. The
project's git upstream must have the history. With arguments, only cycles of these names (``18``)
and changes whose hashes begin so are asked; ``--known`` counts nothing and scores what is known by
now. One JSON line each, then the score.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from benchmarks.workloads.catalog import choose
from builders.source.history import Commit
from landspeed.session.session import Session

KNOWN = Path(__file__).parents[1] / "tests" / "known_changes.toml"
NEAR = 300
"""Another commit that is named so many commits from the known one is a wrong answer."""
SUITE = "standard"
_VISIBLE = {"instructions", "plan"}
_BEGINS = re.compile(r"Stamp HEAD as (\d+|\d\.\d)devel")
_COMMAND = (sys.executable, "-c", "from landspeed.cli.main import main; main()", "bisect")
_OPTIONS = ("--all", "--suite", SUITE, "--grid", "3000", "--json")


@dataclass(frozen=True, kw_only=True)
class KnownChange:
    """A change that upstream's commit messages report, and the workloads that should show it.

    ``measured`` is each workload's change as a share; None if commit and parent were not counted.
    """

    commit: str
    direction: str
    workloads: tuple[str, ...]
    seen_by: frozenset[str]
    measured: Mapping[str, float] | None = None

    @classmethod
    def parse(cls, row: dict[str, Any]) -> Self:
        """Return the change of a row of known_changes.toml."""
        return cls(
            commit=row["commit"],
            direction=row["direction"],
            workloads=tuple(row["workloads"]),
            seen_by=frozenset(row["seen_by"]),
            measured=row.get("measured"),
        )

    @property
    def shown_by(self) -> set[str]:
        """The workloads of the suite that should show it."""
        named = choose(self.workloads) if self.workloads else ()
        return {one.name for one in named} & {one.name for one in choose([], SUITE)}

    @property
    def is_visible(self) -> bool:
        """Whether counting the suite should show it."""
        return bool(self.shown_by and self.seen_by & _VISIBLE)

    def is_asked(self, size: float) -> bool:
        """Whether a search of the suite for changes of *size* should name it."""
        if not self.is_visible or self.measured is None:
            return self.is_visible
        return any(abs(self.measured.get(name, 0.0)) >= size for name in self.shown_by)

    def shows_in(self, row: dict[str, Any]) -> bool:
        """Return whether a workload's change in a report has its workload and direction."""
        is_slower = row["after"] > row["before"]
        named = any(fnmatchcase(row["workload"], pattern) for pattern in self.workloads)
        return named and is_slower == (self.direction == "slower")


def known_changes() -> list[KnownChange]:
    """Return all known changes."""
    return [KnownChange.parse(row) for row in tomllib.loads(KNOWN.read_text())["change"]]


@dataclass(frozen=True, kw_only=True)
class Cycle:
    """The development of a major release, or a range of it: ``commits``, both ends included."""

    name: str
    commits: tuple[str, ...]

    @property
    def place(self) -> Mapping[str, int]:
        """The position of each commit."""
        return {commit: at for at, commit in enumerate(self.commits)}


def cycles(history: Sequence[Commit]) -> list[Cycle]:
    """Return the cycles of *history*, oldest first; the last is not over."""
    begins = [
        (at, found[1]) for at, one in enumerate(history) if (found := _BEGINS.match(one.subject))
    ]
    ends = [*(at for at, _ in begins[1:]), len(history) - 1]
    return [
        Cycle(name=name, commits=tuple(one.hash for one in history[at : end + 1]))
        for (at, name), end in zip(begins, ends, strict=True)
    ]


def ranges(cycle: Cycle, span: int) -> list[Cycle]:
    """Return *cycle* in ranges of about the same length, of *span* commits or more.

    A range ends with the commit that the next one begins with: of that, only the first can say
    what it changed.
    """
    last = len(cycle.commits) - 1
    parts = max(1, last // span)
    bounds = [round(part * last / parts) for part in range(parts + 1)]
    return [replace(cycle, commits=cycle.commits[a : b + 1]) for a, b in pairwise(bounds)]


def score(change: KnownChange, report: Mapping[str, Any], place: Mapping[str, int]) -> str:
    """Return ``exact``, ``range``, ``wrong`` (a commit near it is named for it) or ``missed``.

    *place* is the position of each commit of the range that was searched. A question that is open
    is a range, too. What a search that is not over has not shown by now is ``unfinished``.
    """
    at = place[change.commit]
    named = [one for one in report["changes"] if any(map(change.shows_in, one["workloads"]))]
    spans = [(place[one["parent"]["ref"]], place[one["commit"]["ref"]]) for one in named]
    if any(last == at for (_, last), one in zip(spans, named, strict=True) if one["among"] == 1):
        return "exact"
    spans += [
        (place[one["after"]["ref"]], place[one["last"]["ref"]])
        for one in report["open"]
        if any(fnmatchcase(name, own) for name in one["workloads"] for own in change.workloads)
    ]
    if any(first < at <= last for first, last in spans):
        return "range"
    if any(abs(last - at) <= NEAR for _, last in spans):
        return "wrong"
    return "missed" if report["complete"] else "unfinished"


def main() -> int:
    """Ask for each chosen change that a search should name; 1 if one was named wrongly."""
    parser = argparse.ArgumentParser(prog="python -m perf.replay", description=__doc__)
    parser.add_argument("chosen", nargs="*", help="cycles (18) or the beginnings of hashes")
    parser.add_argument("--known", action="store_true", help="count nothing")
    parser.add_argument(
        "--span", type=int, default=NEAR, metavar="COMMITS", help="least commits of a search (300)"
    )
    parser.add_argument(
        "--size", type=float, default=1, metavar="PERCENT", help="least change asked for (1)"
    )
    asked = parser.parse_args()
    if asked.span < 1:
        parser.error("--span must be at least 1")
    sources = Session.open().builder.sources
    history = sources.history.latest(str(sources.resolve("master").origin.commit), 10**6)
    scores: Counter[str] = Counter()
    for part in (part for cycle in cycles(history) for part in ranges(cycle, asked.span)):
        place = part.place
        due = [
            one
            for one in known_changes()
            if one.is_asked(asked.size / 100)
            and place.get(one.commit, 0) > 0
            and (
                not asked.chosen
                or one.commit.startswith(tuple(asked.chosen))
                or part.name in asked.chosen
            )
        ]
        if not due:
            continue
        ends = part.commits[0], part.commits[-1]
        budget = ("--budget", "0" if asked.known else "240h")
        argv = [*_COMMAND, *ends, *_OPTIONS, "--size", f"{asked.size}%", *budget]
        done = subprocess.run(argv, stdout=subprocess.PIPE, check=False)
        report = json.loads(done.stdout) if done.stdout else None
        for one in due:
            found = score(one, report, place) if report else "failed"
            scores[found] += 1
            searched = "..".join(end[:10] for end in ends)
            line = {
                "cycle": part.name,
                "range": searched,
                "commit": one.commit[:10],
                "score": found,
            }
            print(json.dumps(line), flush=True)
    exact = 100 * scores["exact"] / max(1, scores.total())
    print(json.dumps({"score": dict(scores), "exact_percent": round(exact, 1)}))
    return int(bool(scores["wrong"] or scores["failed"]))


if __name__ == "__main__":
    sys.exit(main())
