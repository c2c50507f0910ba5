"""All figures, one JSON line each: ``make perf``. About two hours on two cores."""

from __future__ import annotations

import subprocess
import sys

_MODULES = (
    ("perf.start",),
    ("perf.builds.build_cost",),
    ("perf.builds.walk",),
    ("perf.builds.build_set",),
    ("perf.harness_share",),
    ("perf.observing",),
    ("perf.records_year",),
    ("perf.publish_one", "--year"),
    ("perf.comparison",),
    ("perf.detector",),
    ("perf.bisect",),
    ("perf.track",),
    ("perf.publish_one", "--results", "10000"),
    ("perf.workloads.heat_map",),
    ("perf.workloads.suite",),
    ("perf.second_demo",),
)


def main() -> int:
    """Run each figure's module; 1 if one of them failed, after all have run."""
    codes = [
        subprocess.run([sys.executable, "-m", *module], check=False).returncode
        for module in _MODULES
    ]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
