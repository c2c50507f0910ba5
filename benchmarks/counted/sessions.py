"""Count whole sessions: all that a backend executes from its fork to its end.

callgrind gives a forked process the counts of the postmaster so far. At the entry of FORKED they
are set back to zero; what was executed between the fork and that call is a few instructions.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.callgrind import Profile
from benchmarks.counted.series import CountedSeries
from benchmarks.counted.server import CountedServer, execute
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.scenario import Scenario

FORKED = "ClosePostmasterPorts"
"""The function that every process calls first after its fork, from 8.3 to current."""


def count_sessions(
    server: CountedServer, pgbench: Pgbench, scenario: Scenario, workload: Workload
) -> tuple[tuple[str, ...], list[CountedSeries]]:
    """Execute *workload* on *server*, a session each time; return the command line and the series.

    The first sessions only warm what sessions share.
    """
    first, number = workload.lengths
    with server.relayed() as relay:
        argv = execute(pgbench, scenario, workload, number, host=relay.host, run=server.run)
    return argv, sessions(
        [server.parts(backend)[0] for backend in relay.backends[first - number :]]
    )


def sessions(texts: Sequence[str]) -> list[CountedSeries]:
    """Return two series of sessions, each after an empty one, from callgrind's output of each.

    They are of every other session, so a cost that grows with their number is in both.
    """
    profiles = [Profile.parse(text) for text in texts]
    halves = [[], profiles[::2], [], profiles[1::2]]
    return [_series(half) for half in halves]


def _series(profiles: Sequence[Profile]) -> CountedSeries:
    return CountedSeries.of(Profile.sum(profiles), executions=len(profiles))
