"""The asv suite: all names that asv discovers are in this one file.

``asv run`` installs a Build (builders/asv_environment.py), asks these for samples and leaves
the same raw records as ``landspeed run``. asv calls a function whose name begins with
``track_`` a benchmark in every module that has it, so nothing else may import this one.
The preset is $LANDSPEED_PRESET, else ``quick``; the workloads are those of the suite
$LANDSPEED_SUITE, else ``small``.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from base.build import Build
from base.paths import Paths
from benchmarks.applicability import counted_cells, planned_cells
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.cells import workload_cell
from benchmarks.counted.count import count
from benchmarks.counted.valgrind import comparable_counts
from benchmarks.machine.lock import measuring
from benchmarks.machine.machine import Machine
from benchmarks.measure import measure
from benchmarks.records.store import RecordStore
from benchmarks.workloads.catalog import CATALOG, Workload, choose
from benchmarks.workloads.metrics import (
    BENCHMARK_VERSION,
    LATENCY,
    METRICS,
    Metric,
    benchmark_name,
    group_of,
    metrics_of,
    param_names,
    scale_param,
)
from benchmarks.workloads.points import Comparable, Point, rows_of
from benchmarks.workloads.scenario import (
    CacheState,
    Cell,
    Mode,
    Planned,
    Protocol,
    Scenario,
    Tier,
    preset_named,
)

_PRESET = preset_named(os.environ.get("LANDSPEED_PRESET", "quick"))
_WORKLOADS = choose((), os.environ.get("LANDSPEED_SUITE", "small"))
_SECONDS_A_RUN_MAY_TAKE = 300.0


def _planned(metric: Metric) -> list[Planned]:
    planned = _planned_by(counted_cells if metric.exact else planned_cells)
    return [one for one in planned if one.cell.buffers == metric.buffers]


@cache
def _planned_by(cells: Callable[..., list[Planned]]) -> list[Planned]:
    # asked for each metric of each mode; to see what the disk holds takes seconds
    return cells(_PRESET, Machine.detect(), Paths.find().server_root, {})


def _axes(cells: Sequence[Cell], first: Callable[[Cell], str]) -> list[list[Any]]:
    axes = (
        [first(cell) for cell in cells],
        [scale_param(cell.scenario.tier, cell.scenario.scale) for cell in cells],
        [cell.clients for cell in cells],
        [cell.profile for cell in cells],
    )
    return [list(dict.fromkeys(axis)) for axis in axes]


def _cell(mode: Mode, metric: Metric, params: Sequence[Any]) -> Cell:
    protocol, scale, clients, profile = params
    tier, _, factor = scale.rpartition("-")
    scenario = Scenario(mode=mode, protocol=Protocol(protocol), tier=Tier(tier), scale=int(factor))
    return Cell(scenario=scenario, clients=clients, profile=profile, buffers=metric.buffers)


def _build() -> Build:
    return Build.load(Path(os.environ["LANDSPEED_PREFIX"]))


def _pgbench() -> Pgbench:
    return Pgbench(build=Build.load(Path(os.environ["LANDSPEED_PGBENCH_PREFIX"])))


def _counted(cell: Cell, metric: Metric) -> dict[str, Any]:
    """The metric as it was counted before, or is now: it would be the same number again."""
    paths, machine = Paths.find(), Machine.detect()
    build, pgbench = _build(), _pgbench()
    records = RecordStore(paths.records)
    digest = cell.scenario.digest(build.version)
    wanted = comparable_counts(machine, pgbench.version, [digest])
    rows = rows_of(wanted.of(records.table()), Point(build=build, cell=cell).key)
    if rows.num_rows:
        return {"samples": rows[metric.column].to_pylist()[-1:], "number": 1}
    preset = CATALOG if isinstance(cell.scenario.mode, Workload) else _PRESET.name
    with measuring(counting=True):
        record = count(
            build=build,
            pgbench=pgbench,
            cell=cell,
            machine=machine,
            paths=paths,
            context={"preset": preset, "round": 1},
            at_once=machine.cores,
        )
    records.add(record)
    return {"samples": [record.sample.value(metric.column)], "number": 1}


def _values(cell: Cell, metric: Metric, *, anew: bool) -> dict[str, Any]:
    """The metric's samples: all measured now, or the newest recorded and what they lack."""
    paths, machine = Paths.find(), Machine.detect()
    build, pgbench = _build(), _pgbench()
    records = RecordStore(paths.records)
    values: list[float | None] = []
    if not anew:
        wanted = Comparable(
            machine=machine, pgbench_version=str(pgbench.build.version), seconds=_PRESET.seconds
        )
        rows = rows_of(wanted.of(records.table()), Point(build=build, cell=cell).key)
        values = rows[metric.column].to_pylist()[-_PRESET.samples :]
    for round_ in range(len(values) + 1, _PRESET.samples + 1):
        with measuring():
            record = measure(
                build=build,
                pgbench=pgbench,
                cell=cell,
                seconds=_PRESET.seconds,
                seed=random.SystemRandom().getrandbits(31),
                machine=machine,
                paths=paths,
                context={"preset": _PRESET.name, "round": round_},
            )
        records.add(record)
        values.append(record.sample.value(metric.column))
    return {"samples": values, "number": 1}


