"""Time and memory of ``publish``, ``changes`` and ``farm plan`` on a year of records.

``python -m perf.year`` makes up a million runs: 2,084 commits in 60 cells, eight runs of each. The
records are always the same, and lack the texts that these commands do not read.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

from builders.catalog import Catalog
from perf.figure import Figure
from perf.publish_one import CELLS, World

RUNS = 8
COMMITS_PER_SEGMENT = 8
COMMANDS = {
    "publish": ("publish",),
    "publish again": ("publish",),
    "changes": ("changes",),
    "farm plan": ("farm", "plan"),
}


def main() -> None:
    """Print the figures of each command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000)
    count = -(-parser.parse_args().runs // (RUNS * len(CELLS)))
    with tempfile.TemporaryDirectory(prefix="landspeed-year-") as name:
        world, commits = World.make(Path(name), count, RUNS)
        for first in range(0, count, COMMITS_PER_SEGMENT):
            world.add(commits[first : first + COMMITS_PER_SEGMENT], first)
        upstream = world.root / "plain.git"
        newest = str(Catalog.load().newest_stable().version)
        tag = f"REL_{newest.replace('.', '_')}"  # of the release whose pgbench measures
        subprocess.run(["git", f"--git-dir={upstream}", "tag", tag, "master"], check=True)
        os.environ["LANDSPEED_UPSTREAM"] = str(upstream)
        for command, arguments in COMMANDS.items():
            cost = world.landspeed(*arguments)
            Figure(
                figure=f"peak memory of {command} on {count * RUNS * len(CELLS)} runs",
                value=round(cost.peak / 1e6),
                unit="MB",
                goal="<= 1000",
                beside=f"{cost} of {count} commits",
            ).show()


if __name__ == "__main__":
    main()
