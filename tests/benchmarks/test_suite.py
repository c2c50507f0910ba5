"""asv finds a benchmark for each metric of each mode, and of each family of workloads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.workloads.catalog import workloads
from benchmarks.workloads.metrics import METRICS, benchmark_name, group_of
from benchmarks.workloads.scenario import Mode

pytestmark = pytest.mark.slow

_LISTED = """
import json
from benchmarks import suite
print(json.dumps({f.benchmark_name: [f.param_names, f.params] for n, f in vars(suite).items()
                  if n.startswith("track_")}))
"""


def test_a_family_has_the_workloads_of_the_chosen_suite_as_a_parameter(tmp_path: Path) -> None:
    # The module reads its environment when it is imported.
    settings = {"LANDSPEED_SUITE": "standard", "LANDSPEED_PROJECT": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _LISTED],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=True,
    )
    exact = [one for one in METRICS if one.buffers == "warm"]
    for family in {group_of(one.name) for one in workloads()} - set(Mode):
        for metric in exact:
            assert f'"{benchmark_name(family, metric)}"' in done.stdout
    for mode in Mode:
        for metric in METRICS:
            name = benchmark_name(mode.value, metric)
            assert f'"{name}": [["protocol", "scale", "clients", "profile"]' in done.stdout
    start = '"joins.track_blocks": [["workload", "scale", "clients", "profile"], [['
    assert start in done.stdout
    assert '"sort-unique"' in done.stdout.partition(start)[2].partition("]")[0]
