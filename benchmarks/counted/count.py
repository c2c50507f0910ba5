"""What a transaction costs, exactly: instructions, WAL bytes and blocks, counted under valgrind.

Each number is a slope, (long run − short run) / transactions between them: what starting costs
cancels. Every run begins with the same data on a server of its own, and both are of the same
transactions as far as the short one goes. It is done twice; how far the two slopes are apart is
said with the number.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from base.build import Build
from base.errors import MeasureError, RecordError, UsageError
from base.files import write_atomic
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.callgrind import Profile
from benchmarks.counted.passes import Bench, CountOrder, Pass
from benchmarks.counted.server import SEED
from benchmarks.counted.valgrind import count_epoch, require_countable
from benchmarks.data.templates import Templates
from benchmarks.machine.machine import Machine
from benchmarks.measure import Phases, provenance, templates
from benchmarks.records.record import Record
from benchmarks.records.store import PROFILES
from benchmarks.workloads.scenario import AnyMode, CacheState, Cell, Mode, Scenario

INSTRUMENT = "callgrind"
"""What a record's ``run`` says it was measured by; one that says nothing was timed by a clock."""

LENGTHS: Mapping[AnyMode, tuple[int, int]] = {
    Mode.READ_ONLY: (200, 1200),
    Mode.READ_WRITE: (100, 600),
    Mode.TPCB_LIKE: (100, 600),
}
"""How many transactions the two runs have that a slope is taken between."""

SPREAD_LIMIT = 0.001
"""How far apart the two slopes may be, relative to their mean: half of the least step told."""

_TIMES = 2
# An edge of fewer instructions per transaction is not kept with a profile.
_LEAST = 0.005


class NotRepeatedError(MeasureError):
    """Two counts of the same work that are further apart than SPREAD_LIMIT."""


@dataclass(frozen=True, kw_only=True)
class Slope:
    """The cost of one more transaction, from a short and a long pass."""

    short: Pass
    long: Pass

    @property
    def transactions(self) -> int:
        """How many the long Pass has more."""
        return self.long.transactions - self.short.transactions

    def of(self, value: Callable[[Pass], float]) -> float:
        """The slope of *value*, per transaction."""
        return (value(self.long) - value(self.short)) / self.transactions

    @property
    def instructions(self) -> float:
        """Instructions per transaction."""
        return self.of(lambda one: one.instructions)

    def profile(self) -> Profile:
        """Where they are executed."""
        return self.long.profile.since(self.short.profile, self.transactions)


def exact_cell(scenario: Scenario, profile: str, buffers: CacheState) -> Cell:
    """The Cell in which *scenario* is counted."""
    return Cell(scenario=scenario, clients=1, profile=profile, buffers=buffers)


def count(
    *,
    build: Build,
    pgbench: Pgbench,
    cell: Cell,
    machine: Machine,
    paths: Paths,
    context: Mapping[str, Any],
    at_once: int = 1,
    stop: threading.Event | None = None,
) -> Record:
    """Count what a transaction of *cell* costs *build*: its raw record, the profile kept beside.

    *cell* has ``buffers`` and one client. *context* goes into the record's ``run``. With
    *at_once* 2 the two slopes are counted side by side. When *stop* is set it ends with the run
    under way. MeasureError then, and if the server dies or the slopes differ by more than
    SPREAD_LIMIT; nothing is kept.
    """
    if cell.buffers is None or cell.clients != 1:
        raise UsageError("only a cell with one client and with buffers can be counted")
    require_countable()
    started, phases = datetime.now(UTC), Phases()
    lengths, epoch = LENGTHS[cell.scenario.mode], count_epoch()
    order = CountOrder(
        build=build,
        pgbench=pgbench,
        cell=cell,
        longest=max(lengths),
        memory_bytes=machine.memory_bytes,
        stop=stop or threading.Event(),
    )
    with phases.phase("count"):
        slopes = _slopes(order, templates(paths, pgbench), at_once)
    facts = {
        **provenance(started, build=build, pgbench=pgbench, cell=cell, machine=machine),
        "epoch": epoch.facts(machine),
        "run": {
            **context,
            "instrument": INSTRUMENT,
            "transactions": list(lengths),
            "seed": SEED,
            "argv": ["pgbench", *slopes[-1].long.argv[1:]],
            "phases": phases.seconds,
        },
        **_seen(slopes, build.label),
    }
    record = Record.from_json(facts)
    keep_profile(paths, record.id, slopes[0].profile())
    return record


