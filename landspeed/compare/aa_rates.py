"""The ledger: how often comparisons raised a false alarm, and how much variation is normal here.

Pure: all of it is read off the records, so it is the same for whoever merges them. Two kinds of
A/A comparison are counted, and never together:

- *blind*: fresh Runs of a server and of its double, by the very code that compares two servers.
- *replayed*: Runs that are there anyway, of one server, two following ones a block, called A and
  B by lot. They try the arithmetic on this machine's noise. What a double would show, a
  difference that comes with the name, they cannot show; and nothing stopped early.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import betaincinv

from benchmarks.records.columns import VARIANT_COLUMNS, variant_of
from landspeed.compare.verdict import whole_blocks
from landspeed.results.arrays import Groups, both, codes, numbers
from landspeed.stats.confidence_sequence import Floats, blocks_for, fewest_blocks, log_wealth

ALPHA = 0.001
"""The false alarms that a comparison states, as a share of comparisons: one in 1,000."""

CHECK_ALPHA = 0.05
"""A second, looser level: what is wrong with the method shows here in fewer comparisons."""

_CELL = (*("machine", "mode", "protocol", "tier", "scale", "clients", "profile", "seconds"),)
_SERVER = ("digest", "epoch", "pgbench_version")
_METRIC = "latency_ms"
_NEEDED = (*_CELL, *VARIANT_COLUMNS, *_SERVER, "preset", "comparison", "block", "side", _METRIC)
_DIFFERENCE = 0.01
_LONG = 20
# With fewer Runs a replayed comparison can raise no alarm at any level that is looked at.
_FEWEST = 2 * fewest_blocks(CHECK_ALPHA)

CellKey = tuple[Any, ...]
"""What a cell, one machine and one length of Run have in common: values, the variant's name."""


