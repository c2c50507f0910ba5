"""The union of two directories of results: afterwards one has what either had.

Records, notes and profiles never change, so they merge by copying. The journal of a bisection
grows: of two journals with one name, the one with more events stays.
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
_SHARED = (
    *(f"{RECORDS}/{kind}" for kind in ("segments", "twins", "confirmations", "bisections")),
    *(f"{RECORDS}/{kind}" for kind in ("failures", "profiles")),
    JOURNALS,
)
# No part begins with a dot, as caches, locks and unfinished files do, and none leads elsewhere.
_PART = r"[A-Za-z0-9@_][A-Za-z0-9@._+-]*"
_NAME = re.compile(rf"(?:{'|'.join(map(re.escape, _SHARED))})(?:/{_PART}){{1,4}}")
_SUFFIXES = (".parquet", ".json", ".json.gz")


def is_result(name: str) -> bool:
    """Return whether *name*, relative to a directory of results, is a file that machines share."""
    return _NAME.fullmatch(name) is not None and name.endswith(_SUFFIXES)


def is_journal(name: str) -> bool:
    """Return whether *name* is the journal of a bisection, the one kind of file that grows."""
    return name.startswith(f"{JOURNALS}/")


def result_files(results: Path) -> Iterator[str]:
    """Yield the names of the shared files below *results*, sorted; unsealed records are none."""
    for directory in _SHARED:
        for path in sorted((results / directory).rglob("*")):
            name = path.relative_to(results).as_posix()
            if is_result(name) and path.is_file():
                yield name


def merge_results(other: Path, results: Path) -> int:
    """Add the results at *other* to *results*; return the number of new files.

    Nothing in *results* changes but a journal with fewer events. RecordError for a damaged file.
    """
    copied = RecordStore(results / RECORDS).merge(other / RECORDS)
    for path in sorted((other / JOURNALS).glob("*.json")):
        target = results / JOURNALS / path.name
        if is_result(f"{JOURNALS}/{path.name}") and _events(path) > _events(target):
            write_atomic(target, path.read_bytes())
            copied += 1
    return copied


def merge_new(other: Path, results: Path) -> int:
    """Do `merge_results` for the files whose names *results* lacks: it reads no others."""
    ours = set(result_files(results))
    wanted = [name for name in result_files(other) if name not in ours or is_journal(name)]
    if not wanted:
        return 0
    with tempfile.TemporaryDirectory(prefix="landspeed-results-") as scratch:
        for name in wanted:
            (Path(scratch) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(other / name, Path(scratch) / name)
        return merge_results(Path(scratch), results)


def contents(results: Path) -> dict[str, int]:
    """Return the number of events in each journal below *results*, and 0 for all other files."""
    return {
        name: _events(results / name) if is_journal(name) else 0 for name in result_files(results)
    }


def missing_from(known: Mapping[str, int], results: Path) -> list[str]:
    """Return the files of *results* that *known*, some `contents`, lacks or has with less."""
    return [name for name, events in contents(results).items() if known.get(name, -1) < events]


def _events(path: Path) -> int:
    """Return the number of events in the journal at *path*; -1 if there is none."""
    try:
        return len(json.loads(path.read_text())["events"])
    except FileNotFoundError:
        return -1
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f'could not read the bisection "{path}"', detail=repr(error)) from error
