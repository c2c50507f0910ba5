"""What it costs to look and find nothing: track.yml, as it is, under act, with nothing new.

``python -m perf.track``; needs act on PATH. Servers are made up, all else is real.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from perf.figure import Figure
from tests.farm_kit import Farm
from tests.pretended_farm import command
from tests.track_kit import tracked

TRACK = """branches = ["master"]
releases = ""
modes = ["read-only"]"""


def main(commits: int) -> None:
    """Print the figures of a farm that has measured all of *commits* commits."""
    with tempfile.TemporaryDirectory(prefix="landspeed-track-") as name:
        root = Path(name)
        farm = Farm.make(root / "farm", commits=0)
        for number in range(commits):
            farm.commit(f"commit {number}")
        world = json.dumps({"log": str(root / "log"), "costs": {"2": 1.01}})
        with tracked(root, farm.upstream.directory, command(), TRACK) as made:
            made.hub.environment |= {"LANDSPEED_CACHE": ".cache", "LANDSPEED_TEST_WORLD": world}
            first = made.track()
            if first.code:
                sys.exit(first.told())
            before = len(made.api.calls)
            began = time.monotonic()
            second = made.track()
            seconds = time.monotonic() - began
            if second.jobs != {"plan": "success", "report": "success"}:
                sys.exit(second.told())
            calls = len(made.api.calls) - before
    Figure(
        figure="track with nothing new, from plan to end",
        value=round(seconds, 1),
        unit="s",
        beside=f"{commits} commits, under act, two jobs one after the other",
    ).show()
    Figure(figure="track with nothing new, API calls", value=calls, unit="", goal="<= 10").show()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
