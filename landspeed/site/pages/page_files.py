"""Data files of the pages, written only where they change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from base.files import canonical_json, write_atomic


def json_file(value: object) -> str:
    """Return the text of a data file; equal values give equal text."""
    return canonical_json(value) + "\n"


def sync(files: Mapping[str, str | Path], root: Path) -> tuple[int, int]:
    """Make *files* the only files below *root*; leave equal files untouched.

    *files* has by path the text of a file, or the path of another file to copy.

    Return the number of files written and removed.
    """
    written = 0
    for name, source in files.items():
        path = root / name
        data = source.read_bytes() if isinstance(source, Path) else source.encode()
        if not path.is_file() or path.read_bytes() != data:
            write_atomic(path, data, durable=False)
            written += 1
    stale = [path for path in root.rglob("*") if path.is_file() and _name(path, root) not in files]
    for path in stale:
        path.unlink()
    return written, len(stale)


def _name(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()
