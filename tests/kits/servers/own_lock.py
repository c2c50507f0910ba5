"""``landspeed`` with a measuring lock of its own: it neither waits for the machine nor refuses.

For tests of mechanisms, whose numbers may be worse for it. The lock is $LANDSPEED_TEST_LOCK.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.machine import lock
from landspeed.cli.main import main as landspeed


def main() -> None:
    """``landspeed``, which measures whatever else does."""
    lock.MEASURE_LOCK = Path(os.environ["LANDSPEED_TEST_LOCK"])
    landspeed()
