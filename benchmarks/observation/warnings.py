"""Known ways in which a number misleads, found in a Run's raw record. Pure: told, not looked up.

What a record does not have is not judged: those of an older landspeed have no evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from statistics import median
from typing import Any

from benchmarks.observation.activity import AUTOVACUUM
from benchmarks.workloads.scenario import Mode, Tier
from benchmarks.workloads.sysbench_modes import SYSBENCH

Record = Mapping[str, Any]

# Each threshold with its reason.
# A thread this busy has a tenth of its time left to wait in: answers queue for it, and what is
# measured is the client.
CLIENT_SHARE = 0.9
# What is stolen makes a Run longer by as much, and compare calls 1 % the SAME.
STEAL_SHARE = 0.01
# On shared machines seconds vary by 5 to 7 % (docs/method.md), so less of a trend is not told;
# and it must be one that chance makes in one Run of a thousand.
DRIFT_SHARE = 0.05
DRIFT_CHANCE = 0.001
DRIFT_SECONDS = 8  # fewer never get there: seven in a row make 0.003
# The clock of a busy processor wanders by 1 or 2 %; a turbo step is some 3 %.
CLOCK_SHARE = 0.95
# A server that only reads writes a few pages of catalogs and its statistics file: less than this.
READERS_PAGES = 64
READERS_WAL = READERS_PAGES * 8192
# A page read in costs some ten times one found, so 1 % of them is 10 % of the time.
SMALL_MISSES = 0.01
# Of what exceeds shared buffers, and fits memory, storage gives nothing but what was not cached.
MEDIUM_STORAGE = 0.05
# Data of twice the memory are at most half cached, less what the server takes for itself.
LARGE_STORAGE = 0.25
# Shares of fewer pages say nothing.
FEWEST_PAGES = 1000


class WarningRule(StrEnum):
    """A Trap is a way in which a number is known to mislead; its value is its key in records."""

    FAILED = "failed"
    CLIENT = "client"
    STEAL = "steal"
    DRIFT = "drift"
    CLOCK = "clock"
    AUTOVACUUM = "autovacuum"
    CHECKPOINT = "checkpoint"
    WRITING_READERS = "writing-readers"
    TIER = "tier"


_MEANS: Mapping[WarningRule, str] = {
    WarningRule.FAILED: "What failed was not timed: the others had less to wait for, or the server is "
    "in trouble.",
    WarningRule.CLIENT: "The client itself is the limit: a faster server would show the same number.",
    WarningRule.STEAL: "Other virtual machines ran on this one's processors: the Run took longer "
    "for it, and not by the server.",
    WarningRule.DRIFT: "The Run has no one speed: the processor became hot or cool, a cache filled, or "
    "a neighbour came or went; its mean says how long it ran.",
    WarningRule.CLOCK: "The processor was slowed down while it ran, by heat or by its governor.",
    WarningRule.AUTOVACUUM: "A vacuum or analyse took processor and disk, in this Run and not in others.",
    WarningRule.CHECKPOINT: "Writing all changed pages, and full images of pages in the WAL after it, "
    "are paid for by some Runs and not by others.",
    WarningRule.WRITING_READERS: "Readers pay what writers left: hint bits are set, which dirties "
    "pages, and with checksums logs a full image of each.",
    WarningRule.TIER: "It asks something else than its tier says: memory, or the disk.",
}
_TRY: Mapping[WarningRule, str] = {
    WarningRule.FAILED: 'Look at what the server said: "landspeed show run:ID --json".',
    WarningRule.CLIENT: "Take fewer clients, another mode, or a machine with more cores; trust "
    "--metric instructions.",
    WarningRule.STEAL: "Measure on a machine of your own or at another time, or compare: it falls "
    "on both sides; or count with --metric instructions.",
    WarningRule.DRIFT: 'Run longer or wait for the machine to settle; "landspeed doctor" looks for the '
    "cause.",
    WarningRule.CLOCK: 'Fix the governor and turbo: "landspeed doctor --fix-hints"; look at the cooling.',
    WarningRule.AUTOVACUUM: "Take more Runs, or shorter ones; see autovacuum_naptime in the settings.",
    WarningRule.CHECKPOINT: "Run long enough that each has several, or use --profile tuned, which has "
    "them rarely.",
    WarningRule.WRITING_READERS: "VACUUM and CHECKPOINT between writing and reading; landspeed's own "
    "read-only Runs begin with data where that is done.",
    WarningRule.TIER: "Give another scale (--scale TIER=N), or the server another limit (--memory).",
}


@dataclass(frozen=True, kw_only=True)
class RunWarning:
    """A RunWarning is a Trap with what was seen of it, in one Run or among several."""

    trap: WarningRule
    seen: str

    @property
    def means(self) -> str:
        """What it may mean."""
        return _MEANS[self.trap]

    @property
    def remedy(self) -> str:
        """What to try."""
        return _TRY[self.trap]

    def facts(self) -> dict[str, str]:
        """The RunWarning as JSON can hold it."""
        return {
            "warning": self.trap.value,
            "seen": self.seen,
            "means": self.means,
            "try": self.remedy,
        }


def pitfalls(record: Record) -> tuple[RunWarning, ...]:
    """Those of one Run, from its raw *record* without its ``warnings``."""
    found = ((trap, look(record)) for trap, look in _LOOKS.items())
    return tuple(RunWarning(trap=trap, seen=seen) for trap, seen in found if seen)


def recorded_pitfalls(record: Record) -> tuple[RunWarning, ...]:
    """Those that *record* was written with; what a newer landspeed calls otherwise is left out."""
    known = {trap.value for trap in WarningRule}
    warnings = record.get("warnings") or {}
    return tuple(
        RunWarning(trap=WarningRule(name), seen=seen)
        for name, seen in warnings.items()
        if name in known
    )


def contrasts(records: Sequence[Record]) -> tuple[RunWarning, ...]:
    """Those that show only among the *records* of one point or one comparison."""
    counts = [count for record in records if (count := checkpoints(record)) is not None]
    with_some = sum(count > 0 for count in counts)
    if with_some in (0, len(counts)):
        return ()
    seen = f"a checkpoint began in {with_some} of {len(counts)} runs"
    return (RunWarning(trap=WarningRule.CHECKPOINT, seen=seen),)


def checkpoints(record: Record) -> float | None:
    """How many checkpoints began in the Run of *record*; None where nobody knows."""
    # 17 moved them to a view of their own
    for view, names in (
        ("pg_stat_checkpointer", ("num_timed", "num_requested")),
        ("pg_stat_bgwriter", ("checkpoints_timed", "checkpoints_req")),
    ):
        counts = _statistics(record).get(view)
        if counts and all(name in counts for name in names):
            return float(sum(counts[name] for name in names))
    return None


def _failed(record: Record) -> str:
    failed, done = record["sample"].get("failed"), record["sample"].get("transactions")
    return f"{failed} transactions failed, {done} did not" if failed else ""


def client_share(record: Record) -> float | None:
    """The share it used of the processors that its threads can have: as many, or all there are.

    None where nobody knows.
    """
    sample, threads = record["sample"], record["cell"]["threads"]
    spent, seconds = sample.get("client_cpu_seconds"), sample.get("measured_seconds")
    if spent is None or not seconds:
        return None
    return float(spent / seconds / min(threads, record["machine"].get("cores") or threads))


def client_text(record: Record, share: float) -> str:
    """How people are told that the client of *record* used that *share*."""
    threads = record["cell"]["threads"]
    of = "processor that its thread" if threads == 1 else f"processors that its {threads} threads"
    name = SYSBENCH if record.get(SYSBENCH) else "pgbench"
    return f"{name} used {share:.0%} of the {of} can have"


def _client(record: Record) -> str:
    share = client_share(record)
    if share is None or share < CLIENT_SHARE:
        return ""
    return client_text(record, share)


def _steal(record: Record) -> str:
    share = _evidence(record).get("cpu", {}).get("steal", 0.0)
    return f"{share:.1%} of processor time was stolen" if share >= STEAL_SHARE else ""


def _drift(record: Record) -> str:
    tps = [float(one) for one in (record.get("series") or {}).get("tps", ())]
    if len(tps) < DRIFT_SECONDS or mann_kendall(tps) >= DRIFT_CHANCE:
        return ""
    change = theil_sen_change(tps)
    if abs(change) < DRIFT_SHARE:
        return ""
    way = "rose" if change > 0 else "fell"
    return f"transactions per second {way} by {abs(change):.0%} from its first second to its last"


def _clock(record: Record) -> str:
    evidence = _evidence(record)
    if evidence.get("throttled"):
        return f"processors were throttled {evidence['throttled']} times"
    first, last = evidence.get("clock_mhz") or (0.0, 0.0)
    if last >= CLOCK_SHARE * first:
        return ""
    return f"the clock fell from {first:.0f} to {last:.0f} MHz"


def _autovacuum(record: Record) -> str:
    evidence = _evidence(record)
    tables = evidence.get("autovacuumed", ())
    if tables:
        return f"autovacuum was at {', '.join(tables)}"
    if any(kind.endswith(AUTOVACUUM) for kind in evidence.get("waits", {})):
        return "an autovacuum worker ran"
    return ""


def _writing_readers(record: Record) -> str:
    if record["cell"]["mode"] != Mode.READ_ONLY:
        return ""
    wal, written = record["sample"].get("wal_bytes") or 0, pages_written(record)
    if wal < READERS_WAL and written < READERS_PAGES:
        return ""
    return f"a read-only run wrote {wal / 1e6:.1f} MB of WAL and {written:.0f} pages"


def pages_written(record: Record) -> float:
    """The pages of tables and indexes that all processes of the server wrote; 0 if nobody knows."""
    io = _statistics(record).get("pg_stat_io")
    if io is not None:
        return float(
            sum(n for name, n in io.items() if "relation" in name and name.endswith(".writes"))
        )
    writers = _statistics(record).get("pg_stat_bgwriter", {})
    names = ("buffers_checkpoint", "buffers_clean", "buffers_backend")
    return float(sum(writers.get(name, 0.0) for name in names))


def _tier(record: Record) -> str:
    sample, cell = record["sample"], record["cell"]
    size, memory = record.get("database_bytes"), record["machine"].get("memory_bytes")
    if cell["tier"] == Tier.LARGE and size and memory and size <= memory:
        return (
            f"{size / 1e9:.2f} GB of large data are not more than {memory / 1e9:.2f} GB of memory"
        )
    hit, missed = sample.get("blocks_hit"), sample.get("blocks_read")
    stored = (_evidence(record).get("server_io") or {}).get("read_bytes")
    if hit is None or missed is None or hit + missed < FEWEST_PAGES:
        return ""
    share = missed / (hit + missed)
    if cell["tier"] == Tier.SMALL:
        said = f"{share:.1%} of pages were not in shared buffers, which small data fit"
        return said if share >= SMALL_MISSES else ""
    if stored is None:
        return ""
    page = int((record.get("settings") or {}).get("block_size", 8192))
    from_storage = stored / (missed * page) if missed else 0.0
    if cell["tier"] == Tier.MEDIUM:
        said = f"{from_storage:.0%} of what was read in came from storage, not from memory"
        return said if from_storage >= MEDIUM_STORAGE and missed >= FEWEST_PAGES else ""
    said = f"only {from_storage:.0%} of what was read in came from storage, the rest from memory"
    return said if from_storage < LARGE_STORAGE else ""


_LOOKS: Mapping[WarningRule, Callable[[Record], str]] = {
    WarningRule.FAILED: _failed,
    WarningRule.CLIENT: _client,
    WarningRule.STEAL: _steal,
    WarningRule.DRIFT: _drift,
    WarningRule.CLOCK: _clock,
    WarningRule.AUTOVACUUM: _autovacuum,
    WarningRule.WRITING_READERS: _writing_readers,
    WarningRule.TIER: _tier,
}


def _evidence(record: Record) -> Mapping[str, Any]:
    return record.get("evidence") or {}


def _statistics(record: Record) -> Mapping[str, Any]:
    return record.get("statistics") or {}


def mann_kendall(values: Sequence[float]) -> float:
    """The probability that independent *values* show as much of a trend, either way.

    Mann (Econometrica 13, 1945) and Kendall: the normal approximation with continuity
    correction; ties, which make it smaller than it is, are rare among rates.
    """
    n = len(values)
    score = sum(_sign(later - earlier) for earlier, later in combinations(values, 2))
    variance = n * (n - 1) * (2 * n + 5) / 18
    if variance == 0:
        return 1.0
    deviate = max(0.0, abs(score) - 1) / math.sqrt(variance)
    return math.erfc(deviate / math.sqrt(2))


def theil_sen_change(values: Sequence[float]) -> float:
    """The change from the first to the last of *values*, as a share of their median.

    By the median of the slopes of all pairs (Theil 1950, Sen 1968), which single outliers do
    not move. 0 where the median is.
    """
    slopes = [(values[b] - values[a]) / (b - a) for a, b in combinations(range(len(values)), 2)]
    middle = median(values)
    return median(slopes) * (len(values) - 1) / middle if slopes and middle else 0.0


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)
