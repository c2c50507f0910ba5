"""Known ways in which a number misleads, found in a run's raw record.

Each rule stands in one place: its thresholds with their reasons, how it is found, what it means
and what to try. To add one, add a block like the others. Pure functions; what a record lacks, as
old ones lack evidence, is not judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from benchmarks.observation.activity import AUTOVACUUM
from benchmarks.records.record import Record
from benchmarks.workloads.scenario import Mode, Tier
from benchmarks.workloads.sysbench_modes import SYSBENCH


@dataclass(frozen=True, kw_only=True)
class RunFindings:
    """What the warnings about several runs are made from, of one run.

    ``warnings`` is what was seen by rule name, ``checkpoints`` how many began (None: not known).
    """

    id: str
    warnings: Mapping[str, str]
    checkpoints: float | None

    @classmethod
    def of(cls, record: Record) -> RunFindings:
        """Return the findings that *record* was written with."""
        return cls(id=record.id, warnings=record.warnings or {}, checkpoints=checkpoints(record))


@dataclass(frozen=True, kw_only=True)
class WarningRule:
    """A known way in which a number misleads; ``name`` is its key in records.

    ``find`` returns what is seen of it in one run, ``contrast`` what is seen only when several
    runs of the same point are compared; both return "" where there is nothing to warn of.
    """

    name: str
    means: str
    remedy: str
    find: Callable[[Record], str] = lambda _: ""
    contrast: Callable[[Sequence[RunFindings]], str] = lambda _: ""


RULES: dict[str, WarningRule] = {}
"""All rules by name, in the order in which their warnings are recorded and shown."""


def find_warnings(record: Record) -> dict[str, str]:
    """Return what is seen in *record* by the name of each rule that applies."""
    found = {name: rule.find(record) for name, rule in RULES.items()}
    return {name: seen for name, seen in found.items() if seen}


def _add(
    name: str, *, means: str, remedy: str
) -> Callable[[Callable[[Record], str]], Callable[[Record], str]]:
    def add(find: Callable[[Record], str]) -> Callable[[Record], str]:
        RULES[name] = WarningRule(name=name, means=means, remedy=remedy, find=find)
        return find

    return add


@_add(
    "failed",
    means="Failed transactions are not timed: the others had less to wait for, or the server is "
    "in trouble.",
    remedy='Look at the server\'s log: "landspeed show run:ID --json".',
)
def _failed(record: Record) -> str:
    sample = record.sample
    if not sample.failed:
        return ""
    return f"{sample.failed} transactions failed, {sample.transactions} did not"


# A thread this busy has a tenth of its time left to wait in: answers queue for it, and the
# client itself is what is measured.
CLIENT_SHARE = 0.9


@_add(
    "client",
    means="The client itself is the limit: a faster server would show the same number.",
    remedy="Use fewer clients, another mode, or a machine with more cores; trust "
    "--metric instructions.",
)
def _client(record: Record) -> str:
    share = client_share(record)
    return "" if share is None or share < CLIENT_SHARE else client_share_text(record, share)


def client_share(record: Record) -> float | None:
    """Return the share that the client used of the processors that its threads can have.

    Those are as many as it has threads, or all there are. None where it is not known.
    """
    spent, seconds = record.sample.client_cpu_seconds, record.sample.measured_seconds
    if spent is None or not seconds:
        return None
    threads = record.cell.threads
    return spent / seconds / min(threads, record.machine.cores or threads)


def client_share_text(record: Record, share: float) -> str:
    """Say that the client of *record* used that *share* (see ``client_share``)."""
    threads = record.cell.threads
    of = "processor that its thread" if threads == 1 else f"processors that its {threads} threads"
    name = SYSBENCH if record.sysbench else "pgbench"
    return f"{name} used {share:.0%} of the {of} can have"


# Stolen time makes a run longer by as much, and compare calls a difference of 1 % the same.
STEAL_SHARE = 0.01


@_add(
    "steal",
    means="Other virtual machines ran on this machine's processors: the run took longer, and "
    "the server is not the cause.",
    remedy="Measure on a machine of your own or at another time; or use compare, where both "
    "sides are affected alike; or count with --metric instructions.",
)
def _steal(record: Record) -> str:
    share = record.evidence.cpu.get("steal", 0.0) if record.evidence else 0.0
    return f"{share:.1%} of processor time was stolen" if share >= STEAL_SHARE else ""


# On shared machines seconds vary by 5 to 7 %, so a smaller trend is not reported; and it must be
# one that chance makes in one run of a thousand.
DRIFT_SHARE = 0.05
DRIFT_CHANCE = 0.001
DRIFT_SECONDS = 8  # a shorter run cannot be that unlikely: seven rising seconds have 0.003


@_add(
    "drift",
    means="The run has no single speed: the processor became hot or cool, a cache filled, or a "
    "neighbour came or went. The mean depends on how long it ran.",
    remedy='Run longer or wait for the machine to settle; "landspeed doctor" looks for the cause.',
)
def _drift(record: Record) -> str:
    tps = record.series.tps if record.series else ()
    if len(tps) < DRIFT_SECONDS or mann_kendall(tps) >= DRIFT_CHANCE:
        return ""
    change = theil_sen_change(tps)
    if abs(change) < DRIFT_SHARE:
        return ""
    way = "rose" if change > 0 else "fell"
    return f"transactions per second {way} by {abs(change):.0%} from the first second to the last"


# The clock of a busy processor varies by 1 or 2 %; a turbo step is about 3 %.
CLOCK_SHARE = 0.95


@_add(
    "clock",
    means="The processor was slowed down during the run, because of heat or by its governor.",
    remedy='Fix the governor and turbo: "landspeed doctor --fix-hints"; look at the cooling.',
)
def _clock(record: Record) -> str:
    if record.evidence is None:
        return ""
    if record.evidence.throttled:
        return f"processors were throttled {record.evidence.throttled} times"
    first, last = record.evidence.clock_mhz or (0.0, 0.0)
    if last >= CLOCK_SHARE * first:
        return ""
    return f"the clock fell from {first:.0f} to {last:.0f} MHz"


@_add(
    "autovacuum",
    means="A vacuum or analyze used processor and disk in this run and not in others.",
    remedy="Take more runs, or shorter ones; see autovacuum_naptime in the settings.",
)
def _autovacuum(record: Record) -> str:
    if record.evidence is None:
        return ""
    if record.evidence.autovacuumed:
        return f"autovacuum processed {', '.join(record.evidence.autovacuumed)}"
    if any(kind.endswith(AUTOVACUUM) for kind in record.evidence.waits):
        return "an autovacuum worker ran"
    return ""


# A server that only reads writes a few catalog pages and its statistics file: less than this.
READERS_PAGES = 64
READERS_WAL = READERS_PAGES * 8192


@_add(
    "writing-readers",
    means="Readers pay for what writers left: they set hint bits, which dirties pages, and with "
    "checksums logs a full image of each.",
    remedy="VACUUM and CHECKPOINT between writing and reading; landspeed does both before its "
    "own read-only runs.",
)
def _writing_readers(record: Record) -> str:
    if record.cell.mode != Mode.READ_ONLY:
        return ""
    wal, written = record.sample.wal_bytes or 0, pages_written(record)
    if wal < READERS_WAL and written < READERS_PAGES:
        return ""
    return f"a read-only run wrote {wal / 1e6:.1f} MB of WAL and {written:.0f} pages"


def pages_written(record: Record) -> float:
    """Return the table and index pages that the server's processes wrote; 0 if not known."""
    views = record.statistics or {}
    io = views.get("pg_stat_io")
    if io is not None:
        return float(
            sum(n for name, n in io.items() if "relation" in name and name.endswith(".writes"))
        )
    writers = views.get("pg_stat_bgwriter", {})
    names = ("buffers_checkpoint", "buffers_clean", "buffers_backend")
    return float(sum(writers.get(name, 0.0) for name in names))


