"""Data files of the pages, written only where they change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from base.files import canonical_json, write_atomic


def json_file(value: object) -> str:
    """Return the text of a data file; equal values give equal text."""
    return canonical_json(value) + "\n"


def sync(files: Mapping[str, str | Path], root: Path) -> None:
    """Make *files* the only files below *root*; leave equal files untouched.

    *files* has by path the text of a file, or the path of another file to copy.
    """
    for name, source in files.items():
        path = root / name
        data = source.read_bytes() if isinstance(source, Path) else source.encode()
        if not path.is_file() or path.read_bytes() != data:
            write_atomic(path, data, durable=False)
    there = {path for path in root.rglob("*") if path.is_file()}
    for path in there - {root / name for name in files}:
        path.unlink()
