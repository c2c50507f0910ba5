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

from base.build import Build

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
