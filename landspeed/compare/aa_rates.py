"""How often A/A comparisons raised a false alarm, and how much variation is normal here.

Pure: everything is computed from the records, so it is the same for whoever merges them. Two
kinds of A/A comparison are counted, and never together:

- *blind*: fresh runs of a server and of a copy of it, by the code that compares two servers.
- *replayed*: recorded runs of one server, two consecutive ones a block, called A and B at random.
  They test the arithmetic on this machine's noise. They cannot show a difference that comes with
  the copy, and none of them was stopped early.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy

from benchmarks.records.columns import VARIANT_COLUMNS, variant_of
from benchmarks.workloads.cell_name import CellName
from landspeed.compare.aa_copy import AA_PRESET
from landspeed.compare.verdict import whole_blocks
from landspeed.results.arrays import Groups, both, codes, numbers
from landspeed.stats.confidence_sequence import Floats, blocks_for, fewest_blocks, log_wealth

ALPHA = 0.001
"""The stated rate of false alarms: one in 1,000 comparisons."""

CHECK_ALPHA = 0.05
"""A second, looser level, at which fewer comparisons show an error in the method."""

_CELL = (*("machine", "mode", "protocol", "tier", "scale", "clients", "profile", "seconds"),)
_SERVER = ("digest", "epoch", "pgbench_version")
_METRIC = "latency_ms"
_NEEDED = (*_CELL, *VARIANT_COLUMNS, *_SERVER, "preset", "comparison", "block", "side", _METRIC)
_DIFFERENCE = 0.01
_LONG = 20
# With fewer runs a replayed comparison cannot raise an alarm at either level.
_FEWEST = 2 * fewest_blocks(CHECK_ALPHA)

CellKey = tuple[Any, ...]
"""The values of the columns in ``_CELL`` and the name of the variant."""


@dataclass(frozen=True, kw_only=True)
class AlarmRate:
    """How many comparisons could have raised an alarm, and how many did."""

    comparisons: int
    alarms: int

    @classmethod
    def of(cls, wealths: Iterable[Floats], alpha: float) -> Self:
        """Return the rate at *alpha* of A/A comparisons, each given as wealth by block.

        A comparison with too few blocks to raise an alarm is not counted.
        """
        fewest = fewest_blocks(alpha)
        able = [wealth for wealth in wealths if len(wealth) >= fewest]
        alarms = sum(bool(wealth.max() >= -math.log(alpha)) for wealth in able)
        return cls(comparisons=len(able), alarms=alarms)

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of the rate.

        SOURCE: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the
        case of the binomial" (Biometrika 26(4), 1934).
        """
        hits, misses = self.alarms, self.comparisons - self.alarms
        low = float(scipy.special.betaincinv(hits, misses + 1, 0.025)) if hits else 0.0
        high = float(scipy.special.betaincinv(hits + 1, misses, 0.975)) if misses else 1.0
        return low, high

    def facts(self) -> dict[str, Any]:
        """Return the rate as JSON can hold it; None without comparisons."""
        rate = self.alarms / self.comparisons if self.comparisons else None
        return {**asdict(self), "rate": rate, "interval_95": list(self.interval)}


@dataclass(frozen=True, kw_only=True)
class Alarms:
    """The alarm rates of one kind of A/A comparison, at the stated and at the looser level."""

    stated: AlarmRate
    check: AlarmRate

    @classmethod
    def of(cls, wealths: Sequence[Floats]) -> Self:
        """Return the rates of A/A comparisons, each given by its wealth after every block."""
        return cls(stated=AlarmRate.of(wealths, ALPHA), check=AlarmRate.of(wealths, CHECK_ALPHA))


