"""One Run in a process of its own, for tests that kill it.

Usage: python -m tests.kits.servers.run_once CACHE PREFIX PGBENCH_PREFIX MODE SCALE SECONDS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from base.build import Build
from base.paths import Paths
from benchmarks.clients.pgbench import Pgbench
from benchmarks.machine.machine import Machine
from benchmarks.measure import measure
from benchmarks.workloads.scenario import Mode
from tests.kits.servers.cluster_kit import cell


def main() -> None:
    cache, prefix, client, mode, scale, seconds = sys.argv[1:]
    record = measure(
        build=Build.load(Path(prefix)),
        pgbench=Pgbench(Build.load(Path(client))),
        cell=cell(Mode(mode), scale=int(scale)),
        seconds=int(seconds),
        seed=1,
        machine=Machine.detect(),
        paths=Paths(cache=Path(cache), project=Path(cache)),
        context={},
    )
    print(json.dumps(record.to_json()))


if __name__ == "__main__":
    main()
