"""Describe our measurements as entries of asv's benchmarks.json."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from benchmarks.workloads.metrics import (
    BENCHMARK_VERSION,
    Metric,
    benchmark_name,
    group_of,
    param_names,
)

Some = TypeVar("Some")
Asked = tuple[str, str | None]
"""A mode or a family of runs (group_of), and the state of the buffers if they were counted."""

_PROTOCOLS = ("simple", "extended", "prepared")


@dataclass(frozen=True, order=True)
class Params:
    """asv parameters of a cell, in the order of ``PARAM_NAMES``.

    For a family's benchmark the name of the workload stands in the place of the protocol.
    """

    protocol: str
    scale: str
    clients: int
    profile: str

    def __iter__(self) -> Any:
        return iter((self.protocol, self.scale, self.clients, self.profile))

    def spelled(self) -> tuple[str, ...]:
        """Return the parameters as asv writes them: the repr of each."""
        return tuple(map(repr, self))


def asv_choices(group: str, params: Params) -> dict[str, str]:
    """Return the part of the address of asv's graphs that chooses *params* of *group*."""
    names = (f"p-{name}" for name in param_names(group))
    return dict(zip(names, params.spelled(), strict=True))


def asv_cell(mode: str, params: Params) -> tuple[str, Params]:
    """Return the group of *mode* and the parameters of its benchmark for the cell *params*."""
    group = group_of(mode)
    return group, params if group == mode else replace(params, protocol=mode)


def benchmark_entry(group: str, metric: Metric, cells: Iterable[Params]) -> dict[str, Any]:
    """Return asv's entry of *metric* in *group*, with every parameter value of *cells*."""
    return {
        "name": benchmark_name(group, metric),
        "code": f"{group}: {metric.meaning}",
        "param_names": list(param_names(group)),
        "params": _axes(list(cells)),
        "pretty_name": f"{group} {metric.name}",
        "timeout": None,
        "type": "track",
        "unit": metric.unit,
        "version": BENCHMARK_VERSION,
    }


def in_order(asked: Mapping[Asked, Some]) -> list[tuple[Asked, Some]]:
    """Return the items of *asked* sorted by group, timed before counted."""
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
