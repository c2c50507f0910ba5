"""The raw record of one run, typed: every field with its unit. See docs/records.md.

A field that is None was not measured, could not be known, or was not recorded by an older
landspeed. Keys that this version does not know are kept.
"""

from __future__ import annotations

from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from base.errors import RecordError
from base.paths import MACHINE

SCHEMA = 1
"""The ``schema`` of every record that this version reads and writes."""

ID, TIME = r"[0-9a-z]{26,32}", r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z"

_Item = TypeVar("_Item")
Array = Annotated[tuple[_Item, ...], Strict(False)]
"""A JSON array."""

Number = int | Annotated[float, Field(allow_inf_nan=False)]
"""A number that keeps its type, so that a record is written byte for byte as it was read."""

Statistics = dict[str, dict[str, Number]]
"""Growth of the numeric columns of the statistics views, by view and column."""


class Facts(BaseModel):
    """A JSON object, checked when it is read; keys of another version of landspeed are kept."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="allow", defer_build=True, ser_json_inf_nan="constants"
    )

    @classmethod
    def from_json(cls, facts: object) -> Self:
        """Return the object that *facts* hold; RecordError names a key that is wrong or missing."""
        try:
            return cls.model_validate(facts)
        except ValidationError as error:
            first = error.errors()[0]
            # the place of a value of several types ends with the first type that was tried
            key = ".".join(map(str, first["loc"])).removesuffix(".int")
            raise RecordError(
                f'the key "{key}" of a raw record is not valid' if key else "not a raw record",
                detail=f"{first['msg']}, found {first['input']!r:.100}.",
            ) from error

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object with the keys that were read or given, in a fixed order."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class OriginFacts(Facts):
    """Where the source came from; see base.build.Origin."""

    release: str | None = None
    commit: str | None = None
    tree: str
    date: str
    registered: str | None = None


class ExternalFacts(Facts):
    """A server that somebody else built, in the words of its pg_config."""

    pg_config: str
    bindir: str | None = None
    libdir: str | None = None
    pkglibdir: str | None = None
    sharedir: str | None = None
    said: str


class VariantFacts(Facts):
    """Build variant: block sizes in kB, segment size in GB; None means the default."""

    blocksize: int
    wal_blocksize: int
    segsize: int | None = None
    compiler: str | None = None
    flags: str | None = None


class BuildFacts(Facts):
    """The server that was measured; see base.build.Build. ``cpu_seconds``: what building took."""

    identifier: str
    version: str
    origin: OriginFacts
    variant: VariantFacts
    build_system: str | None = None
    quirks: Array[str] = ()
    toolchain: dict[str, str] = {}
    digest: str
    """The sha256 over all installed files, in hex."""
    cpu_seconds: Number | None = None
    external: ExternalFacts | None = Field(default=None, alias="foreign")


class MachineFacts(Facts):
    """The machine that measured. ``memory_limit`` in bytes, None where servers had no limit."""

    name: Annotated[str, Field(pattern=f"^{MACHINE}$")]
    cpu: str | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    os: str | None = None
    arch: str | None = None
    memory_limit: int | None = None


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
    workload: str | None = None
    """The digest of a workload of the catalog that was timed."""
    valgrind: str | None = None
    libc_sha256: str | None = None
    shown_cpu: str | None = None


class PgbenchFacts(Facts):
    """The pgbench that was used: its version and the identifier of its build."""

    version: str
    build: str


class SysbenchFacts(Facts):
    """The sysbench of a run that pgbench did not make; ``rows`` is the size of its table."""

    version: str
    script: str
    rows: int


class CellFacts(Facts):
    """What was asked; see benchmarks.workloads.scenario.Cell."""

    mode: str
    protocol: str
    tier: str
    scale: int
    clients: int
    threads: int
    configuration: str = Field(alias="profile")
    cache_state: str | None = Field(default=None, alias="buffers")


class RunFacts(Facts):
    """How the run was made. ``block`` and ``side`` belong to the ``comparison`` of that name."""

    preset: str | None = None
    round: int | None = None
    comparison: str | None = None
    block: int | None = None
    side: int | None = None
    instrument: str | None = None
    """``callgrind`` for a counted run, None for a timed one."""
    transactions: Array[int] | None = None
    """Transactions of the short and the long pass of a counted run."""
    seconds: Number | None = None
    """How long the client was told to run."""
    seed: int | None = None
    processors: Array[int] | None = None
    """The logical processors that client and backends were confined to."""
    argv: Array[str] = ()
    """The client's command line."""
    phases: dict[str, Number] = {}
    """Wall-clock seconds by phase."""

    @property
    def spent(self) -> float:
        """Wall-clock seconds of all phases together."""
        return float(sum(self.phases.values()))