# Reading a page into shared buffers takes about ten times as long as finding it there, so 1 % of
# such pages is 10 % of the time.
SMALL_MISSES = 0.01
# Data that exceeds shared buffers and fits memory should not be read from storage.
MEDIUM_STORAGE = 0.05
# At most half of data of twice the memory is cached, less what the server takes for itself.
LARGE_STORAGE = 0.25
# Shares of fewer pages say nothing.
FEWEST_PAGES = 1000


@_add(
    "tier",
    means="The run does not measure what its tier says: memory, or the disk.",
    remedy="Choose another scale (--scale TIER=N), or another memory limit (--memory).",
)
def _tier(record: Record) -> str:
    tier, sample = record.cell.tier, record.sample
    size, memory = record.database_bytes, record.machine.memory_bytes
    if tier == Tier.LARGE and size and memory and size <= memory:
        return f"large data ({size / 1e9:.2f} GB) fit memory ({memory / 1e9:.2f} GB)"
    hit, missed = sample.blocks_hit, sample.blocks_read
    if hit is None or missed is None or hit + missed < FEWEST_PAGES:
        return ""
    share = missed / (hit + missed)
    if tier == Tier.SMALL:
        seen = f"{share:.1%} of pages were not in shared buffers, which small data fit"
        return seen if share >= SMALL_MISSES else ""
    stored = record.evidence.server_io if record.evidence else None
    if stored is None or stored.read_bytes is None:
        return ""
    page = int(record.settings.get("block_size", 8192))
    from_storage = stored.read_bytes / (missed * page) if missed else 0.0
    if tier == Tier.MEDIUM:
        seen = f"{from_storage:.0%} of the pages read came from storage, not from memory"
        return seen if from_storage >= MEDIUM_STORAGE and missed >= FEWEST_PAGES else ""
    seen = f"only {from_storage:.0%} of the pages read came from storage, the rest from memory"
    return seen if from_storage < LARGE_STORAGE else ""


