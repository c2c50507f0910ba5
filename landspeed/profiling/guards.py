"""Which counted workloads execute a function, from the profiles kept with their records.

And how much of the server's code they execute: which of the functions in a file or below a
directory, of those that the compiler left as functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

import pyarrow.compute as pc
from rich.console import Group, RenderableType

from base.errors import RefError
from base.paths import Paths
from benchmarks.counted.profiles import kept_profile
from benchmarks.records.store import RecordStore
from benchmarks.workloads.catalog import workloads
from builders.builder import Builder
from landspeed.console.table import rich_table
from landspeed.profiling.diff import whole_functions
from landspeed.profiling.edited import compiled_functions, executed_functions

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

    def facts(self) -> dict[str, Any]:
        """Return the guard as JSON can hold it."""
        return asdict(self)


def guards_of(paths: Paths, records: RecordStore, pattern: str) -> list[Guard]:
    """Return the workloads that execute functions like *pattern*, the largest share first.

    Of each workload the count of the newest server is read. RefError if none executes any.
    """
    found = []
    for workload, identifier in _newest(records).items():
        profile = kept_profile(paths, identifier)
        if profile is None:
            continue
        whole = whole_functions(profile)
        total, inclusive = sum(whole.own.values()), whole.inclusive()
        found += [
            Guard(
                workload=workload,
                function=name,
                own=own / total,
                inclusive=min(1.0, inclusive[name] / total),
            )
            for name, own in whole.own.items()
            if fnmatchcase(name, pattern)
        ]
    if not found:
        raise RefError(
            f'no counted workload executes a function called "{pattern}"',
            detail="Only workloads that were counted here are known; a function may be inlined.",
            hint=f"{_COUNT_MORE} In a name * stands for any letters.",
        )
    return sorted(found, key=lambda one: (-one.inclusive, one.workload, one.function))


@dataclass(frozen=True, kw_only=True)
class GuardedFile:
    """The functions of a C file that are in the server's program; which ones workloads execute."""

    path: str
    functions: tuple[str, ...]
    executed: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """Return the file as JSON can hold it."""
        return asdict(self)


def guarded_files(
    paths: Paths, records: RecordStore, builder: Builder, below: str
) -> list[GuardedFile]:
    """Return the C files at or *below* a path of the newest server that was counted here.

    RefError if there are none, or that server is not there any more.
    """
    newest = list(_newest(records).values())
    counts = records.records(newest)
    last = max(counts, key=lambda one: (one.build.origin.date, one.time), default=None)
    build = builder.store.find(last.build.identifier) if last else None
    if build is None:
        what = f"{last.build.identifier} was removed." if last else "No workload was counted here."
        raise RefError("there is no server to look at", detail=what, hint=_COUNT_MORE)
    executed, compiled = executed_functions(paths, newest), compiled_functions(build)
    files = builder.sources.history.functions(build.origin.tree, below)
    found = [
        GuardedFile(
            path=path,
            functions=tuple(sorted(functions & compiled)),
            executed=tuple(sorted(functions & compiled & executed)),
        )
        for path, functions in sorted(files.items())
        if functions & compiled
    ]
    if not found:
        raise RefError(
            f'{build.label} has no functions below "{below}"',
            hint="Name a file or directory of its source, such as src/backend/executor.",
        )
    return found


def guarded_table(files: Sequence[GuardedFile]) -> RenderableType:
    """Return how many functions of each directory are executed; of a single file, which are not."""
    groups: dict[str, list[GuardedFile]] = {}
    for one in files:
        groups.setdefault(one.path.rpartition("/")[0], []).append(one)
    rows = []
    for name, some in [*groups.items(), ("all", list(files))]:
        total = sum(len(one.functions) for one in some)
        executed = sum(len(one.executed) for one in some)
        rows.append((name, str(total), str(executed), f"{executed / total:.0%}"))
    table = rich_table(("directory", "functions", "executed", "share"), rows, align="lrrr")
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


def _newest(records: RecordStore) -> dict[str, str]:
    """Return the record of each workload's count on the newest server."""
    names = [one.name for one in workloads()]
    table = records.table([*_COLUMNS, "instructions"]).filter(
        pc.field("mode").isin(names) & pc.field("instructions").is_valid()
    )
    rows = sorted(zip(*(table[name].to_pylist() for name in _COLUMNS), strict=True))
    return {mode: identifier for mode, _, _, identifier in rows}
