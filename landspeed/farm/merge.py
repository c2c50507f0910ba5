"""The union of two directories of results: what is in either is in both afterwards, nothing lost.

Records, notes and profiles never change, so they merge by copying. The Journal of a bisection
grows: of two that are called the same the one that has seen more is kept.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from base.errors import RecordError
from base.files import write_atomic
from benchmarks.records.store import RecordStore

RECORDS, JOURNALS = "records", "bisect"
_KEPT = (
    *(f"{RECORDS}/{kind}" for kind in ("segments", "twins", "confirmations", "bisections")),
    *(f"{RECORDS}/{kind}" for kind in ("failures", "profiles")),
    JOURNALS,
)
# Nothing that begins with a dot (caches, locks, half-written files), nothing that leads elsewhere.
_PART = r"[A-Za-z0-9@_][A-Za-z0-9@._+-]*"
_NAME = re.compile(rf"(?:{'|'.join(map(re.escape, _KEPT))})(?:/{_PART}){{1,4}}")
_SUFFIXES = (".parquet", ".json", ".json.gz")


def is_kept(name: str) -> bool:
    """Whether *name*, relative to the results, is a file that is kept for ever and everywhere."""
    return _NAME.fullmatch(name) is not None and name.endswith(_SUFFIXES)


def is_journal(name: str) -> bool:
    """Whether *name* is the Journal of a bisection, the one kind of file that grows."""
    return name.startswith(f"{JOURNALS}/")


def kept_files(results: Path) -> Iterator[str]:
    """The names of all files below *results* that are kept, sorted; loose records are not."""
    for directory in _KEPT:
        for path in sorted((results / directory).rglob("*")):
            name = path.relative_to(results).as_posix()
            if is_kept(name) and path.is_file():
                yield name


def unite(other: Path, results: Path) -> int:
    """Add everything of the results at *other* to *results*; how many files were new.

    RecordError for what is damaged there; nothing that is here is changed, but for a Journal
    that has seen less.
    """
    copied = RecordStore(results / RECORDS).merge(other / RECORDS)
    for path in sorted((other / JOURNALS).glob("*.json")):
        if is_kept(f"{JOURNALS}/{path.name}"):
            copied += _take_journal(path, results / JOURNALS / path.name)
    return copied


def unite_new(other: Path, results: Path) -> int:
    """`unite` of what *results* does not have by name: what it has is not read again there."""
    ours = set(kept_files(results))
    wanted = [name for name in kept_files(other) if name not in ours or is_journal(name)]
    if not wanted:
        return 0
    with tempfile.TemporaryDirectory(prefix="landspeed-results-") as scratch:
        for name in wanted:
            (Path(scratch) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(other / name, Path(scratch) / name)
        return unite(Path(scratch), results)


def unknown(results: Path, known: Mapping[str, int]) -> list[str]:
    """The kept files of *results* that are not *known* by name (see `contents`), or went on."""
    return [name for name, events in contents(results).items() if known.get(name, -1) < events]


def contents(results: Path) -> dict[str, int]:
    """The kept files of *results*, and how much each has seen: of a Journal its events, else 0."""
    return {
        name: _events(results / name) if is_journal(name) else 0 for name in kept_files(results)
    }


def _take_journal(source: Path, target: Path) -> int:
    if _events(source) <= _events(target):
        return 0
    write_atomic(target, source.read_bytes())
    return 1


def _events(path: Path) -> int:
    """How much the Journal at *path* has seen; -1 if there is none."""
    try:
        return len(json.loads(path.read_text())["events"])
    except FileNotFoundError:
        return -1
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f'could not read the bisection "{path}"', detail=repr(error)) from error
