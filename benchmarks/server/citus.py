"""Make one database of several servers with the extension Citus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg

from base.errors import ClusterError
from benchmarks.server.home import PORT
from benchmarks.server.topology import COORDINATOR, EXTENSION, HERE, Topology


def introduce(topology: Topology, connections: Mapping[str, psycopg.Connection[Any]]) -> None:
    """Make one database of fresh servers, by a connection to each; ClusterError if Citus cannot."""
    try:
        for connection in connections.values():
            connection.execute(f"CREATE EXTENSION {EXTENSION}".encode())
        coordinator = connections[COORDINATOR]
        ask = "SELECT citus_set_coordinator_host(%s, %s)"
        coordinator.execute(ask, [_host(COORDINATOR), PORT])
        for name in topology.servers[1:]:
            coordinator.execute("SELECT citus_add_node(%s, %s)", [_host(name), PORT])
    except psycopg.Error as error:
        raise ClusterError(
            f"{EXTENSION} made no database of a coordinator and {topology.workers} workers",
            detail=str(error).strip(),
        ) from error


def distribute(connection: psycopg.Connection[Any], statements: str) -> None:
    """Distribute the tables as *statements* do, by a *connection* to the coordinator.

    ClusterError if Citus cannot.
    """
    try:
        connection.execute(statements.encode())
    except psycopg.Error as error:
        raise ClusterError(
            "the tables of the script could not be distributed",
            detail=str(error).strip(),
            hint="Every primary key has to hold the column that its table is distributed by.",
        ) from error


def topology_facts(topology: Topology, connection: psycopg.Connection[Any]) -> dict[str, Any]:
    """Return what the raw record says of *topology*, by a *connection* to the coordinator."""
    row = connection.execute(
        "SELECT citus_version(), count(*), count(DISTINCT logicalrelid) FROM pg_dist_shard"
    ).fetchone()
    said, shards, tables = row or ("", 0, 0)
    return {
        "name": topology.name,
        "workers": topology.workers,
        "extension": said.partition(" on ")[0],
        "tables": tables,
        "shards": shards,
    }


def parts_of(
    table: str, topology: Topology | None, connection: psycopg.Connection[Any]
) -> list[str]:
    """Return what has the rows of *table* on the server at *connection*: its shards, if any."""
    if topology is None:
        return [table]
    # a worker hides them from whoever does not ask
    connection.execute("SET citus.override_table_visibility = off")
    rows = connection.execute(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ %s ORDER BY 1",
        [f"^{table}_[0-9]+$"],
    ).fetchall()
    return [name for (name,) in rows]


def _host(name: str) -> str:
    """Where any server finds the socket of the one called *name*."""
    return f"{HERE}/../{name}"
