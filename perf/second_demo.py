"""Seconds of a second ``make demo``, which finds nothing to do.

``python -m perf.second_demo`` runs it once so that everything is there, and then times it.
"""

from __future__ import annotations

import subprocess
import time

from base.paths import Paths
from perf.figure import Figure


def main() -> None:
    """Print the figure."""
    argv = ["make", "demo"]
    project = Paths.find().project
    subprocess.run(argv, cwd=project, check=True, stdout=subprocess.DEVNULL)
    began = time.monotonic()
    done = subprocess.run(argv, cwd=project, check=True, capture_output=True, text=True)
    wall = time.monotonic() - began
    said = next(line for line in done.stderr.splitlines() if "runs measured" in line)
    Figure(
        figure="second make demo", value=round(wall, 1), unit="s", goal="< 30", beside=said.strip()
    ).show()


if __name__ == "__main__":
    main()