def _benchmark(mode: Mode, metric: Metric) -> Callable[..., dict[str, Any]]:
    def measured(*params: Any) -> dict[str, Any]:
        cell = _cell(mode, metric, params)
        if metric.exact:
            return _counted(cell, metric)
        return _values(cell, metric, anew=metric.name == LATENCY)

    def setup(*params: Any) -> None:
        cell = _cell(mode, metric, params)
        reason = next((p.reason for p in _planned(metric) if p.cell == cell), "not in the preset")
        if reason is not None:
            # asv's word for "this combination does not apply"
            raise NotImplementedError(reason)

    cells = [planned.cell for planned in _planned(metric)]
    axes = _axes(cells, lambda cell: cell.scenario.protocol.value)
    return _described(measured, mode, metric, setup=setup, params=axes)


def _family_benchmark(family: str, metric: Metric) -> Callable[..., dict[str, Any]]:
    chosen = {one.name: one for one in _WORKLOADS if group_of(one.name) == family}

    def measured(name: str, *_: Any) -> dict[str, Any]:
        return _counted(workload_cell(chosen[name]), metric)

    def setup(name: str, *_: Any) -> None:
        if not chosen[name].runs_on(_build().version):
            raise NotImplementedError(f"{_build().label} does not have it")

    axes = _axes(
        [workload_cell(one) for one in chosen.values()], lambda cell: cell.scenario.mode.value
    )
    return _described(measured, family, metric, setup=setup, params=axes)


def _described(
    measured: Callable[..., dict[str, Any]], group: str, metric: Metric, **facts: Any
) -> Callable[..., dict[str, Any]]:
    vars(measured).update(
        benchmark_name=benchmark_name(group, metric),
        param_names=list(param_names(group)),
        unit=metric.unit,
        version=BENCHMARK_VERSION,
        timeout=_SECONDS_A_RUN_MAY_TAKE * _PRESET.samples,
        __doc__=metric.meaning,
        **facts,
    )
    return measured


def _benchmarks() -> dict[str, Callable[..., dict[str, Any]]]:
    """Return asv's benchmark functions by name: each metric of each mode and of each family.

    asv runs them in the order of their names within a mode's ``benchmark_name``. The latency
    measures afresh; the others read the same runs, and what is counted is counted once, by
    whichever is asked first.
    """
    return {
        f"track_{mode.replace('-', '_')}_{metric.name}": _benchmark(mode, metric)
        for mode in Mode
        for metric in METRICS
    } | {
        f"track_{family}_{metric.name}": _family_benchmark(family, metric)
        for family in dict.fromkeys(group_of(one.name) for one in _WORKLOADS)
        if family not in set(Mode)
        for metric in metrics_of(CacheState.WARM)
    }


# asv finds benchmarks by the names in a module that begin with track_
vars().update(_benchmarks())