def _seen(slopes: Sequence[Slope], label: str) -> dict[str, Any]:
    """What the record says of the Passes of *slopes*."""
    last = slopes[-1].long
    return {
        "sample": sample_of(slopes, label),
        "passes": [_pass_facts(one) for slope in slopes for one in (slope.short, slope.long)],
        "settings": last.settings,
        "database_bytes": last.database_bytes,
        "server_log": last.server_log,
    }


def _slopes(order: CountOrder, store: Templates, at_once: int) -> list[Slope]:
    # each worker's share; one after the other they use the same copies of the data
    shares = [len(range(_TIMES)[first::at_once]) for first in range(min(at_once, _TIMES))]
    with ThreadPoolExecutor(max_workers=len(shares), thread_name_prefix="count") as pool:
        done = pool.map(lambda share: _share(order, store, share), shares)
        return [slope for some in done for slope in some]


def _share(order: CountOrder, store: Templates, times: int) -> list[Slope]:
    short, long = LENGTHS[order.cell.scenario.mode]
    with Bench.open(order, store) as bench:
        return [Slope(short=bench.count(short), long=bench.count(long)) for _ in range(times)]


def sample_of(slopes: Sequence[Slope], label: str) -> dict[str, float]:
    """The sample that *slopes* are: means, and how far apart they are, relative to the mean.

    MeasureError if that is more than SPREAD_LIMIT; *label* names the server.
    """
    instructions, spread = repeated([slope.instructions for slope in slopes], label)
    return {
        "instructions": round(instructions, 3),
        "instructions_spread": round(spread, 9),
        "clocked_instructions": _mean(slopes, lambda one: one.clocked),
        "wal_bytes_tx": _least(slopes, lambda one: one.wal_bytes),
        "blocks_tx": _least(slopes, lambda one: one.blocks_hit + one.blocks_read),
        "blocks_read_tx": _least(slopes, lambda one: one.blocks_read),
        "transactions": slopes[0].transactions,
    }


def repeated(numbers: Sequence[float], label: str) -> tuple[float, float]:
    """Return the mean of *numbers*, instructions per transaction, and how far apart they are.

    The distance is relative to the mean. NotRepeatedError if it is more than SPREAD_LIMIT;
    *label* names what was counted.
    """
    mean = sum(numbers) / len(numbers)
    spread = (max(numbers) - min(numbers)) / mean if mean else 0.0
    if not mean or spread > SPREAD_LIMIT:
        raise NotRepeatedError(
            f"counting {label} twice gave different numbers",
            detail=f"{', '.join(f'{n:.1f}' for n in numbers)} instructions per transaction are "
            f"{spread:.2%} apart, {SPREAD_LIMIT:.2%} are allowed.",
            hint="Count it again; a server whose work depends on time cannot be counted.",
        )
    return mean, spread


def _mean(slopes: Sequence[Slope], value: Callable[[Pass], float]) -> float:
    return round(sum(slope.of(value) for slope in slopes) / len(slopes), 4)


def _least(slopes: Sequence[Slope], value: Callable[[Pass], float]) -> float:
    """The slope between the least of the short and of the long Passes.

    What others add to these counts now and then (the background writer notes running
    transactions in the WAL every 15 s) is in one of them and only ever more.
    """
    short = min(value(slope.short) for slope in slopes)
    long = min(value(slope.long) for slope in slopes)
    return round((long - short) / slopes[0].transactions, 4)


def _pass_facts(one: Pass) -> dict[str, Any]:
    names = ("transactions", "instructions", "clocked", "wal_bytes", "blocks_hit", "blocks_read")
    return {name: getattr(one, name) for name in names}


def profile_path(paths: Paths, identifier: str) -> Path:
    """Where the profile of the record with this *identifier* is kept: beside the records."""
    return paths.records / PROFILES / f"{identifier}.json.gz"


def keep_profile(paths: Paths, identifier: str, profile: Profile) -> None:
    """Keep *profile*, per transaction, for the record with this *identifier*."""
    text = json.dumps(profile.facts(least=_LEAST), separators=(",", ":"))
    write_atomic(profile_path(paths, identifier), gzip.compress(text.encode(), mtime=0))


def kept_profile(paths: Paths, identifier: str) -> Profile | None:
    """The profile kept for the record with this *identifier*; None if there is none."""
    path = profile_path(paths, identifier)
    try:
        return Profile.of(json.loads(gzip.decompress(path.read_bytes())))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f'could not read "{path}"', detail=repr(error)) from error
