"""CPU seconds of commands that have nothing to do, compared with those of Python alone.

``python -m perf.start``, in a project without records.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from perf.figure import Figure, cpu_seconds

_TIMES = 5
_VERBS = (("--help",), ("list", "--json"), ("plan", "18", "--json"))


def main() -> None:
    """Print the figures."""
    with TemporaryDirectory(prefix="landspeed-start-") as scratch:
        project = Path(scratch)
        (project / "asv.conf.json").write_text("{}")
        (project / "landspeed.toml").write_text("[sources]\norder = []\n")
        alone = _cost(project, ("-c", "pass"))
        for verb in _VERBS:
            Figure(
                figure=f"landspeed {' '.join(verb)}",
                value=round(_cost(project, ("-m", "landspeed.cli.main", *verb)), 3),
                unit="CPU s",
                beside=f"python -c pass: {alone:.3f} CPU s; medians of {_TIMES}",
            ).show()


def _cost(project: Path, arguments: Sequence[str]) -> float:
    """The median of the CPU seconds that Python takes with *arguments* in *project*."""
    own = {"LANDSPEED_PROJECT": str(project), "LANDSPEED_CACHE": str(project / "cache")}
    took = []
    for _ in range(_TIMES):
        before = cpu_seconds()
        subprocess.run(
            [sys.executable, *arguments],
            env=os.environ | own,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        took.append(cpu_seconds() - before)
    return median(took)


if __name__ == "__main__":
    main()