@dataclass(frozen=True, kw_only=True)
class Variation:
    """How much runs of one server differ, pooled over the servers.

    ``deviation`` is the standard deviation of log latency from run to run (a coefficient of
    variation), ``lag1`` the autocorrelation of consecutive runs where a server has 20 or more.
    Both are None where there are too few runs. ``blocks`` estimates the blocks that it takes to
    find a difference of 1 %.
    """

    runs: int
    servers: int
    deviation: float | None
    lag1: float | None
    blocks: int | None

    @classmethod
    def of(cls, groups: Sequence[Floats]) -> Self:
        """Return the variation of *groups* of log latencies in order of time.

        Each group has those of one server, or a row for each of several servers.
        """
        stacks = [np.atleast_2d(group) for group in groups]
        centred = [one - one.mean(1, keepdims=True) for one in stacks if one.shape[1] > 1]
        freedom = sum(one.size - len(one) for one in centred)
        square = sum(float((one**2).sum()) for one in centred)
        deviation = math.sqrt(square / freedom) if freedom else None
        # With few runs the autocorrelation is near -1/n, because their own mean is subtracted.
        long = [one for one in centred if one.shape[1] >= _LONG]
        lagged = sum(float((one[:, :-1] * one[:, 1:]).sum()) for one in long)
        total = sum(float((one**2).sum()) for one in long)
        blocks = blocks_for(deviation * math.sqrt(2), _DIFFERENCE, ALPHA) if deviation else None
        return cls(
            runs=sum(one.size for one in stacks),
            servers=sum(map(len, stacks)),
            deviation=deviation,
            lag1=lagged / total if total else None,
            blocks=blocks,
        )


@dataclass(frozen=True, kw_only=True)
class CellRates:
    """The alarm rates and the variation of one cell."""

    cell: Mapping[str, Any]
    blind: Alarms
    replayed: Alarms
    variation: Variation


@dataclass(frozen=True, kw_only=True)
class AAReport:
    """The rates of every cell that was measured, and of all cells together."""

    cells: tuple[CellRates, ...]
    blind: Alarms
    replayed: Alarms

    def facts(self) -> dict[str, Any]:
        """Return the report as JSON can hold it."""
        return {
            "stated_rate": ALPHA,
            "check_rate": CHECK_ALPHA,
            **_rates(self),
            "cells": [
                {"cell": dict(one.cell), **_rates(one), "variation": asdict(one.variation)}
                for one in self.cells
            ],
        }


def _rates(one: AAReport | CellRates) -> dict[str, Any]:
    """Return the alarm rates of *one* by kind and level, as JSON can hold them."""
    kinds = {"blind": one.blind, "replayed": one.replayed}
    return {
        kind: {level: rate.facts() for level, rate in vars(alarms).items()}
        for kind, alarms in kinds.items()
    }


def aa_report(table: pa.Table) -> AAReport:
    """Return the report on *table* (RecordStore.table())."""
    table = table.select(_NEEDED)
    timed = pc.fill_null(pc.greater(table[_METRIC], 0), False)
    # Filtering copies all columns.
    table = table if pc.all(timed).as_py() else table.filter(timed)
    groups = dict(sorted(_by_server(table).items(), key=lambda pair: str(pair[0])))
    blind = _blind(table)
    return AAReport(
        cells=tuple(
            CellRates(
                cell=dict(zip((*_CELL, "variant"), cell, strict=True)),
                blind=Alarms.of(blind[cell]),
                replayed=Alarms.of(replayed),
                variation=Variation.of(stacks),
            )
            for cell, (stacks, replayed) in groups.items()
        ),
        blind=Alarms.of([wealth for some in blind.values() for wealth in some]),
        replayed=Alarms.of([wealth for _, some in groups.values() for wealth in some]),
    )


def _key(row: Mapping[str, Any]) -> CellKey:
    return (*(row[name] for name in _CELL), variant_of(row).name)


