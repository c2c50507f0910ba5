"""The raw record of one run, typed: every field with its unit. See docs/records.md.

A field that is None was not measured, could not be known, or was not recorded by an older
landspeed. Keys that this version does not know are kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Self

from base.errors import RecordError
from benchmarks.records.facts import KEY, Facts

SCHEMA = 1
"""The ``schema`` of every record that this version reads and writes."""

Statistics = dict[str, dict[str, float]]
"""Growth of the numeric columns of the statistics views, by view and column."""

ID, TIME = r"[0-9a-z]{26,32}", r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z"
MACHINE = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
_VALID = {"id": re.compile(ID), "time": re.compile(TIME), "machine.name": re.compile(MACHINE)}


@dataclass(frozen=True, kw_only=True)
class OriginFacts(Facts):
    """Where the source came from; see base.build.Origin."""

    release: str | None = None
    commit: str | None = None
    tree: str
    date: str
    registered: str | None = None


@dataclass(frozen=True, kw_only=True)
class ExternalFacts(Facts):
    """A server that somebody else built, in the words of its pg_config."""

    pg_config: str
    bindir: str | None = None
    libdir: str | None = None
    pkglibdir: str | None = None
    sharedir: str | None = None
    said: str


@dataclass(frozen=True, kw_only=True)
class VariantFacts(Facts):
    """Build variant: block sizes in kB, segment size in GB; None means the default."""

    blocksize: int
    wal_blocksize: int
    segsize: int | None = None
    compiler: str | None = None
    flags: str | None = None


@dataclass(frozen=True, kw_only=True)
class BuildFacts(Facts):
    """The server that was measured; see base.build.Build. ``cpu_seconds``: what building took."""

    identifier: str
    version: str
    origin: OriginFacts
    variant: VariantFacts
    build_system: str | None = None
    quirks: tuple[str, ...] = ()
    toolchain: dict[str, str] = field(default_factory=dict)
    digest: str
    """The sha256 over all installed files, in hex."""
    cpu_seconds: float | None = None
    external: ExternalFacts | None = field(default=None, metadata={KEY: "foreign"})


@dataclass(frozen=True, kw_only=True)
class MachineFacts(Facts):
    """The machine that measured. ``memory_limit`` in bytes, None where servers had no limit."""

    name: str
    cpu: str | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    os: str | None = None
    arch: str | None = None
    memory_limit: int | None = None


@dataclass(frozen=True, kw_only=True)
class EpochFacts(Facts):
    """What makes numbers of one machine comparable; ``identifier`` is a digest of it.

    Counted runs also have ``valgrind``, ``libc_sha256`` and ``shown_cpu``.
    """

    identifier: str
    kernel: str | None = None
    cpu: str | None = None
    microcode: str | None = None
    libc: str | None = None
    method: int | str | None = None
    valgrind: str | None = None
    libc_sha256: str | None = None
    shown_cpu: str | None = None


@dataclass(frozen=True, kw_only=True)
class PgbenchFacts(Facts):
    """The pgbench that was used: its version and the identifier of its build."""

    version: str
    build: str


@dataclass(frozen=True, kw_only=True)
class SysbenchFacts(Facts):
    """The sysbench of a run that pgbench did not make; ``rows`` is the size of its table."""

    version: str
    script: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class CellFacts(Facts):
    """What was asked; see benchmarks.workloads.scenario.Cell."""

    mode: str
    protocol: str
    tier: str
    scale: int
    clients: int
    threads: int
    configuration: str = field(metadata={KEY: "profile"})
    cache_state: str | None = field(default=None, metadata={KEY: "buffers"})


@dataclass(frozen=True, kw_only=True)
class RunFacts(Facts):
    """How the run was made. ``block`` and ``side`` belong to the ``comparison`` of that name."""

    preset: str | None = None
    round: int | None = None
    comparison: str | None = None
    block: int | None = None
    side: int | None = None
    instrument: str | None = None
    """``callgrind`` for a counted run, None for a timed one."""
    transactions: tuple[int, ...] | None = None
    """Transactions of the short and the long pass of a counted run."""
    seconds: float | None = None
    """How long the client was told to run."""
    seed: int | None = None
    processors: tuple[int, ...] | None = None
    """The logical processors that client and backends were confined to."""
    argv: tuple[str, ...] = ()
    """The client's command line."""
    phases: dict[str, float] = field(default_factory=dict)
    """Wall-clock seconds by phase."""

    @property
    def spent(self) -> float:
        """Wall-clock seconds of all phases together."""
        return float(sum(self.phases.values()))


@dataclass(frozen=True, kw_only=True)
class SampleFacts(Facts):
    """The numbers of one run; ``…_ms`` in milliseconds, ``…_tx`` per transaction."""

    latency_ms: float | None = None
    latency_stddev_ms: float | None = None
    latency_p50_ms: float | None = None
    latency_p95_ms: float | None = None
    latency_p99_ms: float | None = None
    tps: float | None = None
    """Transactions per second, without the time to connect."""
    instructions: float | None = None
    """Instructions of the backend per transaction."""
    instructions_spread: float | None = None
    """Relative distance between the two counts."""
    clocked_instructions: float | None = None
    """Instructions per transaction that a clock started; not part of ``instructions``."""
    wal_bytes_tx: float | None = None
    blocks_tx: float | None = None
    blocks_read_tx: float | None = None
    transactions: int | None = None
    failed: int | None = None
    connection_ms: float | None = None
    measured_seconds: float | None = None
    server_cpu_seconds: float | None = None
    client_cpu_seconds: float | None = None
    wal_bytes: int | None = None
    """Bytes of WAL written during the run."""
    blocks_hit: int | None = None
    blocks_read: int | None = None

    def value(self, column: str) -> float | None:
        """Return the number called *column* (see Metric.column); None if the run has none."""
        value = getattr(self, column, None)
        return None if value is None else float(value)


