"""Begin and end every run alike: data in the same caches, and a look at all counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine.copy_tree import drop_cached, keep_cached
from benchmarks.observation.snapshot import (
    Observation,
    Snapshot,
    between,
    cache_files,
    database_bytes,
    database_counter,
    settings,
    snapshot,
    warm,
)
from benchmarks.server.citus import parts_of, topology_facts
from benchmarks.server.cluster import Cluster
from benchmarks.server.topology import Topology
from benchmarks.workloads.scenario import Scenario, Tier


def set_page_cache(tier: Tier, data: Path, *, limited: bool) -> None:
    """Begin every run of a tier with the same files in the kernel's page cache.

    Data that fits memory is all there, as on a server that has run for a while. Of *large* data
    nothing is, because which half of it remained is chance. For a server in a memory limit
    nothing is either: what we read into the cache would not count as its own.
    """
    if limited or tier is Tier.LARGE:
        drop_cached(data)
    else:
        keep_cached(data)


@dataclass(frozen=True, kw_only=True)
class WarmupResult:
    """Counters and settings of a warm server before the client ran; sizes in bytes."""

    before: Snapshot
    settings: dict[str, str]
    database_bytes: int


def begin(
    clusters: Sequence[Cluster], shared_buffers: int, scenario: Scenario, topology: Topology | None
) -> list[WarmupResult]:
    """Warm all servers, then look at their counters.

    Where there are workers, sessions of Citus's own stay on all of them.
    """
    # all are warm before any counter is read
    warmed = [_warm(cluster, shared_buffers, scenario, topology) for cluster in clusters]
    return [
        WarmupResult(
            before=snapshot(cluster, at_least=counts, residents=topology is not None),
            settings=known,
            database_bytes=size,
        )
        for cluster, (known, size, counts) in zip(clusters, warmed, strict=True)
    ]


def _warm(
    cluster: Cluster, shared_buffers: int, scenario: Scenario, topology: Topology | None
) -> tuple[dict[str, str], int, dict[str, float]]:
    """Warm the server if its data fits shared_buffers; return settings, data size and counters.

    In a memory limit it has to read *medium* data into the page cache itself.
    """
    with cluster.connect() as connection:
        if cluster.memory_limit is not None and scenario.tier is Tier.MEDIUM:
            cache_files(connection, scenario.indexes)
        known, size = settings(connection), database_bytes(connection)
        if size >= shared_buffers:
            return known, size, {}
        fetched = database_counter(connection, "tup_fetched")
        indexes = [
            (part, key, other)
            for table, key, other in scenario.indexes
            for part in parts_of(table, topology, connection)
        ]
        return known, size, {"tup_fetched": fetched + warm(connection, indexes)}


def observed(
    clusters: Sequence[Cluster], began: Sequence[WarmupResult], transactions: int
) -> list[Observation]:
    """Return what happened on each of *clusters* since *began*, with so many *transactions*."""
    done = began[0].before.count("xact_commit") + transactions
    least = [{"xact_commit": done}, *({} for _ in clusters[1:])]
    return [
        between(one.before, snapshot(cluster, at_least=counts, residents=len(clusters) > 1))
        for cluster, one, counts in zip(clusters, began, least, strict=True)
    ]


def across(
    topology: Topology | None, first: Cluster, observations: Sequence[Observation]
) -> dict[str, Any] | None:
    """Return what the record says of *topology*: what it is, and what each of its servers did."""
    if topology is None:
        return None
    with first.connect() as connection:
        facts = topology_facts(topology, connection)
    shares = [
        {
            "name": name,
            "cpu_seconds": seen.server_cpu_seconds,
            **{key: getattr(seen, key) for key in ("wal_bytes", "blocks_hit", "blocks_read")},
        }
        for name, seen in zip(topology.servers, observations, strict=True)
    ]
    return {**facts, "servers": shares}
