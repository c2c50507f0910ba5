"""Describe our measurements as entries of asv's benchmarks.json."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from benchmarks.workloads.metrics import (
    BENCHMARK_VERSION,
    PARAM_NAMES,
    Metric,
    benchmark_name,
    metrics_of,
)

Some = TypeVar("Some")
Asked = tuple[str, str | None]
"""Mode of runs, and the state of the buffers if they were counted."""

_PROTOCOLS = ("simple", "extended", "prepared")


@dataclass(frozen=True, order=True)
class Params:
    """asv parameters of a cell, in the order of ``PARAM_NAMES``."""

    protocol: str
    scale: str
    clients: int
    profile: str

    def __iter__(self) -> Any:
        return iter((self.protocol, self.scale, self.clients, self.profile))

    def spelled(self) -> tuple[str, ...]:
        """Return the parameters as asv writes them: the repr of each."""
        return tuple(map(repr, self))


def benchmark_entry(mode: str, metric: Metric, cells: Iterable[Params]) -> dict[str, Any]:
    """Return asv's entry of *metric* in *mode*, with every parameter value of *cells*."""
    return {
        "name": benchmark_name(mode, metric),
        "code": f"{mode}: {metric.meaning}",
        "param_names": list(PARAM_NAMES),
        "params": _axes(list(cells)),
        "pretty_name": f"{mode} {metric.name}",
        "timeout": None,
        "type": "track",
        "unit": metric.unit,
        "version": BENCHMARK_VERSION,
    }


def benchmark_entries(asked: Mapping[Asked, Iterable[Params]]) -> list[dict[str, Any]]:
    """Return the entries of all metrics of all modes in *asked*."""
    return [
        benchmark_entry(mode, metric, list(cells))
        for (mode, buffers), cells in in_order(asked)
        for metric in metrics_of(buffers)
    ]


def in_order(asked: Mapping[Asked, Some]) -> list[tuple[Asked, Some]]:
    """Return the items of *asked* sorted by mode, timed before counted."""
    return sorted(asked.items(), key=lambda item: (item[0][0], item[0][1] or ""))


def _axes(cells: list[Params]) -> list[list[str]]:
    orders: tuple[Callable[[Any], Any], ...] = (_protocol_order, _scale_order, int, _profile_order)
    axes = zip(*cells, strict=True)
    return [
        [repr(value) for value in sorted(set(axis), key=order)]
        for axis, order in zip(axes, orders, strict=True)
    ]


def _protocol_order(protocol: str) -> tuple[int, str]:
    known = _PROTOCOLS.index(protocol) if protocol in _PROTOCOLS else len(_PROTOCOLS)
    return known, protocol


def _scale_order(scale: str) -> tuple[int, str]:
    number = re.search(r"\d+$", scale)
    return int(number[0]) if number else 0, scale


def _profile_order(profile: str) -> tuple[bool, str]:
    return profile != "default", profile
