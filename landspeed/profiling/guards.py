"""Which counted workloads execute a function, from the profiles kept with their records.

And how much of the server's code they execute: which of the functions in a file or below a
directory, of those that the compiler left as functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Self

import pyarrow.compute as pc
from rich.console import Group, RenderableType

from base.build import Build
from base.errors import RefError
from base.paths import Paths
from benchmarks.counted.profiles import kept_profile
from benchmarks.records.store import RecordStore
from benchmarks.workloads.catalog import workloads
from benchmarks.workloads.points import scheduled
from builders.builder import Builder
from landspeed.console.table import rich_table
from landspeed.profiling.diff import whole_functions
from landspeed.profiling.edited import compiled_functions
from landspeed.profiling.unreached import unreached

_COUNT_MORE = 'Count more with "landspeed run REF --suite all --metric instructions".'
_COLUMNS = ["mode", "origin_date", "time", "id"]


@dataclass(frozen=True, kw_only=True)
class Guard:
    """A workload that executes a function of interest.

    ``own`` is the share of its instructions that the function executes itself, ``inclusive`` also
    what it calls.
    """

    workload: str
    function: str
    own: float
    inclusive: float


def guards_of(paths: Paths, records: RecordStore, pattern: str) -> list[Guard]:
    """Return the workloads that execute functions like *pattern*, the largest share first.

    Of each workload the count of the newest server is read. RefError if none executes any.
    """
    every = _guards(paths, newest_counts(records))
    found = [one for one in every if fnmatchcase(one.function, pattern)]
    if not found:
        raise RefError(
            f'no counted workload executes a function called "{pattern}"',
            detail="Only workloads that were counted here are known; a function may be inlined.",
            hint=f"{_COUNT_MORE} In a name * stands for any letters.",
        )
    return sorted(found, key=lambda one: (-one.inclusive, one.workload, one.function))


@dataclass(frozen=True, kw_only=True)
class GuardedFile:
    """The functions of a C file that are in the server's program; which ones workloads execute.

    ``reachable`` are those that PostgreSQL's regression tests execute, as far as is known.
    """

    path: str
    functions: tuple[str, ...]
    executed: tuple[str, ...]
    reachable: tuple[str, ...]

    @property
    def directory(self) -> str:
        """The directory of the file."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, kw_only=True)
class GuardMap:
    """Which workloads execute the functions of a server.

    ``workloads`` has for each function those that execute it, the largest share of their own
    instructions first. Functions of one name in several files are not told apart.
    """

    label: str
    files: tuple[GuardedFile, ...]
    workloads: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class GuardCounts:
    """How many functions some files have, and how many of them workloads execute.

    ``reached`` are those that both workloads and regression tests execute.
    """

    functions: int
    executed: int
    reachable: int
    reached: int

    @classmethod
    def of(cls, files: Iterable[GuardedFile]) -> Self:
        """Return the counts of *files* together."""
        some = list(files)
        return cls(
            functions=sum(len(one.functions) for one in some),
            executed=sum(len(one.executed) for one in some),
            reachable=sum(len(one.reachable) for one in some),
            reached=sum(len({*one.executed} & {*one.reachable}) for one in some),
        )

    @property
    def shares(self) -> tuple[str, str]:
        """Executed functions of all, and of the reachable ones, in per cent."""
        reached = f"{self.reached / self.reachable:.0%}" if self.reachable else "-"
        return f"{self.executed / self.functions:.0%}", reached


def guarded_build(records: RecordStore, builder: Builder) -> tuple[Build, dict[str, str]]:
    """Return the newest server that was counted, and by workload the record of its newest count.

    RefError if none was counted, or that server is not there any more.
    """
    newest = newest_counts(records)
    counts = records.records([*newest.values()])
    last = max(counts, key=lambda one: (one.build.origin.date, one.time), default=None)
    build = builder.store.find(last.build.identifier) if last else None
    if build is None:
        what = f"{last.build.identifier} was removed." if last else "No workload was counted here."
        raise RefError("there is no server to look at", detail=what, hint=_COUNT_MORE)
    return build, newest


def guard_map(paths: Paths, records: RecordStore, builder: Builder, below: str) -> GuardMap:
    """Return what is executed of the C files at or *below* a path of the newest counted server.

    RefError if there are none, or that server is not there any more.
    """
    build, newest = guarded_build(records, builder)
    compiled = compiled_functions(build)
    shares: dict[str, list[tuple[float, str]]] = {}
    for one in _guards(paths, newest):
        shares.setdefault(one.function, []).append((one.own, one.workload))
    files = builder.sources.history.functions(build.origin.tree, below)
    found = [
        GuardedFile(
            path=path,
            functions=tuple(sorted(functions & compiled)),
            executed=tuple(sorted(functions & compiled & shares.keys())),
            reachable=tuple(sorted(functions & compiled - unreached(path))),
        )
        for path, functions in sorted(files.items())
        if functions & compiled
    ]
    if not found:
        raise RefError(
            f'{build.label} has no functions below "{below}"',
            hint="Name a file or directory of its source, such as src/backend/executor.",
        )
    named = {name for one in found for name in one.executed}
    by = {
        name: tuple(workload for _, workload in sorted(shares[name], reverse=True))
        for name in sorted(named)
    }
    return GuardMap(label=build.label, files=tuple(found), workloads=by)


def guarded_table(files: Sequence[GuardedFile]) -> RenderableType:
    """Return how many functions of each directory are executed; of a single file, which are not."""
    groups: dict[str, list[GuardedFile]] = {}
    for one in files:
        groups.setdefault(one.directory, []).append(one)
    rows = []
    for name, some in [*groups.items(), ("all", list(files))]:
        counts = GuardCounts.of(some)
        share, reached = counts.shares
        numbers = (counts.functions, counts.executed, share, counts.reachable, reached)
        rows.append((name, *map(str, numbers)))
    titles = ("directory", "functions", "executed", "share", "reachable", "of these")
    table = rich_table(titles, rows, align="lrrrrr")
    if len(files) > 1:
        return table
    missing = ", ".join(sorted({*files[0].functions} - {*files[0].executed})) or "none"
    return Group(table, f"Functions that no counted workload executes: {missing}.")


def guards_table(guards: list[Guard]) -> RenderableType:
    """Return *guards* as a table."""
    rows = [
        (one.workload, one.function, f"{one.own:.2%}", f"{one.inclusive:.2%}") for one in guards
    ]
    return rich_table(("workload", "function", "own", "inclusive"), rows, align="llr")


def newest_counts(records: RecordStore) -> dict[str, str]:
    """Return the record of each workload's count on the newest server."""
    names = [one.name for one in workloads()]
    table = scheduled(records.table([*_COLUMNS, "instructions", "preset"])).filter(
        pc.field("mode").isin(names) & pc.field("instructions").is_valid()
    )
    rows = sorted(zip(*(table[name].to_pylist() for name in _COLUMNS), strict=True))
    return {mode: identifier for mode, _, _, identifier in rows}


def _guards(paths: Paths, newest: Mapping[str, str]) -> Iterator[Guard]:
    """Yield the functions that each workload executes, by the profiles of the counts *newest*."""
    for workload, identifier in newest.items():
        profile = kept_profile(paths, identifier)
        if profile is None:
            continue
        whole = whole_functions(profile)
        total, inclusive = sum(whole.own.values()), whole.inclusive()
        for name, own in whole.own.items():
            share = min(1.0, inclusive[name] / total)
            yield Guard(workload=workload, function=name, own=own / total, inclusive=share)
