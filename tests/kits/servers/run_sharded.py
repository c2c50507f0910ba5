"""One long Run across two workers in a process of its own, for a test that kills it.

Usage: python -m tests.kits.servers.run_sharded CACHE PGBENCH_PREFIX PG_CONFIG
"""

from __future__ import annotations

import sys
from pathlib import Path

from base.build import Build
from base.paths import Paths
from builders.external import inspect
from tests.benchmarks.test_sharded import Kit, cell_of, script


def main() -> None:
    cache, client, pg_config = sys.argv[1:]
    paths = Paths(cache=Path(cache), project=Path(cache))
    build = inspect(pg_config, "sharded")
    kit = Kit(paths=paths, build=build, client=Build.load(Path(client)))
    kit.run(cell_of(script(writes=True)), seconds=60)


if __name__ == "__main__":
    main()