class SampleFacts(Facts):
    """The numbers of one run; ``…_ms`` in milliseconds, ``…_tx`` per transaction."""

    latency_ms: Number | None = None
    latency_stddev_ms: Number | None = None
    latency_p50_ms: Number | None = None
    latency_p95_ms: Number | None = None
    latency_p99_ms: Number | None = None
    tps: Number | None = None
    """Transactions per second, without the time to connect."""
    instructions: Number | None = None
    """Instructions of the backend per transaction."""
    instructions_spread: Number | None = None
    """Relative distance between the two counts."""
    clocked_instructions: Number | None = None
    """Instructions per transaction that a clock started; not part of ``instructions``."""
    wal_bytes_tx: Number | None = None
    blocks_tx: Number | None = None
    blocks_read_tx: Number | None = None
    transactions: int | None = None
    failed: int | None = None
    connection_ms: Number | None = None
    measured_seconds: Number | None = None
    server_cpu_seconds: Number | None = None
    client_cpu_seconds: Number | None = None
    wal_bytes: int | None = None
    """Bytes of WAL written during the run."""
    blocks_hit: int | None = None
    blocks_read: int | None = None

    def value(self, column: str) -> float | None:
        """Return the number called *column* (see Metric.column); None if the run has none."""
        value = getattr(self, column, None)
        return None if value is None else float(value)


class SeriesFacts(Facts):
    """The run second by second; a second without a transaction has no latency."""

    seconds: Array[Number] = ()
    tps: Array[Number] = ()
    latency_ms: Array[Number | None] = ()
    latency_stddev_ms: Array[Number | None] = ()
    failed: Array[int] = ()


class PassFacts(Facts):
    """One pass of a counted run; all numbers are totals of the pass."""

    transactions: int
    instructions: Number
    clocked: Number
    wal_bytes: int
    blocks_hit: int
    blocks_read: int


class PlanFacts(Facts):
    """How the server plans the statements of a counted workload."""

    shape: str
    """Ten hex digits of nodes, tables and indexes; conditions, costs and spelling are not in it."""
    lines: Array[str]
    """Each statement with its plan below it."""


class DiskFacts(Facts):
    """I/O of the data directory's device during the run, or ``why`` it is not known."""

    why: str | None = None
    device: str | None = None
    reads: int | None = None
    read_bytes: int | None = None
    read_ms: Number | None = None
    """Mean milliseconds of a read, including the time in the queue."""
    writes: int | None = None
    write_bytes: int | None = None
    write_ms: Number | None = None
    busy: Number | None = None
    """Share of the time in which the device was working."""


class ServerIOFacts(Facts):
    """Bytes that the server's processes read from and wrote to storage."""

    read_bytes: int | None = None
    write_bytes: int | None = None


class EvidenceFacts(Facts):
    """What server and machine were doing during the run, sampled once a second."""

    looks: int
    """Number of samples."""
    cpu: dict[str, Number] = {}
    """Shares of the time of all processors: user, system, idle, iowait, steal."""
    context_switches: int | None = None
    memory: dict[str, int] = {}
    """Bytes: least ``available``, most ``dirty`` and ``writeback``."""
    disk: DiskFacts | None = None
    waits: dict[str, dict[str, int]] = {}
    """Processes by kind and by what they did or waited for, summed over all samples."""
    locks: dict[str, int] = {}
    """Locks waited for, summed over all samples."""
    each: dict[str, Array[Number]] = {}
    """Per sample: shares of time that processors were busy or stolen and the disk was busy."""
    cost_ms: dict[str, Number] = {}
    """CPU milliseconds spent on monitoring, by landspeed (``ours``) and by the ``server``."""
    clock_mhz: Array[Number] | None = None
    """Processor clock in the first and in the last sample."""
    throttled: int | None = None
    """How often a processor was throttled because of heat."""
    server_io: ServerIOFacts | None = None
    statements: Array[Annotated[tuple[str, Number], Strict(False)]] = ()
    """SQL statements of the script with their mean latency in ms."""
    autovacuumed: Array[str] = ()
    """Tables that autovacuum processed."""


class PoolerFacts(Facts):
    """The connection pooler between client and server."""

    name: str
    pool_mode: str
    version: str
    pool_size: int


class ServerFacts(Facts):
    """What one of several servers did during the run."""

    name: str
    cpu_seconds: Number
    wal_bytes: int
    blocks_hit: int | None = None
    blocks_read: int | None = None


class TopologyFacts(Facts):
    """The coordinator and workers of a run on several servers."""

    name: str
    workers: int
    extension: str
    tables: int
    shards: int
    servers: Array[ServerFacts] = ()


class Record(Facts):
    """Everything that was recorded of one run, timed or counted."""

    schema_: int = Field(alias="schema", ge=SCHEMA, le=SCHEMA)
    id: Annotated[str, Field(pattern=f"^{ID}$")]
    """Twelve hex digits of milliseconds since 1970, then random ones: sorts by time."""
    time: Annotated[str, Field(pattern=f"^{TIME}$")]
    """When the run began: ISO 8601, UTC."""
    build: BuildFacts
    machine: MachineFacts
    pgbench: PgbenchFacts
    cell: CellFacts
    epoch: EpochFacts
    run: RunFacts
    sample: SampleFacts
    series: SeriesFacts | None = None
    passes: Array[PassFacts] | None = None
    """Short and long pass of each count, in order."""
    plan: PlanFacts | None = None
    """None where no statement has a plan."""
    settings: dict[str, str] = {}
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
