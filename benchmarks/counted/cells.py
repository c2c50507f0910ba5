"""The cells that are counted: which share a server, what their counts must share, how long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from base.version import Version
from benchmarks.counted.valgrind import CountEnvironment, count_epoch
from benchmarks.server.endpoint import DATABASE
from benchmarks.workloads.catalog import PGBENCH, Workload, named
from benchmarks.workloads.custom_scripts import Script
from benchmarks.workloads.scenario import CacheState, Cell, Scenario, Tier

# Executions in a short and in a long series, and the instructions of an execution up to which five
# series of them take some seconds.
_LENGTHS = (((50, 300), 3e5), ((10, 60), 1.5e6), ((2, 10), 1e7), ((1, 3), inf))

_lengths: dict[Any, tuple[int, int]] = {}
_looking = threading.Lock()


def workload_cell(workload: Workload) -> Cell:
    """Return the cell in which *workload* of the catalog is counted: warm, default settings."""
    # the datasets have one size
    scenario = Scenario(mode=workload, protocol=workload.protocol, tier=Tier.SMALL, scale=1)
    return Cell(scenario=scenario, clients=1, profile="default", buffers=CacheState.WARM)


def work_of(cell: Cell) -> Workload:
    """Return the row of the catalog that *cell* executes."""
    mode = cell.scenario.mode
    return mode if isinstance(mode, Workload) else named(mode.value)


def database_of(dataset: str) -> str:
    """Return the database that has the tables of *dataset*."""
    return DATABASE if dataset == PGBENCH else dataset


def count_environment(cell: Cell, version: Version) -> CountEnvironment:
    """Return what counts of *cell* on *version* must share to be compared."""
    return replace(count_epoch(), workload=cell.scenario.digest(version))


def own_servers(cell: Cell) -> bool:
    """Return whether each series of *cell* needs a server of its own.

    Rows that were changed make the next execution dearer, and pages that were read a cheaper one.
    """
    if isinstance(cell.scenario.mode, Script):
        return False
    return work_of(cell).own_servers or cell.buffers is CacheState.COLD


def together(one: Cell, other: Cell) -> bool:
    """Return whether *one* and *other* can be counted on one server."""

    def needs(cell: Cell) -> tuple[Any, ...]:
        mode = cell.scenario.mode
        data = mode if isinstance(mode, Script) else isinstance(mode, Workload)
        return data, cell.scenario.scale, cell.profile, cell.scenario.settings

    return not own_servers(other) and needs(one) == needs(other)


def lengths_for(key: Any, cost: Callable[[], float]) -> tuple[int, int]:
    """Return how often a script is executed in a short and in a long series.

    *cost*, instructions of one execution, is asked once for each *key*.
    """
    with _looking:
        if key not in _lengths:
            each = cost()
            _lengths[key] = next(lengths for lengths, most in _LENGTHS if each <= most)
        return _lengths[key]
