"""Make series of comparable dots: the cost of one cell over releases or commits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from base.build import Origin, Variant
from benchmarks.records.columns import variant_of
from benchmarks.workloads.metrics import Metric
from builders.source import Position
from landspeed.results.arrays import Floats, Ints, both, codes
from landspeed.results.params import Params
from landspeed.results.points import CELL, Dot, Dots, params_of

RELEASES_LINE = "releases"
"""Name of the line of history with one commit per release."""

PlaceOf = Callable[[Origin], Position | None]
"""Returns the position of an origin in history; None if it has none, as an external server."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """One metric of one cell along one line of history, in one epoch.

    ``epoch`` names everything that must be equal for numbers to be comparable: for a time the
    machine, its epoch and the toolchain; for an exact count the toolchain and the libc at run
    time. Neighbours that are the same server are one point: ``firsts`` and ``lasts`` are the
    indices in ``dots`` of its first and its last origin. ``numbers`` are the points' medians, which
    are drawn.
    """

    metric: Metric
    variant: Variant
    mode: str
    params: Params
    line: str
    epoch: str
    dots: Dots
    firsts: Ints
    lasts: Ints
    numbers: Floats

    def __len__(self) -> int:
        return len(self.firsts)

    def dot(self, point: int) -> Dot:
        """Return the dot of the first origin of a point."""
        return self.dots[int(self.firsts[point])]

    def last_origin(self, point: int) -> Origin:
        """Return the last origin of a point."""
        return self.dots.origins[int(self.dots.whose[self.lasts[point]])]

    @property
    def samples(self) -> list[Floats]:
        """The numbers of each point."""
        values, groups = self.dots.values[self.metric.column], self.dots.groups
        runs = (values[groups.rows(group)] for group in self.dots.rows[self.firsts])
        return [some[some > 0] for some in runs]

    @property
    def name(self) -> str:
        """Unique name of the series."""
        params = "/".join(map(str, self.params))
        cell = f"{self.metric.name} of {self.mode}/{params} {self.variant}"
        return f"{cell} on {self.line}, {self.epoch}"


def series_of(dots: Dots, metrics: Sequence[Metric], place_of: PlaceOf) -> list[Series]:
    """Return the series of *metrics* in *dots*.

    A new kernel, processor, microcode, libc or toolchain ends a series and begins another, so
    that numbers are not compared across the change.
    """
    placed = _PlacedDots(dots, place_of)
    return [series for metric in metrics for series in placed.series(metric)]


class _PlacedDots:
    """Dots with arrays of their positions in history and their toolchains.

    ``line`` and ``toolchain`` are indices in ``lines`` and ``toolchains``; the position of a dot
    that has none is -1.
    """

    def __init__(self, dots: Dots, place_of: PlaceOf) -> None:
        known = {origin: place_of(origin) for origin in set(dots.origins)}
        places = [known[origin] for origin in dots.origins]
        self.lines, line = np.unique([p.branch if p else "" for p in places], return_inverse=True)
        position = np.array([p.position if p else -1 for p in places], dtype=np.int64)
        server = codes(dots.heads, ["digest", "epoch"])
        _, first, which = np.unique(server, return_index=True, return_inverse=True)
        pairs = dots.heads.select(["digest", "epoch"]).take(first).to_pylist()
        named = [dots.toolchains.get((pair["digest"], pair["epoch"]), "") for pair in pairs]
        self.toolchains, kind = np.unique(named, return_inverse=True)
        self.dots, self.line, self.position = dots, line[dots.whose], position[dots.whose]
        self.toolchain = kind[which.reshape(-1)][dots.rows]

    def series(self, metric: Metric) -> Iterator[Series]:
        """Yield the series of *metric*."""
        dots, heads = self.dots, self.dots.heads
        values = dots.values[metric.column]
        if not (values > 0).any():
            return
        medians = dots.groups.medians(np.where(values > 0, values, np.nan))
        buffers = heads["buffers"]
        asked = pc.equal(buffers, str(metric.buffers)) if metric.exact else buffers.is_null()
        known = pc.fill_null(asked, False).to_numpy() & ~np.isnan(medians)
        drawn = known[dots.rows] & (self.position >= 0)
        key = both(self.line, self.toolchain)
        # What exact counts must share is in their epoch, and no machine is.
        apart = codes(heads, ["epoch"])
        cells = both(codes(heads, CELL) if metric.exact else dots.cells, apart)
        key = both(key, cells[dots.rows])
        here = np.flatnonzero(drawn)
        # Several machines may have counted the same commit; the newest count, the last, is used.
        here = here[np.lexsort((here, self.position[here], key[here]))]
        another = (np.diff(key[here]) != 0) | (np.diff(self.position[here]) != 0)
        here = here[np.append(another, [True] * (len(here) > 0)).astype(bool)]
        ends = np.flatnonzero(np.diff(key[here])) + 1
        parts = [part for part in np.split(here, ends) if len(part)]
        for part in sorted(parts, key=lambda part: int(part.min())):
            yield self._series(metric, part, medians)

    def _series(self, metric: Metric, part: Ints, medians: Floats) -> Series:
        dots = self.dots
        digests = codes(dots.heads.select(["digest"]).take(dots.rows[part]), ["digest"])
        changes = np.flatnonzero(np.diff(digests))
        firsts, lasts = part[np.append([0], changes + 1)], part[np.append(changes, len(part) - 1)]
        (head,) = dots.heads.take(dots.rows[part[:1]]).to_pylist()
        kind = self.toolchains[self.toolchain[part[0]]]
        return Series(
            metric=metric,
            variant=variant_of(head),
            mode=head["mode"],
            params=params_of(head),
            line=str(self.lines[self.line[part[0]]]),
            epoch=f"{'' if metric.exact else head['machine']} {head['epoch']} {kind}".strip(),
            dots=dots,
            firsts=firsts,
            lasts=lasts,
            numbers=medians[dots.rows[firsts]],
        )