@dataclass(frozen=True, kw_only=True)
class AlarmRate:
    """An AlarmRate is how many comparisons could have raised an alarm, and how many did."""

    comparisons: int
    alarms: int

    @classmethod
    def of(cls, wealths: Iterable[Floats], alpha: float) -> Self:
        """The rate at *alpha* of A/A comparisons, each told by its wealth after every block.

        One with fewer blocks than an alarm takes at the least is no evidence, and not counted.
        """
        fewest = fewest_blocks(alpha)
        able = [wealth for wealth in wealths if len(wealth) >= fewest]
        alarms = sum(bool(wealth.max() >= -math.log(alpha)) for wealth in able)
        return cls(comparisons=len(able), alarms=alarms)

    @property
    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of the rate.

        Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case
        of the binomial" (Biometrika 26(4), 1934).
        """
        hits, misses = self.alarms, self.comparisons - self.alarms
        low = float(betaincinv(hits, misses + 1, 0.025)) if hits else 0.0
        high = float(betaincinv(hits + 1, misses, 0.975)) if misses else 1.0
        return low, high

    def facts(self) -> dict[str, Any]:
        """The rate as JSON can hold it; without comparisons it has none."""
        rate = self.alarms / self.comparisons if self.comparisons else None
        return {**asdict(self), "rate": rate, "interval_95": list(self.interval)}


@dataclass(frozen=True, kw_only=True)
class Alarms:
    """Alarms are the rates of one kind of A/A comparison: as stated, and at the looser level."""

    stated: AlarmRate
    check: AlarmRate

    @classmethod
    def of(cls, wealths: Sequence[Floats]) -> Self:
        """The rates of A/A comparisons, each told by its wealth after every block."""
        return cls(stated=AlarmRate.of(wealths, ALPHA), check=AlarmRate.of(wealths, CHECK_ALPHA))

    def facts(self) -> dict[str, Any]:
        """The rates as JSON can hold them."""
        return {"stated": self.stated.facts(), "check": self.check.facts()}


@dataclass(frozen=True, kw_only=True)
class Variation:
    """A Variation is how much Runs of one server differ here, pooled over the servers.

    ``deviation`` is the standard deviation of log latency from Run to Run (a coefficient of
    variation), ``lag1`` the autocorrelation of following Runs where a server has 20 or more,
    both None where too few were made. ``blocks`` is about what finding a difference of 1 % takes.
    """

    runs: int
    servers: int
    deviation: float | None
    lag1: float | None
    blocks: int | None

    @classmethod
    def of(cls, groups: Sequence[Floats]) -> Self:
        """The Variation of *groups*: log latencies in order of time.

        Each is those of one server, or a row of them for each of several.
        """
        stacks = [np.atleast_2d(group) for group in groups]
        centred = [one - one.mean(1, keepdims=True) for one in stacks if one.shape[1] > 1]
        freedom = sum(one.size - len(one) for one in centred)
        square = sum(float((one**2).sum()) for one in centred)
        deviation = math.sqrt(square / freedom) if freedom else None
        # of a few Runs it is near -1/n whatever they do: less the mean, each is against the rest
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
class Account:
    """An Account is the ledger of one cell: its name, alarms of both kinds, variation."""

    cell: Mapping[str, Any]
    blind: Alarms
    replayed: Alarms
    variation: Variation

    def facts(self) -> dict[str, Any]:
        """The Account as JSON can hold it."""
        return {
            "cell": dict(self.cell),
            "blind": self.blind.facts(),
            "replayed": self.replayed.facts(),
            "variation": asdict(self.variation),
        }


@dataclass(frozen=True, kw_only=True)
class AAReport:
    """A Ledger is the Accounts of all cells that were measured, and all of them together."""

    accounts: tuple[Account, ...]
    blind: Alarms
    replayed: Alarms

    def facts(self) -> dict[str, Any]:
        """The Ledger as JSON can hold it."""
        return {
            "stated_rate": ALPHA,
            "check_rate": CHECK_ALPHA,
            "blind": self.blind.facts(),
            "replayed": self.replayed.facts(),
            "cells": [account.facts() for account in self.accounts],
        }


def ledger(table: pa.Table) -> AAReport:
    """The Ledger of *table* (RecordStore.table())."""
    table = table.select(_NEEDED)
    timed = pc.fill_null(pc.greater(table[_METRIC], 0), False)
    # filtering copies all columns
    table = table if pc.all(timed).as_py() else table.filter(timed)
    groups = _by_server(table)
    blind = _blind(table)
    return AAReport(
        accounts=tuple(
            Account(
                cell=dict(zip((*_CELL, "variant"), cell, strict=True)),
                blind=Alarms.of(blind[cell]),
                replayed=Alarms.of(servers.replayed),
                variation=Variation.of(servers.stacks),
            )
            for cell, servers in sorted(groups.items(), key=str)
        ),
        blind=Alarms.of([wealth for some in blind.values() for wealth in some]),
        replayed=Alarms.of([wealth for one in groups.values() for wealth in one.replayed]),
    )


def _key(row: Mapping[str, Any]) -> CellKey:
    return (*(row[name] for name in _CELL), variant_of(row).name)


def _blind(table: pa.Table) -> dict[CellKey, list[Floats]]:
    """The wealth, block by block, of every comparison of a server with its double, by cell."""
    rows = table.filter(pc.field("preset") == "ledger").to_pylist()
    comparisons: dict[tuple[CellKey, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        comparisons[_key(row), row["comparison"]].append(row)
    wealths: dict[CellKey, list[Floats]] = defaultdict(list)
    for (cell, _), some in sorted(comparisons.items(), key=str):
        blocks = np.array(whole_blocks(some, _METRIC, (0, 1)), dtype=float).reshape(-1, 2)
        wealths[cell].append(log_wealth(np.log(blocks[:, 1] / blocks[:, 0])))
    return wealths


@dataclass(frozen=True, kw_only=True)
class _Servers:
    """The log latencies of all servers in a cell, and the wealth of those with enough of them.

    Each of ``stacks`` has the servers with as many Runs as one another, a row each.
    """

    stacks: list[Floats] = field(default_factory=list)
    replayed: list[Floats] = field(default_factory=list)


def _by_server(table: pa.Table) -> dict[CellKey, _Servers]:
    """The log latencies of each server's Runs as they followed each other, by cell.

    Those of a comparison stand alone: its Runs follow each other closely, others do not.
    """
    keys = [*_CELL, *VARIANT_COLUMNS, *_SERVER, "preset", "comparison"]
    cells_of = codes(table, [*_CELL, *VARIANT_COLUMNS])
    groups = Groups.of(both(cells_of, codes(table, [*_SERVER, "preset", "comparison"])))
    heads = table.select(keys).take(groups.lasts)
    logs = np.log(numbers(table[_METRIC]))[groups.order]
    alike = Groups.of(both(cells_of[groups.lasts], groups.sizes))
    cells: dict[CellKey, _Servers] = defaultdict(_Servers)
    for begin, end in zip(alike.starts, alike.ends, strict=True):
        members = alike.order[begin:end]
        runs = int(groups.sizes[members[0]])
        stack = logs[groups.starts[members][:, None] + np.arange(runs)]
        (head,) = heads.take(members[:1]).to_pylist()
        servers = cells[_key(head)]
        servers.stacks.append(stack)
        if runs >= _FEWEST:
            for row, own in zip(heads.take(members).to_pylist(), stack, strict=True):
                servers.replayed.append(_replayed(str([row[key] for key in keys]), own))
    return cells


def _replayed(name: str, logs: Floats) -> Floats:
    pairs = logs[: len(logs) // 2 * 2].reshape(-1, 2)
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
    lot = np.random.default_rng(seed).choice([-1.0, 1.0], size=len(pairs))
    return log_wealth(lot * (pairs[:, 1] - pairs[:, 0]))
