"""The servers of one run: one, or those of a topology."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from base.build import Build
from benchmarks.server.cluster import Cluster
from benchmarks.server.endpoint import DATABASE
from benchmarks.server.home import ServerHome
from benchmarks.server.topology import Topology, places


@contextmanager
def serving(
    home: ServerHome,
    *,
    build: Build,
    data: Path,
    topology: Topology | None,
    settings: Mapping[str, str],
    keep: bool,
    memory_limit: int | None = None,
    confined: bool = False,
    database: str = DATABASE,
) -> Iterator[tuple[Cluster, ...]]:
    """Yield the servers of *build* on *data*, each with a run directory of its own; see Cluster.

    The first is the one that clients talk to. It is started last, and stopped first.
    """
    given = dict(settings)
    with ExitStack() as stack:
        servers = tuple(
            Cluster(
                build=build,
                data=place,
                run=stack.enter_context(home.run_directory()),
                settings=given | (topology.settings(given) if topology else {}),
                keep=keep,
                memory_limit=memory_limit,
                beside=topology is not None,
                confined=confined,
                database=database,
            )
            for place in places(topology, data)
        )
        for server in reversed(servers):
            stack.enter_context(server)
        yield servers
