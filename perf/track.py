"""Time and API calls of the workflow track.yml under act when nothing is new.

``python -m perf.track``; needs act on PATH. The servers are simulated, all else is real.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from perf.figure import Figure, cpu_seconds
from tests.kits.farm.forked import forked
from tests.kits.farm.track_world import NOTHING_NEW, track_world


def main(commits: int) -> None:
    """Print the figures of a farm that has measured all of *commits* commits."""
    with (
        tempfile.TemporaryDirectory(prefix="landspeed-track-") as name,
        forked("tests.kits.farm.pretended_farm") as command,
        track_world(Path(name), command) as world,
    ):
        world.commit(commits)
        first = world.tracked.track()
        if first.code:
            sys.exit(first.told())
        before, cpu = len(world.tracked.api.calls), cpu_seconds()
        began = time.monotonic()
        second = world.tracked.track()
        seconds, cpu = time.monotonic() - began, cpu_seconds() - cpu
        if second.jobs != NOTHING_NEW:
            sys.exit(second.told())
        calls = len(world.tracked.api.calls) - before
    Figure(
        figure="track with nothing new, from plan to end",
        value=round(seconds, 1),
        unit="s",
        beside=f"{cpu:.1f} CPU s; {commits} commits, under act, two jobs one after the other",
    ).show()
    Figure(figure="track with nothing new, API calls", value=calls, unit="", goal="<= 10").show()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