def _blind(table: pa.Table) -> dict[CellKey, list[Floats]]:
    """Return the wealth after every block of each comparison of a server with its copy, by cell."""
    rows = table.filter(pc.field("preset") == AA_PRESET).to_pylist()
    comparisons: dict[tuple[CellKey, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        comparisons[_key(row), row["comparison"]].append(row)
    wealths: dict[CellKey, list[Floats]] = defaultdict(list)
    for (cell, _), some in sorted(comparisons.items(), key=str):
        blocks = np.array(whole_blocks(some, _METRIC, (0, 1)), dtype=float).reshape(-1, 2)
        wealths[cell].append(log_wealth(np.log(blocks[:, 1] / blocks[:, 0])))
    return wealths


def _by_server(table: pa.Table) -> dict[CellKey, tuple[list[Floats], list[Floats]]]:
    """Return the log latencies of each server's runs in order of time, by cell.

    Servers with the same number of runs are in one array, a row each. With them, the wealth of
    those that have enough runs to be replayed. Runs of a comparison are kept apart from others,
    because they follow each other closely.
    """
    keys = [*_CELL, *VARIANT_COLUMNS, *_SERVER, "preset", "comparison"]
    cells_of = codes(table, [*_CELL, *VARIANT_COLUMNS])
    groups = Groups(both(cells_of, codes(table, [*_SERVER, "preset", "comparison"])))
    heads = table.select(keys).take(groups.lasts)
    logs = np.log(numbers(table[_METRIC]))[groups.order]
    equal = Groups(both(cells_of[groups.lasts], groups.sizes))
    cells: dict[CellKey, tuple[list[Floats], list[Floats]]] = defaultdict(lambda: ([], []))
    for begin, end in zip(equal.starts, equal.ends, strict=True):
        members = equal.order[begin:end]
        runs = int(groups.sizes[members[0]])
        stack = logs[groups.starts[members][:, None] + np.arange(runs)]
        (head,) = heads.take(members[:1]).to_pylist()
        stacks, replayed = cells[_key(head)]
        stacks.append(stack)
        if runs >= _FEWEST:
            for row, own in zip(heads.take(members).to_pylist(), stack, strict=True):
                replayed.append(_replayed(str([row[key] for key in keys]), own))
    return cells


def _replayed(name: str, logs: Floats) -> Floats:
    pairs = logs[: len(logs) // 2 * 2].reshape(-1, 2)
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
    sides = np.random.default_rng(seed).choice([-1.0, 1.0], size=len(pairs))
    return log_wealth(sides * (pairs[:, 1] - pairs[:, 0]))


TITLES = (
    *("cell", "machine", "runs", "variation", "lag 1", "blocks for 1 %"),
    *("blind: false alarms", "replayed: false alarms"),
)


def rate_text(rate: AlarmRate) -> str:
    """Return a rate with its exact interval: ``0 of 12 (0 % … 26.5 %)``, or ``-``."""
    if not rate.comparisons:
        return "-"
    low, high = rate.interval
    return f"{rate.alarms} of {rate.comparisons} ({100 * low:.3g} % … {100 * high:.3g} %)"


def row_text(rates: CellRates) -> tuple[str, ...]:
    """Return the row of one cell as text, in the order of TITLES.

    The cell is named as ``landspeed show`` prints it, with its variant and the seconds of a run.
    """
    cell, variation = rates.cell, rates.variation
    deviation, lag1, blocks = variation.deviation, variation.lag1, variation.blocks
    return (
        f"{cell['variant']}/{CellName.of(cell)} {cell['seconds']:g} s",
        cell["machine"],
        str(variation.runs),
        "-" if deviation is None else f"{100 * deviation:.2f} %",
        "-" if lag1 is None else f"{lag1:+.2f}",
        "-" if blocks is None else str(blocks),
        rate_text(rates.blind.stated),
        rate_text(rates.replayed.stated),
    )


def summary_lines(report: AAReport) -> list[str]:
    """Return a sentence for each kind of A/A comparison, over all cells."""
    kinds = {
        "blind (fresh runs of a server and of a copy of it)": report.blind,
        "replayed (recorded runs of one server, called A and B at random)": report.replayed,
    }
    return [
        f"{kind}: false alarms at the stated 0.1 %: {rate_text(alarms.stated)}; "
        f"at {CHECK_ALPHA:.0%}, as a check: {rate_text(alarms.check)}"
        for kind, alarms in kinds.items()
    ]
