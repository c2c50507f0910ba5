"""What a bisection is asked, what it has seen, and what it can answer. Pure.

Positions count candidates (commits, releases) along a line: 0 is GOOD, ``last`` is BAD. *Step i*
is a change of level between position i-1 and position i: its culprit is the candidate at i.
Values are oriented: up is worse. They are logarithms, so that a difference is a ratio.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log1p


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A Hypothesis asks which of steps 1 … ``last`` raised the level by at least ``size``.

    ``size`` is a share (0.02 is 2 %), ``confidence`` the probability to be reached; of a metric
    that ``is_exact`` one Run tells the level.
    """

    last: int
    size: float
    confidence: float = 0.95
    is_exact: bool = False

    @property
    def threshold(self) -> float:
        """``size`` as a difference of logarithms."""
        return log1p(self.size)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """An Evidence is all that a bisection knows by now.

    ``samples`` are the values of one Run each, by position; ``skipped`` the positions that do not
    build or do not run; ``servers`` names what each built position installs: positions with
    one name are one server, and share their samples.
    """

    samples: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    skipped: frozenset[int] = frozenset()
    servers: Mapping[int, str] = field(default_factory=dict)

    def runs(self, position: int) -> int:
        """How many samples there are of the server at *position*."""
        return sum(len(self.samples.get(p, ())) for p in self.alike(position))

    def alike(self, position: int) -> list[int]:
        """The positions known to be the same server as *position*, itself included."""
        server = self.servers.get(position)
        if server is None:
            return [position]
        return [p for p, other in self.servers.items() if other == server]

    def groups(self) -> list[Group]:
        """The servers that are built or measured, by the first position of each."""
        members: dict[object, list[int]] = {}
        for position in sorted({*self.samples, *self.servers}):
            members.setdefault(self.servers.get(position, position), []).append(position)
        found = [
            Group(
                first=positions[0],
                last=positions[-1],
                values=tuple(v for p in positions for v in self.samples.get(p, ())),
            )
            for positions in members.values()
        ]
        return sorted(found, key=lambda group: group.first)


@dataclass(frozen=True, kw_only=True)
class Group:
    """A Group is one server: the first and last position that install it, and its samples."""

    first: int
    last: int
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Costs are seconds: of one Run, and of a build at a position that is not built yet."""

    run: float = 1.0
    build: float = 4.0


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A Probe says: make one Run at this position next."""

    position: int


@dataclass(frozen=True, kw_only=True)
class Culprit:
    """A Found names the culprit: one of steps ``first`` … ``last``, which are one step unless
    what lies between them cannot be built."""

    first: int
    last: int
    confidence: float


@dataclass(frozen=True, kw_only=True)
class NoCulprit:
    """A NoCulprit says that no step has the size asked, and how certainly."""

    confidence: float


@dataclass(frozen=True, kw_only=True)
class Reversed:
    """A Reversed says that BAD is better than GOOD, and how certainly."""

    confidence: float


Decision = Probe | Culprit | NoCulprit | Reversed
