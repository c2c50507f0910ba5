"""Known changes, asked of ``landspeed bisect --all`` blind, and scored: ``make replay``.

Each development cycle is divided into ranges of at least ``--span`` commits, wherever its changes
are, and each range that holds one is searched: the search is given the two ends and the suite. The
project's git upstream must have the history. With arguments, only the changes of these cycles
(``18``) and those whose hashes begin with these 7 digits or more are asked; ``--known`` counts
nothing and scores what is known by now. One JSON line each, then the score.
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
from math import log
from pathlib import Path
from typing import Any, Self

from base.build import Variant
from base.errors import BuildError, LandspeedError, UsageError
from benchmarks.workloads.catalog import choose
from builders.source.history import Commit
from landspeed.atlas.search import threshold
from landspeed.console.progress import say
from landspeed.session.session import Session

KNOWN = Path(__file__).parents[1] / "tests" / "known_changes.toml"
NEAR = 300
"""Another commit that is named so many commits from the known one is a wrong answer."""
SUITE = "standard"
_VISIBLE = {"instructions", "plan"}
_MOST_MOVES = 5
"""An end that does not build is moved outwards by at most so many commits."""
_BEGINS = re.compile(r"Stamp HEAD as (\d+|\d\.\d)devel")
_RENAMED = {"8.5": "9.0"}  # by "Stamp HEAD as 9.0devel", in the middle of the cycle
_HASH = re.compile(r"[0-9a-f]{7,40}")
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

    def shows_in(self, row: dict[str, Any], least: float) -> bool:
        """Return whether a workload's change in a report has its workload and direction.

        It must be at least *least*, a logarithm.
        """
        change = log(row["after"]) - log(row["before"])
        named = any(fnmatchcase(row["workload"], pattern) for pattern in self.workloads)
        is_slower = self.direction == "slower"
        return named and (change if is_slower else -change) >= least


def known_changes() -> list[KnownChange]:
    """Return all known changes."""
    return [KnownChange.parse(row) for row in tomllib.loads(KNOWN.read_text())["change"]]


@dataclass(frozen=True, kw_only=True)
class Cycle:
    """The development of a major release, or a range of it: ``commits``, both ends included."""

    name: str
    commits: tuple[str, ...]


def cycles(history: Sequence[Commit]) -> list[Cycle]:
    """Return the cycles of *history*, oldest first; the last is not over."""
    begins: dict[str, int] = {}
    for at, one in enumerate(history):
        if found := _BEGINS.match(one.subject):
            begins.setdefault(_RENAMED.get(found[1], found[1]), at)
    bounds = [*begins.values(), len(history) - 1]
    return [
        Cycle(name=name, commits=tuple(one.hash for one in history[begin : end + 1]))
        for name, (begin, end) in zip(begins, pairwise(bounds), strict=True)
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


def check(known: Sequence[KnownChange], all_cycles: Sequence[Cycle], words: Sequence[str]) -> None:
    """Raise UsageError if one of *known* cannot be asked, or one of *words* chooses nothing."""
    # the commit that a cycle begins with is the last one of the cycle before
    there = {commit for cycle in all_cycles for commit in cycle.commits[1:]}
    wrong = [
        f"{one.commit} is not the hash (40 digits) of a commit in one of master's cycles"
        for one in known
        if one.commit not in there
    ]
    for one in known:
        try:
            choose(one.workloads)
        except UsageError as error:
            wrong.append(f"{one.commit}: {error.message}")
    if wrong:
        raise UsageError(
            f"entries of {KNOWN.name} cannot be asked",
            detail="\n".join(wrong),
            hint=f"Correct {KNOWN}, or update the git upstream if the commits are newer.",
        )
    names = {cycle.name for cycle in all_cycles}
    for word in words:
        begins = _HASH.fullmatch(word) and any(one.commit.startswith(word) for one in known)
        if word not in names and not begins:
            raise UsageError(
                f'"{word}" is neither a cycle nor the beginning of a known change\'s hash',
                hint="Give a cycle such as 18, or at least 7 digits of a hash.",
            )


def due(
    known: Sequence[KnownChange], part: Cycle, words: Sequence[str], size: float
) -> list[KnownChange]:
    """Return what a search of *part* for changes of *size* should name, if *words* choose it."""
    hashes = tuple(filter(_HASH.fullmatch, words))
    return [
        one
        for one in known
        if one.commit in part.commits[1:] and one.is_asked(size)
        if not words or part.name in words or one.commit.startswith(hashes)
    ]


def score(change: KnownChange, report: Mapping[str, Any], place: Mapping[str, int]) -> str:
    """Return ``exact``, ``range``, ``wrong`` (a commit near it is named for it) or ``missed``.

    *place* is the position of each commit of the history. A question that is open is a range, too.
    What a search that is not over has not shown by now is ``unfinished``, whatever it has named.
    """
    at, least = place[change.commit], threshold(report["size"])
    named = [
        one
        for one in report["changes"]
        if any(change.shows_in(row, least) for row in one["workloads"])
    ]
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
    if not report["complete"]:
        return "unfinished"
    return "wrong" if any(abs(last - at) <= NEAR for _, last in spans) else "missed"


def search(ends: Sequence[str], asked: argparse.Namespace) -> tuple[int, Any]:
    """Search between two commits; return the exit code and the report, None if there is none."""
    budget = ("--budget", "0" if asked.known else "240h")
    argv = [*_COMMAND, *ends, *_OPTIONS, "--size", f"{asked.size}%", *budget]
    done = subprocess.run(argv, stdout=subprocess.PIPE, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout else None


def moved_end(session: Session, outwards: Sequence[str]) -> str:
    """Return the first commit of *outwards*, which begins with an end, that builds.

    The end itself if none of the next few does.
    """
    for commit in outwards[: _MOST_MOVES + 1]:
        try:
            session.build(session.builder.sources.resolve(commit), Variant())
        except BuildError as error:
            say(f"an end of the range does not build: {commit[:10]}: {error.message}")
        else:
            return commit
    return outwards[0]


def replay(asked: argparse.Namespace) -> Counter[str]:
    """Search each range that holds a chosen change, print what was found; return the scores."""
    session, known = Session(), known_changes()
    sources = session.builder.sources
    history = sources.history.latest(str(sources.resolve("master").origin.commit), 10**6)
    hashes = [one.hash for one in history]
    place = {commit: at for at, commit in enumerate(hashes)}
    all_cycles = cycles(history)
    check(known, all_cycles, asked.chosen)
    scores: Counter[str] = Counter()
    for part in (part for cycle in all_cycles for part in ranges(cycle, asked.span)):
        expected = due(known, part, asked.chosen, asked.size / 100)
        if not expected:
            continue
        ends = [part.commits[0], part.commits[-1]]
        code, report = search(ends, asked)
        if code == BuildError.exit_code:
            first, last = (place[end] for end in ends)
            outwards = hashes[first::-1], hashes[last:]
            moved = [moved_end(session, commits) for commits in outwards]
            if moved != ends:
                ends = moved
                _, report = search(ends, asked)
        for one in expected:
            found = score(one, report, place) if report else "failed"
            scores[found] += 1
            line = {
                "cycle": part.name,
                "range": "..".join(end[:10] for end in ends),
                "commit": one.commit[:10],
                "score": found,
            }
            print(json.dumps(line), flush=True)
    return scores


def main(argv: Sequence[str] | None = None) -> int:
    """Ask for each chosen change that a search should name; 1 if one was named wrongly or failed.

    A LandspeedError is printed, and its exit code returned; after Ctrl-C that is 130.
    """
    parser = argparse.ArgumentParser(prog="python -m perf.replay", description=__doc__)
    parser.add_argument("chosen", nargs="*", help="cycles (18) or the beginnings of hashes")
    parser.add_argument("--known", action="store_true", help="count nothing")
    parser.add_argument(
        "--span", type=int, default=NEAR, metavar="COMMITS", help="least commits of a search (300)"
    )
    parser.add_argument(
        "--size", type=float, default=1, metavar="PERCENT", help="least change asked for (1)"
    )
    asked = parser.parse_args(argv)
    if asked.span < 1:
        parser.error("--span must be at least 1")
    try:
        scores = replay(asked)
    except LandspeedError as error:
        say(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted: all counts are kept; the same command resumes")
        return 130
    exact = 100 * scores["exact"] / max(1, scores.total())
    print(json.dumps({"score": dict(scores), "exact_percent": round(exact, 1)}))
    return int(bool(scores["wrong"] or scores["failed"]))


if __name__ == "__main__":
    sys.exit(main())
