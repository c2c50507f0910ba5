"""Warnings as people read them: in how many Runs each was seen, what it may mean, what to try."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import TextWrapper
from typing import Any

from benchmarks.observation.warnings import (
    Record,
    RunWarning,
    WarningRule,
    contrasts,
    recorded_pitfalls,
)

_WRAPPER = TextWrapper(width=100, initial_indent="  ", subsequent_indent="  ")


@dataclass(frozen=True, kw_only=True)
class WarningCount:
    """A Caution is a RunWarning and in how many Runs of each group (a side, a point) it was seen.

    ``runs`` and ``of`` are by the group's name, empty where there is only one.
    """

    pitfall: RunWarning
    runs: Mapping[str, int]
    of: Mapping[str, int]

    def facts(self) -> dict[str, Any]:
        """The Caution as JSON can hold it."""
        return {**self.pitfall.facts(), "runs": dict(self.runs), "of": dict(self.of)}

    @property
    def where(self) -> str:
        """In how many Runs of what."""
        return ", ".join(
            f"{count} of {self.of[name]} runs" + (f" of {name}" if name else "")
            for name, count in self.runs.items()
            if count
        )

    def lines(self) -> list[str]:
        """What was seen and where, then what it may mean and what to try, indented."""
        told = (self.pitfall.means, f"Try: {self.pitfall.remedy}")
        return [f"warning: {self.pitfall.seen} ({self.where})", *map(_WRAPPER.fill, told)]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def cautions(groups: Mapping[str, Iterable[Record]]) -> list[WarningCount]:
    """The Cautions of *groups* of raw records, of those that were written with warnings.

    What shows only among Runs is looked for among all of them, one that is in two groups once.
    """
    firsts: dict[WarningRule, RunWarning] = {}
    counts: dict[str, Counter[WarningRule]] = {}
    once: dict[int, Record] = {}
    sizes: Counter[str] = Counter()
    for name, records in groups.items():
        counts[name] = Counter()
        for record in records:
            sizes[name] += 1
            once[id(record)] = record
            for one in recorded_pitfalls(record):
                firsts.setdefault(one.trap, one)
                counts[name][one.trap] += 1
    found = [
        WarningCount(
            pitfall=first,
            runs={name: counts[name][trap] for name in groups},
            of={name: sizes[name] for name in groups},
        )
        for trap, first in firsts.items()
    ]
    together = list(once.values())
    return found + [
        WarningCount(pitfall=one, runs={"": len(together)}, of={"": len(together)})
        for one in contrasts(together)
    ]


def cautions_of_points(points: Mapping[str, Sequence[Record]]) -> list[WarningCount]:
    """The same where Runs of different points are not to be held against each other."""
    found = cautions({"": [{**one, "statistics": {}} for runs in points.values() for one in runs]})
    for name, runs in points.items():
        found += [
            WarningCount(pitfall=one, runs={name: len(runs)}, of={name: len(runs)})
            for one in contrasts(runs)
        ]
    return found


def slim(record: Record) -> Record:
    """What Cautions need of *record*, for those who keep many."""
    views = ("pg_stat_checkpointer", "pg_stat_bgwriter")
    statistics = record.get("statistics") or {}
    return {
        "warnings": record.get("warnings") or {},
        "statistics": {view: statistics[view] for view in views if view in statistics},
    }
