"""From dots to Series: what one cell costs over releases or commits, as far as it is comparable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa

from base.build import Origin, Variant
from benchmarks.asv_names import Metric
from builders.source import Place
from landspeed.asv_benchmarks import Params
from landspeed.likelihood import Floats
from landspeed.points import Dot

RELEASES_LINE = "releases"
"""The line of history that has one commit a release."""

PlaceOf = Callable[[Origin], Place | None]
"""Where in history an origin is; None where it has no place, like a server built elsewhere."""


@dataclass(frozen=True, kw_only=True)
class Series:
    """A Series is one metric of one cell along one line of history, in one epoch.

    ``epoch`` is all that must be the same for numbers to be comparable: of a measured time the
    machine, its epoch and the toolchain, of an exact count the toolchain and the libc it ran
    with. ``samples`` has the numbers of each of ``dots``. Neighbours that are one server (Twins)
    are one dot, that of the first of them; ``lasts`` are the last of them.
    """

    metric: Metric
    variant: Variant
    mode: str
    params: Params
    line: str
    epoch: str
    dots: tuple[Dot, ...]
    samples: tuple[Floats, ...]
    lasts: tuple[Origin, ...]

    @property
    def numbers(self) -> Floats:
        """One number for each dot: the median of its samples, which is what is drawn."""
        return np.array([np.median(one) for one in self.samples])


_Key = tuple[Metric, Variant, str, Params, str, str]


def series_of(
    dots: Iterable[Dot],
    metrics: Sequence[Metric],
    place_of: PlaceOf,
    toolchains: Mapping[tuple[str, str], str],
) -> list[Series]:
    """All Series that *dots* make of *metrics*; *toolchains* is by digest and epoch of a server.

    A new kernel, processor, microcode, libc or toolchain ends a Series and begins another, so
    that nothing is ever compared across it.
    """
    groups: dict[_Key, list[tuple[int, Dot, Floats]]] = {}
    known: dict[Origin, Place | None] = {}
    for dot in dots:
        if dot.origin not in known:
            known[dot.origin] = place_of(dot.origin)
        place = known[dot.origin]
        if place is None:
            continue
        for metric in metrics:
            if metric.buffers != dot.buffers:
                continue
            samples = _positive(dot, metric)
            if len(samples):
                key = _key(dot, metric, place.line, toolchains.get((dot.digest, dot.epoch), ""))
                groups.setdefault(key, []).append((place.position, dot, samples))
    return [_series(key, found) for key, found in groups.items()]


def _key(dot: Dot, metric: Metric, line: str, toolchain: str) -> _Key:
    where = toolchain if metric.exact else f"{dot.machine} {dot.epoch} {toolchain}"
    return metric, dot.variant, dot.mode, dot.params, line, where


def _series(key: _Key, found: list[tuple[int, Dot, Floats]]) -> Series:
    # of an exact metric several machines may have the same commit: the newest measurement stands
    newest = {position: (dot, samples) for position, dot, samples in sorted(found, key=_age)}
    kept = [list(same) for _, same in groupby((newest[i] for i in sorted(newest)), _digest)]
    metric, variant, mode, params, line, epoch = key
    return Series(
        metric=metric,
        variant=variant,
        mode=mode,
        params=params,
        line=line,
        epoch=epoch,
        dots=tuple(twins[0][0] for twins in kept),
        samples=tuple(twins[0][1] for twins in kept),
        lasts=tuple(twins[-1][0].origin for twins in kept),
    )


def _age(one: tuple[int, Dot, Floats]) -> str:
    return one[1].last_id


def _digest(one: tuple[Dot, Floats]) -> str:
    return one[0].digest


def _positive(dot: Dot, metric: Metric) -> Floats:
    values = dot.samples[metric.column]
    return np.array([value for value in values if value is not None and value > 0], dtype=float)


def toolchains_of(table: pa.Table) -> dict[tuple[str, str], str]:
    """What each server of *table* (RecordStore.table()) was built by and ran with.

    Compiler and libc of the build, and the libc that was there when it ran; by the digest of the
    server and the epoch.
    """
    names = ["digest", "epoch", "cc", "libc", "runtime_libc"]
    rows = table.select(names).group_by(names).aggregate([])
    return {
        (row["digest"], row["epoch"]): ", ".join(str(row[name]) for name in names[2:])
        for row in rows.to_pylist()
    }
