"""What a bisection looks for, what it has measured, and the answers it can give. Pure.

Positions count candidates (commits, releases) along a range: 0 is GOOD, ``last`` is BAD.
*Step i* is the candidate at position i against the one before it: if the level changes at step
i, the candidate at i is the culprit. Values are logarithms, so that a difference is a ratio, and
oriented, so that the change that is looked for is a rise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import log1p


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """One of steps 1 … ``last`` raised the level by at least ``size``.

    ``size`` is a share (0.02 is 2 %), ``confidence`` the probability to be reached. A single run
    gives the level of a ``counted`` metric.
    """

    last: int
    size: float
    confidence: float = 0.95
    counted: bool = False

    @property
    def threshold(self) -> float:
        """``size`` as a difference of logarithms."""
        return log1p(self.size)


@dataclass(frozen=True, kw_only=True)
class Observations:
    """Everything that was measured so far.

    ``samples`` has the value of each run, by position; ``skipped`` the positions that cannot be
    built or measured; ``servers`` the digest of what each built position installs. Positions with
    the same digest are one server and share their samples.
    """

    samples: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    skipped: frozenset[int] = frozenset()
    servers: Mapping[int, str] = field(default_factory=dict)

    def runs(self, position: int) -> int:
        """Return how many samples there are of the server at *position*."""
        return sum(len(self.samples.get(p, ())) for p in self.identical(position))

    def identical(self, position: int) -> list[int]:
        """Return the positions known to be the same server as *position*, itself included."""
        server = self.servers.get(position)
        if server is None:
            return [position]
        return [p for p, other in self.servers.items() if other == server]

    def by_server(self) -> list[ServerSamples]:
        """Return the samples of each server that is built or measured, by its first position."""
        members: dict[object, list[int]] = {}
        for position in sorted({*self.samples, *self.servers}):
            members.setdefault(self.servers.get(position, position), []).append(position)
        return [
            ServerSamples(
                first=positions[0],
                last=positions[-1],
                values=tuple(v for p in positions for v in self.samples.get(p, ())),
            )
            for positions in members.values()
        ]


@dataclass(frozen=True, kw_only=True)
class ServerSamples:
    """The samples of one server, with the first and the last position that install it."""

    first: int
    last: int
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Seconds of one run, and of building a position that is not built yet."""

    run: float = 1.0
    build: float = 4.0


@dataclass(frozen=True, kw_only=True)
class Probe:
    """The decision to make one run at ``position`` next."""

    position: int


@dataclass(frozen=True, kw_only=True)
class Culprit:
    """One of steps ``first`` … ``last`` is the culprit.

    They are one step unless what lies between them cannot be built.
    """

    first: int
    last: int
    confidence: float


@dataclass(frozen=True, kw_only=True)
class NoCulprit:
    """No step is as large as was asked for."""

    confidence: float


@dataclass(frozen=True, kw_only=True)
class Reversed:
    """BAD is better than GOOD."""

    confidence: float


Decision = Probe | Culprit | NoCulprit | Reversed
