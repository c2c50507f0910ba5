"""Raw records as real runs leave them, made up: right shape and size, numbers that vary."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from base.build import Variant
from benchmarks.records.store import new_id

RELEASES = {
    "13.22": "2025-08-14",
    "15.14": "2025-08-14",
    "16.10": "2025-08-14",
    "17.6": "2025-08-14",
    "18.1": "2025-11-13",
}
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Point:
    """What repeated runs share: a build, a cell and a machine."""

    release: str | None = "18.1"
    commit: str | None = None
    date: str = "2025-11-13"
    blocksize: int = 8
    build: str = "default"
    mode: str = "read-only"
    protocol: str = "prepared"
    tier: str = "small"
    scale: int = 5
    clients: int = 1
    profile: str = "default"
    machine: str = "elephant"
    epoch: str = "e1"
    latency_ms: float = 0.1
    seconds: int = 3


def record(point: Point, *, number: int = 0, at: datetime = START) -> dict[str, Any]:
    """The raw record of run *number* of *point*, made at *at*; equal arguments, equal record."""
    chance = random.Random(f"{point}{number}{at}")
    latency = point.latency_ms * chance.gauss(1, 0.02)
    tps = point.clients * 1000 / latency
    milliseconds = int(at.timestamp() * 1000)
    return {
        "schema": 1,
        "id": f"{milliseconds:012x}{chance.getrandbits(80):020x}",
        "time": at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z",
        "build": _build(point),
        "machine": {
            "name": point.machine,
            "cpu": "AMD EPYC 7763 64-Core Processor",
            "cores": 2,
            "memory_bytes": 8_222_736_384,
            "os": "Linux",
            "arch": "x86_64",
        },
        "pgbench": {"version": "18.1", "build": "18.1-bs8-" + "0123456789abcdef"},
        "cell": {
            "mode": point.mode,
            "protocol": point.protocol,
            "tier": point.tier,
            "scale": point.scale,
            "clients": point.clients,
            "threads": min(point.clients, 2),
            "profile": point.profile,
        },
        "epoch": {
            "identifier": point.epoch,
            "kernel": "6.1.0-38-amd64",
            "cpu": "AMD EPYC 7763 64-Core Processor",
            "microcode": "0xffffffff",
            "libc": "glibc 2.36",
        },
        "run": _run(point, number, chance),
        "sample": _sample(point, latency, tps, chance),
        "series": _series(point, latency, tps, chance),
        "settings": dict(_SETTINGS),
        "statistics": _statistics(tps, chance),
        "evidence": _evidence(point, tps, chance),
        "database_bytes": point.scale * 15_600_000 + 8192 * chance.randrange(9999),
        "stderr": "",
        "server_log": "",
        "warnings": {},
    }


def counted_record(
    build: dict[str, Any], cell: dict[str, Any], machine: dict[str, Any], epoch: dict[str, Any]
) -> dict[str, Any]:
    """The raw record of a counted run; the same for the same build and cell but for its id."""
    chance = random.Random(f"{build['digest']}{cell}")
    instructions = chance.uniform(3e4, 3e5)
    return {
        "schema": 1,
        "id": new_id(),
        "time": "2026-01-01T00:00:00.000Z",
        "build": build,
        "machine": machine,
        "pgbench": {"version": "18.1", "build": "18.1-bs8-" + "0123456789abcdef"},
        "cell": cell,
        "epoch": epoch,
        "run": {"preset": "quick", "round": 1, "instrument": "callgrind", "seed": 7, "argv": []},
        "sample": {
            "instructions": instructions,
            "instructions_spread": 0.00003,
            "wal_bytes_tx": 419.0,
            "blocks_tx": 17.5,
            "blocks_read_tx": 0.0,
            "transactions": 1000,
        },
        "passes": [],
        "settings": dict(_SETTINGS),
        "database_bytes": 80_000_000,
        "server_log": "",
    }


def records(
    *, releases: Sequence[str] = tuple(RELEASES), runs: int = 3, **point: Any
) -> Iterator[dict[str, Any]]:
    """*runs* records of each of some cells of each release; older releases are slower."""
    at = START
    for age, release in enumerate(reversed(releases)):
        for mode in ("read-only", "read-write"):
            for clients in (1, 4):
                for number in range(runs):
                    at += timedelta(seconds=7)
                    facts = {
                        "release": release,
                        "date": RELEASES.get(release, "2025-01-01"),
                        "mode": mode,
                        "clients": clients,
                        "latency_ms": (0.1 if mode == "read-only" else 1.2)
                        * (1 + 0.05 * age)
                        * clients**0.5,
                    }
                    yield record(Point(**(facts | point)), number=number, at=at)


def _build(point: Point) -> dict[str, Any]:
    name = point.release or str(point.commit)
    variant = Variant.from_axes({"blocksize": str(point.blocksize), "build": point.build})
    digest = hashlib.sha256(f"{name} {variant}".encode()).hexdigest()
    return {
        "identifier": f"{name[:10]}-{variant}-{digest[:16]}",
        "version": point.release or "19devel",
        "origin": {
            "release": point.release,
            "commit": point.commit,
            "tree": hashlib.sha1(name.encode()).hexdigest(),
            "date": point.date,
        },
        "variant": variant.facts(),
        "build_system": "meson",
        "quirks": [],
        "toolchain": {
            "cc": "gcc (Debian 12.2.0-14+deb12u1) 12.2.0",
            "ld": "GNU ld (GNU Binutils for Debian) 2.40",
            "libc": "glibc 2.36",
        },
        "digest": digest,
        "cpu_seconds": 171.23,
    }


def _run(point: Point, number: int, chance: random.Random) -> dict[str, Any]:
    seed = chance.getrandbits(31)
    phases = ("prepare", "start", "warm", "pgbench", "stop")
    return {
        "preset": "regular",
        "round": number,
        "seconds": point.seconds,
        "seed": seed,
        "argv": [
            "pgbench",
            "--no-vacuum",
            "-S" if point.mode == "read-only" else "-N",
            f"--protocol={point.protocol}",
            f"--client={point.clients}",
            f"--jobs={min(point.clients, 2)}",
            f"--time={point.seconds}",
            "--progress=1",
            f"--random-seed={seed}",
            "pgbench",
        ],
        "phases": {name: round(chance.uniform(0.01, 0.4), 6) for name in phases},
    }


def _sample(
    point: Point, latency: float, tps: float, chance: random.Random
) -> dict[str, float | int | None]:
    transactions = int(tps * point.seconds)
    return {
        "latency_ms": round(latency, 6),
        "latency_stddev_ms": round(latency * chance.uniform(0.2, 0.5), 6),
        "latency_p50_ms": round(latency * chance.uniform(0.9, 0.95), 6),
        "latency_p95_ms": round(latency * chance.uniform(1.5, 1.9), 6),
        "latency_p99_ms": round(latency * chance.uniform(2, 4), 6),
        "tps": round(tps, 6),
        "transactions": transactions,
        "failed": 0,
        "connection_ms": round(chance.uniform(1, 5), 3),
        "measured_seconds": round(point.seconds + chance.uniform(0, 0.01), 6),
        "server_cpu_seconds": round(point.seconds * chance.uniform(1.2, 1.6), 2),
        "client_cpu_seconds": round(point.seconds * 0.31, 2),
        "wal_bytes": chance.randrange(10**8),
        "blocks_hit": transactions * 4 + chance.randrange(999),
        "blocks_read": chance.randrange(2000),
    }


def _series(
    point: Point, latency: float, tps: float, chance: random.Random
) -> dict[str, list[float]]:
    seconds = range(1, point.seconds + 1)

    def noisy(value: float, digits: int) -> list[float]:
        return [round(value * chance.gauss(1, 0.03), digits) for _ in seconds]

    return {
        "seconds": [float(second) for second in seconds],
        "tps": noisy(tps, 1),
        "latency_ms": noisy(latency, 3),
        "latency_stddev_ms": noisy(latency / 3, 3),
        "failed": [0 for _ in seconds],
    }


def _evidence(point: Point, tps: float, chance: random.Random) -> dict[str, Any]:
    """What was seen of one Run: as large as that of a real one, in the same words."""

    def number(most: float) -> int:
        return int(chance.uniform(0.5, 1) * most)

    looks = point.seconds
    writes = point.mode != "read-only"
    waits: dict[str, dict[str, int]] = {"client backend": {"running": 4 * looks}}
    statements = []
    if writes:
        waits["client backend"] |= {"LWLock:WALWrite": 5 * looks, "Client:ClientRead": looks}
        waits["walwriter"] = {"IO:WALSync": 1}
        statements = [[text, round(chance.uniform(0.05, 0.0599), 3)] for text in _SCRIPT]
    user = round(chance.uniform(0.4, 0.5), 4)
    shares = {
        "user": user,
        "system": 0.2,
        "idle": round(0.8 - user, 4),
        "iowait": 0.0,
        "steal": 0.0,
    }
    return {
        "looks": looks,
        "cpu": shares,
        "context_switches": number(2 * tps),
        "memory": {"available": number(8e9), "dirty": number(1e7), "writeback": 0},
        "disk": {
            "device": "sda",
            "reads": number(300),
            "read_bytes": number(4e6),
            "read_ms": round(chance.uniform(0.1, 2), 3),
            "writes": number(300),
            "write_bytes": number(4e6),
            "write_ms": round(chance.uniform(0.1, 2), 3),
            "busy": round(chance.random(), 4),
        },
        "waits": waits,
        "locks": {"transactionid ShareLock": 1} if writes else {},
        "each": {
            name: [round(chance.random(), 2) for _ in range(looks)]
            for name in ("busy", "steal", "disk")
        },
        "cost_ms": {"ours": round(chance.uniform(1, 2), 1), "server": round(chance.random(), 1)},
        "server_io": {"read_bytes": 0, "write_bytes": number(4e6)},
        **({"statements": statements} if statements else {}),
    }


_SCRIPT = (
    "BEGIN;",
    "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;",
    "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;",
    "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)"
    " VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);",
    "END;",
)


def _statistics(tps: float, chance: random.Random) -> dict[str, dict[str, float]]:
    views: dict[str, dict[str, float]] = {}
    for name in _STATISTICS:
        view, _, column = name.partition(".")
        views.setdefault(view, {})[column] = int(tps * chance.uniform(0.01, 9))
    return views


_STATISTICS = (
    *(f"pg_stat_database.{name}" for name in ("xact_commit", "blks_read", "blks_hit")),
    *(f"pg_stat_database.tup_{name}" for name in ("returned", "fetched", "inserted", "updated")),
    *(f"pg_stat_bgwriter.buffers_{name}" for name in ("clean", "alloc")),
    *(f"pg_stat_checkpointer.{name}" for name in ("num_timed", "buffers_written")),
    *(f"pg_stat_wal.wal_{name}" for name in ("records", "fpi", "bytes", "buffers_full")),
    *(f"pg_stat_io.client backend.{name}" for name in ("reads", "writes", "extends", "hits")),
)

_SETTINGS = {
    "autovacuum": "off",
    "checkpoint_timeout": "3600",
    "client_encoding": "UTF8",
    "cluster_name": "landspeed",
    "data_checksums": "off",
    "default_statistics_target": "100",
    "dynamic_shared_memory_type": "posix",
    "effective_cache_size": "524288",
    "fsync": "on",
    "full_page_writes": "on",
    "huge_pages": "off",
    "lc_messages": "C",
    "listen_addresses": "",
    "log_checkpoints": "on",
    "log_timezone": "UTC",
    "maintenance_work_mem": "65536",
    "max_connections": "300",
    "max_wal_size": "4096",
    "min_wal_size": "1024",
    "random_page_cost": "4",
    "server_encoding": "UTF8",
    "shared_buffers": "16384",
    "synchronous_commit": "on",
    "TimeZone": "UTC",
    "unix_socket_permissions": "0700",
    "wal_buffers": "512",
    "work_mem": "4096",
}