@dataclass(frozen=True, kw_only=True)
class SeriesFacts(Facts):
    """The run second by second; a second without a transaction has no latency."""

    seconds: tuple[float, ...] = ()
    tps: tuple[float, ...] = ()
    latency_ms: tuple[float | None, ...] = ()
    latency_stddev_ms: tuple[float | None, ...] = ()
    failed: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PassFacts(Facts):
    """One pass of a counted run; all numbers are totals of the pass."""

    transactions: int
    instructions: float
    clocked: float
    wal_bytes: int
    blocks_hit: int
    blocks_read: int


@dataclass(frozen=True, kw_only=True)
class PlanFacts(Facts):
    """How the server plans the statements of a counted workload."""

    shape: str
    """Ten hex digits of nodes, tables and indexes; conditions, costs and spelling are not in it."""
    lines: tuple[str, ...]
    """Each statement with its plan below it."""


@dataclass(frozen=True, kw_only=True)
class DiskFacts(Facts):
    """I/O of the data directory's device during the run, or ``why`` it is not known."""

    why: str | None = None
    device: str | None = None
    reads: int | None = None
    read_bytes: int | None = None
    read_ms: float | None = None
    """Mean milliseconds of a read, including the time in the queue."""
    writes: int | None = None
    write_bytes: int | None = None
    write_ms: float | None = None
    busy: float | None = None
    """Share of the time in which the device was working."""


@dataclass(frozen=True, kw_only=True)
class ServerIOFacts(Facts):
    """Bytes that the server's processes read from and wrote to storage."""

    read_bytes: int | None = None
    write_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class EvidenceFacts(Facts):
    """What server and machine were doing during the run, sampled once a second."""

    looks: int
    """float of samples."""
    cpu: dict[str, float] = field(default_factory=dict)
    """Shares of the time of all processors: user, system, idle, iowait, steal."""
    context_switches: int | None = None
    memory: dict[str, int] = field(default_factory=dict)
    """Bytes: least ``available``, most ``dirty`` and ``writeback``."""
    disk: DiskFacts | None = None
    waits: dict[str, dict[str, int]] = field(default_factory=dict)
    """Processes by kind and by what they did or waited for, summed over all samples."""
    locks: dict[str, int] = field(default_factory=dict)
    """Locks waited for, summed over all samples."""
    each: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """Per sample: shares of time that processors were busy or stolen and the disk was busy."""
    cost_ms: dict[str, float] = field(default_factory=dict)
    """CPU milliseconds spent on monitoring, by landspeed (``ours``) and by the ``server``."""
    clock_mhz: tuple[float, ...] | None = None
    """Processor clock in the first and in the last sample."""
    throttled: int | None = None
    """How often a processor was throttled because of heat."""
    server_io: ServerIOFacts | None = None
    statements: tuple[tuple[str, float], ...] = ()
    """SQL statements of the script with their mean latency in ms."""
    autovacuumed: tuple[str, ...] = ()
    """Tables that autovacuum processed."""


@dataclass(frozen=True, kw_only=True)
class PoolerFacts(Facts):
    """The connection pooler between client and server."""

    name: str
    pool_mode: str
    version: str
    pool_size: int


@dataclass(frozen=True, kw_only=True)
class ServerFacts(Facts):
    """What one of several servers did during the run."""

    name: str
    cpu_seconds: float
    wal_bytes: int
    blocks_hit: int | None = None
    blocks_read: int | None = None


@dataclass(frozen=True, kw_only=True)
class TopologyFacts(Facts):
    """The coordinator and workers of a run on several servers."""

    name: str
    workers: int
    extension: str
    tables: int
    shards: int
    servers: tuple[ServerFacts, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Record(Facts):
    """Everything that was recorded of one run, timed or counted."""

    schema: int
    id: str
    """Twelve hex digits of milliseconds since 1970, then random ones: sorts by time."""
    time: str
    """When the run began: ISO 8601, UTC."""
    build: BuildFacts
    machine: MachineFacts
    pgbench: PgbenchFacts
    cell: CellFacts
    epoch: EpochFacts
    run: RunFacts
    sample: SampleFacts
    series: SeriesFacts | None = None
    passes: tuple[PassFacts, ...] | None = None
    """Short and long pass of each count, in order."""
    plan: PlanFacts | None = None
    """None where no statement has a plan."""
    settings: dict[str, str] = field(default_factory=dict)
    """Server settings that are not the built-in defaults, with their units."""
    statistics: Statistics | None = None
    evidence: EvidenceFacts | None = None
    """None where nothing was monitored."""
    database_bytes: int | None = None
    stderr: str | None = None
    """Messages of the client, without its progress lines."""
    server_log: str | None = None
    """Lines of the server's log above LOG."""
    pooler: PoolerFacts | None = None
    sysbench: SysbenchFacts | None = None
    topology: TopologyFacts | None = None
    warnings: dict[str, str] | None = None
    """What was seen by each WarningRule that applied, by the rule's name."""

    @classmethod
    def from_json(cls, facts: object) -> Self:
        """Return the record that *facts* hold; RecordError names a key that is wrong or missing."""
        record = super().from_json(facts)
        found = {"id": record.id, "time": record.time, "machine.name": record.machine.name}
        wrong = [key for key, value in found.items() if not _VALID[key].fullmatch(value)]
        wrong = ["schema"] if record.schema != SCHEMA else wrong
        if wrong:
            raise RecordError(
                f'the key "{wrong[0]}" of a raw record is not valid',
                detail=f"It is {({'schema': record.schema} | found)[wrong[0]]!r}.",
            )
        return record