def _checkpoint(runs: Sequence[RunFindings]) -> str:
    counts = [run.checkpoints for run in runs if run.checkpoints is not None]
    with_some = sum(count > 0 for count in counts)
    if with_some in (0, len(counts)):
        return ""
    return f"a checkpoint began in {with_some} of {len(counts)} runs"


RULES["checkpoint"] = WarningRule(
    name="checkpoint",
    means="Some runs pay for writing all changed pages, and for the full-page images in the WAL "
    "after that, and others do not.",
    remedy="Make each run long enough for several checkpoints, or use --configuration tuned, where "
    "they are rare.",
    contrast=_checkpoint,
)


def checkpoints(record: Record) -> float | None:
    """Return how many checkpoints began in the run of *record*; None where it is not known."""
    # 17 moved them to a view of their own
    for view, names in (
        ("pg_stat_checkpointer", ("num_timed", "num_requested")),
        ("pg_stat_bgwriter", ("checkpoints_timed", "checkpoints_req")),
    ):
        counts = (record.statistics or {}).get(view)
        if counts and all(name in counts for name in names):
            return float(sum(counts[name] for name in names))
    return None


def mann_kendall(values: Sequence[float]) -> float:
    """Return the probability that independent *values* show at least this trend, either way.

    Mann (Econometrica 13, 1945) and Kendall: the normal approximation with continuity
    correction. Ties make the true probability larger; they are rare among rates.
    """
    n = len(values)
    pairs = combinations(values, 2)
    score = sum((later > earlier) - (later < earlier) for earlier, later in pairs)
    variance = n * (n - 1) * (2 * n + 5) / 18
    if variance == 0:
        return 1.0
    deviate = max(0.0, abs(score) - 1) / math.sqrt(variance)
    return math.erfc(deviate / math.sqrt(2))


def theil_sen_change(values: Sequence[float]) -> float:
    """Return the change from the first to the last of *values*, as a share of their median.

    By the median of the slopes of all pairs (Theil 1950, Sen 1968), which single outliers do
    not move. 0 where the median is.
    """
    slopes = [(values[b] - values[a]) / (b - a) for a, b in combinations(range(len(values)), 2)]
    middle = median(values)
    return median(slopes) * (len(values) - 1) / middle if slopes and middle else 0.0
