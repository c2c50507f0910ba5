"""Files of the pages: made of what is given, written only where they would change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from base.files import canonical_json, write_atomic


def json_file(value: object) -> str:
    """The text of a data file that says *value*; equal values, equal text."""
    return canonical_json(value) + "\n"


def sync(files: Mapping[str, str], root: Path) -> tuple[int, int]:
    """Make the files below *root* be *files* (path → text); how many were written and removed.

    A file that says the same already is left alone.
    """
    written = 0
    for name, text in files.items():
        path = root / name
        data = text.encode()
        if not path.is_file() or path.read_bytes() != data:
            write_atomic(path, data, durable=False)
            written += 1
    stale = [path for path in root.rglob("*") if path.is_file() and _name(path, root) not in files]
    for path in stale:
        path.unlink()
    return written, len(stale)


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
