"""A Counter for tests that count on real servers."""

from __future__ import annotations

import threading

from base.build import Build
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.count import Counter
from benchmarks.machine.machine import Machine


def counter(build: Build, pgbench: Build, paths: Paths) -> Counter:
    """Return what counts on *build*, driven by the pgbench of *pgbench*."""
    return Counter(
        build=build,
        pgbench=Pgbench(pgbench),
        machine=Machine.detect("here"),
        paths=paths,
        context={"preset": "test", "round": 1},
        stop=threading.Event(),
        at_once=2,
    )
