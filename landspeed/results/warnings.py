"""Warnings as people read them: in how many runs each was seen, what it means, what to try."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import TextWrapper
from typing import Any

from benchmarks.observation.warnings import RULES, RunFindings, WarningRule

_WRAPPER = TextWrapper(width=100, initial_indent="  ", subsequent_indent="  ")


@dataclass(frozen=True, kw_only=True)
class RunWarning:
    """A rule that applied, what was seen first, and in how many runs of each group.

    A group is a side or a point: ``runs`` and ``of`` are by its name, which is empty where there
    is only one.
    """

    rule: WarningRule
    seen: str
    runs: Mapping[str, int]
    of: Mapping[str, int]

    def facts(self) -> dict[str, Any]:
        """Return the warning as JSON can hold it."""
        return {
            "warning": self.rule.name,
            "seen": self.seen,
            "means": self.rule.means,
            "try": self.rule.remedy,
            "runs": dict(self.runs),
            "of": dict(self.of),
        }

    @property
    def where(self) -> str:
        """In how many runs of which group: ``2 of 5 runs of 18.6 bs4``."""
        return ", ".join(
            f"{count} of {self.of[name]} runs" + (f" of {name}" if name else "")
            for name, count in self.runs.items()
            if count
        )

    def __str__(self) -> str:
        """Return what was seen and where, then what it means and what to try, indented."""
        texts = (self.rule.means, f"Try: {self.rule.remedy}")
        return "\n".join([f"warning: {self.seen} ({self.where})", *map(_WRAPPER.fill, texts)])


def count_warnings(groups: Mapping[str, Iterable[RunFindings]]) -> list[RunWarning]:
    """Return the warnings of the runs in *groups*, and those that only all of them together show.

    A run that is in two groups counts once among all.
    """
    lists = {name: list(runs) for name, runs in groups.items()}
    together = {run.id: run for runs in lists.values() for run in runs}
    return [*_counted(lists), *_contrasts("", list(together.values()))]


def count_warnings_by_point(points: Mapping[str, Sequence[RunFindings]]) -> list[RunWarning]:
    """Return the warnings of the runs of *points*, whose runs are only compared within a point."""
    found = _counted({"": [run for runs in points.values() for run in runs]})
    return found + [one for name, runs in points.items() for one in _contrasts(name, runs)]


def _counted(groups: Mapping[str, Sequence[RunFindings]]) -> list[RunWarning]:
    first: dict[str, str] = {}
    for run in (run for runs in groups.values() for run in runs):
        # a newer landspeed may have recorded warnings that this one does not know
        first = {name: seen for name, seen in run.warnings.items() if name in RULES} | first
    return [
        RunWarning(
            rule=RULES[rule],
            seen=seen,
            runs={name: sum(rule in run.warnings for run in runs) for name, runs in groups.items()},
            of={name: len(runs) for name, runs in groups.items()},
        )
        for rule, seen in first.items()
    ]


def _contrasts(name: str, runs: Sequence[RunFindings]) -> list[RunWarning]:
    found = [(rule, rule.contrast(runs)) for rule in RULES.values()]
    size = {name: len(runs)}
    return [RunWarning(rule=rule, seen=seen, runs=size, of=size) for rule, seen in found if seen]
