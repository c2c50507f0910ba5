"""What files are seen to be, without reading them: which of many thousands are still the same."""

from __future__ import annotations

import os
from pathlib import Path

Seen = tuple[int, int]
"""Size and time of change (ns) of a file: another one is another file."""

MACHINE_FILE = "machine.json"


def seen(path: Path | os.DirEntry[str]) -> Seen:
    """What the file at *path* is seen to be."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def result_files(results: Path) -> dict[str, Seen]:
    """asv's result files below *results* by their names (MACHINE/FILE), in asv's order."""
    found = {}
    for directory in results.glob("*/"):
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith(".json") and entry.name != MACHINE_FILE:
                    found[f"{directory.name}/{entry.name}"] = seen(entry)
    return dict(sorted(found.items()))
