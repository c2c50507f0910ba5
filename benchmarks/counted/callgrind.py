"""Callgrind's output files, read: what each function executed itself, and what it called for.

Pure. The format: https://valgrind.org/docs/manual/cl-format.html. Costs are instructions (Ir).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from base.errors import MeasureError

_NAMED = re.compile(r"(c?)(fn|ob)=\((\d+)\)(?: (.*))?")
_ADDRESS = re.compile("0x[0-9a-f]+")
_COST = re.compile(r"(?:[+-]?\d+|0x[0-9a-f]+|\*) (\d+(?: \d+)*)")
_EVENTS = "events: "
CACHE_LEVELS = {"first": ("I1mr", "D1mr", "D1mw"), "last": ("ILmr", "DLmr", "DLmw")}
"""The events of callgrind that are misses of each level of the simulated cache."""

SIMULATED_CACHE = ("--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")
"""Options of callgrind: the same cache on every machine, with 1 MB for one backend."""

_LAST = "totals:"


@dataclass(frozen=True, kw_only=True)
class Edge:
    """Calls of one function by another: how many, and their instructions.

    ``inclusive`` counts what the callee called in its turn.
    """

    calls: float
    inclusive: float


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One process's instructions by function, and by caller and callee.

    Inclusive costs of functions that call each other in a circle count some work twice. ``misses``
    has, of each level of CACHE_LEVELS, a function's own misses, if a cache was simulated.
    """

    own: Mapping[str, float]
    edges: Mapping[tuple[str, str], Edge]
    misses: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The Profile in callgrind's output *text*; MeasureError if it is not a whole one."""
        try:
            reader = _Reader.of(text)
        except (KeyError, ValueError, IndexError) as error:
            raise MeasureError(
                "callgrind's output cannot be understood",
                detail=text[-200:].strip() or "The file is empty.",
                hint="It is whole only if the process ended by itself.",
            ) from error
        edges = {
            pair: Edge(calls=calls, inclusive=cost) for pair, (calls, cost) in reader.edges.items()
        }
        return cls(own=reader.own, edges=edges, misses=reader.misses)

    @classmethod
    def sum(cls, profiles: Iterable[Self]) -> Self:
        """Return what several processes executed together."""
        own = Counter[str]()
        calls, inclusive = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        misses: dict[str, Counter[str]] = {}
        for profile in profiles:
            own.update(profile.own)
            calls.update({pair: edge.calls for pair, edge in profile.edges.items()})
            inclusive.update({pair: edge.inclusive for pair, edge in profile.edges.items()})
            for level, some in profile.misses.items():
                misses.setdefault(level, Counter()).update(some)
        edges = {pair: Edge(calls=calls[pair], inclusive=cost) for pair, cost in inclusive.items()}
        return cls(own=own, edges=edges, misses=misses)

    def entered(self, function: str) -> float:
        """The instructions executed below all calls of *function* by others; 0 if there is none."""
        return sum(
            edge.inclusive
            for (caller, callee), edge in self.edges.items()
            if callee == function and caller != function
        )

    def inclusive(self) -> dict[str, float]:
        """Each function's instructions with those of all that it called."""
        total = dict(self.own)
        for (caller, callee), edge in self.edges.items():
            if caller != callee:
                total[caller] = total.get(caller, 0.0) + edge.inclusive
        return total

    def since(self, shorter: Self, transactions: int) -> Self:
        """What one transaction cost, from this run and a *shorter* one of so many fewer."""
        none = Edge(calls=0.0, inclusive=0.0)
        edges = {}
        for pair, edge in self.edges.items():
            before = shorter.edges.get(pair, none)
            edges[pair] = Edge(
                calls=(edge.calls - before.calls) / transactions,
                inclusive=(edge.inclusive - before.inclusive) / transactions,
            )
        misses = {
            level: _slopes(some, shorter.misses.get(level, {}), transactions)
            for level, some in self.misses.items()
        }
        own = _slopes(self.own, shorter.own, transactions)
        return type(self)(own=own, edges=edges, misses=misses)

    def facts(self, *, least: float) -> dict[str, Any]:
        """As JSON can hold it, without what costs less than *least* instructions either way."""
        kept = {name: round(cost, 3) for name, cost in self.own.items() if abs(cost) >= least}
        edges = [
            [caller, callee, round(edge.calls, 4), round(edge.inclusive, 3)]
            for (caller, callee), edge in self.edges.items()
            if abs(edge.inclusive) >= least
        ]
        misses = {
            level: {name: round(number, 4) for name, number in some.items() if number}
            for level, some in self.misses.items()
        }
        return {"own": kept, "edges": edges, **({"misses": misses} if misses else {})}

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """Return the profile that *facts* are of; ValueError, TypeError or KeyError if none."""
        edges = {
            (str(caller), str(callee)): Edge(calls=float(calls), inclusive=float(cost))
            for caller, callee, calls, cost in facts["edges"]
        }
        return cls(
            own=_numbers(facts["own"]),
            edges=edges,
            misses={str(level): _numbers(some) for level, some in facts.get("misses", {}).items()},
        )


