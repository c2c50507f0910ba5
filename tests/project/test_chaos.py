"""A few rounds of ``make chaos`` without servers: commands that are killed lose nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_nothing_is_lost_when_commands_are_killed_while_the_disk_fills():
    argv = [sys.executable, "-m", "tests.kits.chaos", "--made-up", "--rounds", "3"]
    done = subprocess.run(argv, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["value"], told["unit"]) == (0, "losses")
    assert "killed in" in told["beside"]
