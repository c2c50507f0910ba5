"""Compare two profiles of one scenario function by function.

Profiles are per transaction, as benchmarks.counted.count stores them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isclose
from typing import Any

from rich.console import Group, RenderableType

from base.paths import Paths
from benchmarks.counted.callgrind import Edge, Profile
from benchmarks.counted.profiles import kept_profile
from benchmarks.records.record import Record
from landspeed.console.table import rich_table

# Suffixes that gcc and clang give to parts and copies of a function; callgrind's "'2" stands behind
# them where a function calls itself.
_PART = re.compile(r"(\.(isra|part|constprop|cold|lto_priv|llvm)(\.\d+)?)+(?=$|'\d+$)")
# The C library has a version of them for each kind of processor. Those that copy are not here:
# called as often, they may copy more.
_READS_STRINGS = re.compile(r"^__(str\w+|memcmp|memchr)_(avx|sse|evex)")
# glibc's allocator finds a place in the heap by them. What a call costs depends on what is free
# beside it, and that on all that the process did before.
_ALLOCATES = frozenset({"_int_malloc", "_int_free", "unlink_chunk"})
_CALLED_TO_ALLOCATE = ("_int_malloc", "_int_free")
_SHOWN_FILES = 40
_CHANGED = 3
_MOSTLY = 0.9
# A call more in a thousand does not explain a change that is worth a name.
_AS_OFTEN = 0.002
# Less than an instruction is rounding.
_LEAST = 1.0


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Instructions of one function per transaction, before and after.

    ``own`` counts the function itself, ``inclusive`` also what it calls.
    """

    function: str
    own_before: float
    own_after: float
    inclusive_before: float
    inclusive_after: float

    @property
    def own(self) -> float:
        """Change of its own instructions."""
        return self.own_after - self.own_before

    @property
    def inclusive(self) -> float:
        """Change of its inclusive instructions."""
        return self.inclusive_after - self.inclusive_before

    def facts(self) -> dict[str, Any]:
        """Return the cost as JSON can hold it, with three decimals."""
        facts = asdict(self) | {"own": self.own, "inclusive": self.inclusive}
        return {key: one if key == "function" else round(one, 3) for key, one in facts.items()}


@dataclass(frozen=True, kw_only=True)
class MissChange:
    """Misses of one level of the simulated cache per transaction, before and after.

    ``functions`` are those whose own misses changed most, with their misses before and after.
    """

    level: str
    before: float
    after: float
    functions: tuple[tuple[str, float, float], ...]

    def __str__(self) -> str:
        named = [f"{name} {after - before:+.1f}" for name, before, after in self.functions]
        relative = f" ({self.after / self.before - 1:+.2%})" if self.before else ""
        text = f"{self.level}-level misses: {self.before:.1f}, {self.after:.1f}{relative}"
        return f"{text}: {', '.join(named)}" if named else text


@dataclass(frozen=True, kw_only=True)
class ExplainResult:
    """Difference of two servers' profiles of one cell, in instructions per transaction.

    ``files`` are the source files that differ; None if unknown.
    """

    before: str
    after: str
    cell: str
    total_before: float
    total_after: float
    costs: tuple[Cost, ...]
    files: tuple[str, ...] | None
    notes: tuple[str, ...] = ()
    misses: tuple[MissChange, ...] = ()

    @property
    def headline(self) -> str:
        """The totals of both servers."""
        change = self.total_after / self.total_before - 1
        return (
            f"{self.cell}: {self.before} {self.total_before:.1f}, {self.after} "
            f"{self.total_after:.1f} instructions per transaction ({change:+.2%})"
        )

    def facts(self, top: int) -> dict[str, Any]:
        """Return the result as JSON can hold it, with the *top* functions."""
        return asdict(self) | {"costs": [cost.facts() for cost in self.costs[:top]]}


def whole_functions(profile: Profile) -> Profile:
    """Return *profile* with the parts that the compiler split off a function merged into it.

    Two compilations split differently. Calls between parts of one function are dropped.
    """
    edges: dict[tuple[str, str], Edge] = {}
    for (caller, callee), edge in profile.edges.items():
        pair = (_whole(caller), _whole(callee))
        if pair[0] == pair[1] and caller != callee:
            continue
        known = edges.get(pair, Edge(calls=0.0, inclusive=0.0))
        edges[pair] = Edge(
            calls=known.calls + edge.calls, inclusive=known.inclusive + edge.inclusive
        )
    misses = {level: _merged(some) for level, some in profile.misses.items()}
    return Profile(own=_merged(profile.own), edges=edges, misses=misses)


def _merged(numbers: Mapping[str, float]) -> dict[str, float]:
    """Return the sum of *numbers*, one for each function or part of one, by whole function."""
    whole: dict[str, float] = {}
    for name, number in numbers.items():
        whole[_whole(name)] = whole.get(_whole(name), 0.0) + number
    return whole


def _whole(name: str) -> str:
    return _PART.sub("", name)