def _slopes(
    long: Mapping[str, float], short: Mapping[str, float], transactions: int
) -> dict[str, float]:
    return {name: (cost - short.get(name, 0.0)) / transactions for name, cost in long.items()}


def _numbers(facts: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(number) for name, number in facts.items()}


def is_whole(text: str) -> bool:
    """Whether callgrind wrote *text* to its end."""
    return any(line.startswith(_LAST) for line in text[-200:].splitlines())


@dataclass(kw_only=True)
class _Reader:
    """Reads line by line; a name is spelled out once and then given by its number.

    A function of a stripped library has an address for a name: it is called ``libc.so.6:0x1e6fb0``.
    """

    own: dict[str, float] = field(default_factory=dict)
    edges: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    misses: dict[str, dict[str, float]] = field(default_factory=dict)
    _columns: dict[str, list[int]] = field(default_factory=dict)
    _names: dict[tuple[str, str], str] = field(default_factory=dict)
    _objects: dict[str, str] = field(default_factory=dict)
    _function: str = ""
    _callee: str = ""
    _calls: int | None = None

    @classmethod
    def of(cls, text: str) -> Self:
        """Return what has read *text*; KeyError, ValueError or IndexError if it is not whole."""
        reader = cls()
        for line in text.splitlines() if is_whole(text) else ():
            reader.read(line)
        if not reader.own:
            raise ValueError("nothing was executed")
        return reader

    def read(self, line: str) -> None:
        if named := _NAMED.match(line):
            called, kind, number, name = named.groups()
            if name is not None:
                self._names[kind, number] = self._told(called, name)
            if kind == "ob":
                # A callee is in its caller's object unless cob= says otherwise.
                self._objects |= {called: self._names[kind, number], "c": self._names[kind, number]}
            elif called:
                self._callee = self._names[kind, number]
            else:
                self._function = self._names[kind, number]
        elif line.startswith("calls="):
            self._calls = _number(line.removeprefix("calls=").split()[0])
        elif cost := _COST.fullmatch(line):
            self._cost(cost[1].split())
        elif line.startswith(_EVENTS):
            events = line.removeprefix(_EVENTS).split()
            for level, names in CACHE_LEVELS.items():
                if set(names) <= set(events):
                    self._columns[level] = [events.index(name) for name in names]
                    self.misses.setdefault(level, {})

    def _told(self, called: str, name: str) -> str:
        if not _ADDRESS.fullmatch(name):
            return name
        return f"{self._objects.get(called, '?').rpartition('/')[2]}:{int(name, 16):#x}"

    def _cost(self, numbers: list[str]) -> None:
        instructions = _number(numbers[0])
        if self._calls is None:
            self.own[self._function] = self.own.get(self._function, 0) + instructions
            for level, columns in self._columns.items():
                # zeros at the end are left out
                missed = sum(_number(numbers[one]) for one in columns if one < len(numbers))
                known = self.misses[level]
                known[self._function] = known.get(self._function, 0) + missed
            return
        # the line after calls= is what was executed below these calls
        pair = (self._function, self._callee)
        calls, inclusive = self.edges.get(pair, (0, 0))
        self.edges[pair] = (calls + self._calls, inclusive + instructions)
        self._calls = None
        self._objects["c"] = self._objects.get("", "?")


def _number(digits: str) -> int:
    """Return the number of *digits*; ValueError if it has more than the 64 bits of callgrind's."""
    number = int(digits)
    if number >= 1 << 64:
        raise ValueError(f"{digits[:20]}… is no count")
    return number
