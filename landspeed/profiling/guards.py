"""Which counted workloads execute a function, from the profiles kept with their records."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

import pyarrow.compute as pc
from rich.console import RenderableType

from base.errors import RefError
from base.paths import Paths
from benchmarks.counted.profiles import kept_profile
from benchmarks.records.store import RecordStore
from benchmarks.workloads.catalog import workloads
from landspeed.console.table import rich_table
from landspeed.profiling.diff import whole_functions

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
            hint='Count more with "landspeed run REF --suite all --metric instructions"; '
            "* stands for any letters.",
        )
    return sorted(found, key=lambda one: (-one.inclusive, one.workload, one.function))


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
