"""How many servers a Run has: one, or a coordinator and workers that Citus makes one database of.

All are of one Build, on one machine, and reach each other on Unix sockets. Where a server lies
is another place in each Run, and Citus keeps the addresses of all in their catalogs; but how one
gets from one's own data directory to a neighbour's is always the same, and a server works in its
data directory. So each has a socket there, and is called by that way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from base.build import Build
from base.errors import ClusterError
from benchmarks.server.home import PORT

EXTENSION = "citus"
COORDINATOR = "coordinator"

_LIBRARIES = "shared_preload_libraries"
# libpq takes a host that begins with a slash for the directory of a socket; see proc_pid_cwd(5).
HERE = "/proc/self/cwd"


@dataclass(frozen=True, kw_only=True)
class Topology:
    """A coordinator, which clients talk to, and ``workers``, which hold the data.

    No Topology is one server.
    """

    name: str
    workers: int

    @property
    def servers(self) -> tuple[str, ...]:
        """What its servers are called, the coordinator first; so are their data directories."""
        return (COORDINATOR, *(f"worker-{number}" for number in range(1, self.workers + 1)))

    def settings(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return what each server is told besides the settings that are *given*."""
        libraries = (EXTENSION, given.get(_LIBRARIES, ""))
        return {
            # Citus wants to be the first
            _LIBRARIES: ",".join(filter(None, libraries)),
            "citus.local_hostname": HERE,
            # no measured server calls home
            "citus.enable_statistics_collection": "off",
        }


TOPOLOGIES: Mapping[str, Topology] = {
    topology.name: topology
    for topology in (Topology(name=f"{n}-workers", workers=n) for n in (2, 4))
}


def server_count(topology: str | None) -> int:
    """Return how many servers a Run has under *topology*, None for one."""
    return len(TOPOLOGIES[topology].servers) if topology else 1


def places(topology: Topology | None, data: Path) -> tuple[Path, ...]:
    """Return the data directories of all servers, where *data* is the only one's or holds them."""
    return tuple(data / name for name in topology.servers) if topology else (data,)


def topology_reason(build: Build | None) -> str | None:
    """Return why *build* cannot be a coordinator or worker, and what would help; None if it can.

    None is what landspeed builds: a server, and no extensions.
    """
    external = build.external if build else None
    if external and Path(external.sharedir, "extension", f"{EXTENSION}.control").is_file():
        return None
    return (
        f"its build has no extension {EXTENSION}: install Citus for it and register it: "
        "landspeed build --from PG_CONFIG --name NAME"
    )


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