def costs(before: Profile, after: Profile) -> tuple[Cost, ...]:
    """Return the cost of every whole function, the largest change of its own instructions first."""
    before, after = whole_functions(before), whole_functions(after)
    inclusive = before.inclusive(), after.inclusive()
    found = [
        Cost(
            function=name,
            own_before=before.own.get(name, 0.0),
            own_after=after.own.get(name, 0.0),
            inclusive_before=inclusive[0].get(name, 0.0),
            inclusive_after=inclusive[1].get(name, 0.0),
        )
        for name in before.own.keys() | after.own.keys()
    ]
    return tuple(sorted(found, key=lambda cost: (-abs(cost.own), cost.function)))


def miss_changes(before: Profile, after: Profile) -> tuple[MissChange, ...]:
    """Return the change of misses in each level of the cache that both profiles have."""
    before, after = whole_functions(before), whole_functions(after)
    found = []
    for level in before.misses.keys() & after.misses.keys():
        old, new = before.misses[level], after.misses[level]
        changed = [(name, old.get(name, 0.0), new.get(name, 0.0)) for name in old.keys() | new]
        changed.sort(key=lambda one: (-abs(one[2] - one[1]), one[0]))
        found.append(
            MissChange(
                level=level,
                before=sum(old.values()),
                after=sum(new.values()),
                functions=tuple(one for one in changed[:_CHANGED] if one[1] != one[2]),
            )
        )
    return tuple(sorted(found, key=lambda one: one.level))


def kept_costs(paths: Paths, before: str, after: str) -> tuple[Cost, ...]:
    """Return the costs of two records (ids); none if a profile was not kept."""
    old, new = (kept_profile(paths, record) for record in (before, after))
    return costs(old, new) if old and new else ()


def changed_functions(
    paths: Paths, before: str, after: str, most: int = _CHANGED
) -> tuple[Cost, ...]:
    """Return at *most* the functions whose own instructions changed most between two records.

    There are none if a profile was not kept.
    """
    found = kept_costs(paths, before, after)[:most]
    return tuple(cost for cost in found if abs(cost.own) >= _LEAST)


def is_layout(paths: Paths, before: str, after: str) -> bool:
    """Return whether nine tenths or more of the change between two records are of where data lie.

    That is so of functions of the C library that are called as often as before, within 0.2 %, and
    cost something else: those that read strings take another way for one that may cross a page,
    and those that allocate memory for a heap with other gaps. False if a profile was not kept.
    """
    kept = (kept_profile(paths, record) for record in (before, after))
    profiles = [whole_functions(one) for one in kept if one]
    if len(profiles) < 2:
        return False
    calls: list[dict[str, float]] = [defaultdict(float), defaultdict(float)]
    for profile, known in zip(profiles, calls, strict=True):
        for (_, callee), edge in profile.edges.items():
            known[callee] += edge.calls

    def as_often(name: str) -> bool:
        return isclose(calls[0][name], calls[1][name], rel_tol=_AS_OFTEN)

    allocates = _ALLOCATES if all(map(as_often, _CALLED_TO_ALLOCATE)) else frozenset()
    old, new = (profile.own for profile in profiles)
    moved = sum(
        new.get(name, 0.0) - own
        for name, own in old.items()
        if name in allocates or (_READS_STRINGS.search(name) and as_often(name))
    )
    change = sum(new.values()) - sum(old.values())
    return change != 0 and abs(change - moved) <= (1 - _MOSTLY) * abs(change)


def incomparable(before: Record, after: Record) -> list[str]:
    """Return why two counted records are not comparable, as text; empty if they are."""
    reasons = []
    if before.epoch.identifier != after.epoch.identifier:
        names = ("valgrind", "libc_sha256", "shown_cpu", "method")
        other = [n for n in names if getattr(before.epoch, n) != getattr(after.epoch, n)]
        other = other or ["architecture, or another definition of the workload"]
        reasons.append(f"counted with another {', '.join(other)}")
    tools = before.build.toolchain, after.build.toolchain
    known = sorted(tools[0].keys() | tools[1].keys())
    changed = [name for name in known if tools[0].get(name) != tools[1].get(name)]
    if changed:
        reasons.append(f"compiled by another {', '.join(changed)}")
    return reasons


def explained_text(explained: ExplainResult, top: int) -> RenderableType:
    """Return the *top* functions as a table, and the files that changed."""
    titles = ("function", "own", explained.before, explained.after, "inclusive", "of all")
    rows = [
        (
            cost.function,
            f"{cost.own:+.1f}",
            f"{cost.own_before:.1f}",
            f"{cost.own_after:.1f}",
            f"{cost.inclusive:+.1f}",
            f"{cost.own / explained.total_before:+.2%}",
        )
        for cost in explained.costs[:top]
    ]
    rest = sum(cost.own for cost in explained.costs[top:])
    rows.append(("all others", f"{rest:+.1f}", "", "", "", ""))
    table = rich_table(titles, rows, align="lr")
    misses = ["", "Simulated cache, per transaction:", *(f"  {one}" for one in explained.misses)]
    return Group(
        explained.headline,
        "",
        table,
        *(misses if explained.misses else ()),
        *_files(explained.files),
        *explained.notes,
    )


def _files(files: Sequence[str] | None) -> list[str]:
    if files is None:
        return []
    shown = [f"  {name}" for name in files[:_SHOWN_FILES]]
    more = [f"  … and {len(files) - _SHOWN_FILES} more"] if len(files) > _SHOWN_FILES else []
    return ["", f"{len(files)} files of the source differ", *shown, *more]
