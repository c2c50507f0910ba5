"""Size and time of change of files: which of thousands are unchanged, without reading them."""

from __future__ import annotations

import os
from pathlib import Path

FileStat = tuple[int, int]
"""Size in bytes and time of change in ns. A file with another one counts as changed."""

MACHINE_FILE = "machine.json"


def file_stat(path: Path | os.DirEntry[str]) -> FileStat:
    """Return the FileStat of the file at *path*."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def result_files(results: Path) -> dict[str, FileStat]:
    """Return asv's result files below *results* by name (MACHINE/FILE), sorted by name."""
    found = {}
    for directory in results.glob("*/"):
        with os.scandir(directory) as entries:
            for entry in entries:
                if entry.name.endswith(".json") and entry.name != MACHINE_FILE:
                    found[f"{directory.name}/{entry.name}"] = file_stat(entry)
    return dict(sorted(found.items()))
