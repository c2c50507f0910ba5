"""Functions of PostgreSQL that its regression tests do not execute: of 18.6, as measured once."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

UNREACHED = Path(__file__).with_name("unreached.txt.gz")
"""A line for each C file: its path and the functions in it that ``make check`` does not execute.

``python -m perf.workloads.unreached`` writes it. What a later version added counts as reachable.
"""


def unreached(path: str) -> frozenset[str]:
    """Return the functions in the C file at *path* that the regression tests do not execute."""
    return _all().get(path, frozenset())


@cache
def _all() -> dict[str, frozenset[str]]:
    lines = (line.split() for line in gzip.decompress(UNREACHED.read_bytes()).decode().splitlines())
    return {path: frozenset(names) for path, *names in lines}
