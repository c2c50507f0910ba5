"""The union of two directories of results: afterwards one has what either had.

Records, notes and profiles never change, so they merge by copying. The journal of a bisection
grows: one that continues ours replaces it. Machines that search at once have a journal each. A file
is checked before it enters; what is not valid is set aside with a warning, and stops nothing else.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from base.errors import LandspeedError, RecordError, reason
from base.files import digest_file, warn_set_aside, write_atomic
from base.paths import MACHINE
from benchmarks.counted.profiles import read_profile
from benchmarks.records.identical_builds import FailedBuild, IdenticalBuild
from benchmarks.records.notes import NoteStore, read_note
from benchmarks.records.record import ID
from benchmarks.records.segments import check_segment
from benchmarks.records.signatures import SIGNATURES, Signature
from benchmarks.records.store import check_loose
from landspeed.bisect.journal import ATLAS, BISECTIONS, read_journal
from landspeed.bisect.note import BisectionNote
from landspeed.changepoints.changepoint import Confirmation
from landspeed.results.queue import Queue

RECORDS, ASIDE, RETIRED = "records", "aside", "retired"
JOURNALS = (BISECTIONS, ATLAS)


def _retirable(name: str) -> str:
    if kind_of(name) in (None, RETIRED):
        raise ValueError(f"it retires {name!r:.100}")
    return name


@dataclass(frozen=True, kw_only=True)
class Tombstone:
    """A content of the shared ``file`` that must not come back, and the reason."""

    file: Annotated[str, AfterValidator(_retirable)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    reason: str = ""
    time: str = ""


NOTES: Mapping[str, type] = {
    "twins": IdenticalBuild,
    "confirmations": Confirmation,
    "bisections": BisectionNote,
    "failures": FailedBuild,
    "queues": Queue,
    SIGNATURES: Signature,
    RETIRED: Tombstone,
}
"""The type of the notes of each kind, which is the name of their directory."""

# No part begins with a dot, as caches, locks and unfinished files do, and none leads elsewhere.
_NAME = re.compile(
    rf"{RECORDS}/(segments)/{MACHINE}/\d{{4}}-\d\d/[0-9a-f]{{32}}\.parquet"
    rf"|{RECORDS}/({'|'.join(NOTES)})/[0-9a-f]{{32}}\.json"
    rf"|{RECORDS}/(profiles)/{ID}\.json\.gz"
    rf"|({'|'.join(JOURNALS)})/[A-Za-z0-9@_][A-Za-z0-9@._+-]{{0,199}}\.json"
)

Accept = Callable[[Path, str], None]
"""Raises RecordError if the file at a path may not become the shared file of a name."""


def kind_of(name: str) -> str | None:
    """Return the kind of the shared file *name*, relative to a directory of results; else None."""
    match = _NAME.fullmatch(name)
    return next(filter(None, match.groups())) if match else None


def is_result(name: str) -> bool:
    """Return whether *name*, relative to a directory of results, is a file that machines share."""
    return kind_of(name) is not None


def is_journal(name: str) -> bool:
    """Return whether *name* is the journal of a bisection, the one kind of file that grows."""
    return kind_of(name) in JOURNALS


def result_files(results: Path) -> Iterator[str]:
    """Yield the names of the shared files below *results*, sorted; unsealed records are none."""
    for directory in (*JOURNALS, *(f"{RECORDS}/{kind}" for kind in ("profiles", *NOTES))):
        yield from _shared(results, (results / directory).glob("*"))
    yield from _shared(results, (results / RECORDS / "segments").glob("*/*/*"))


def _shared(results: Path, found: Iterator[Path]) -> Iterator[str]:
    for path in sorted(found):
        name = path.relative_to(results).as_posix()
        if is_result(name) and path.is_file():
            yield name


def check_result(results: Path, name: str, *, rows: bool = True) -> None:
    """RecordError unless the shared file *name* of *results* is valid, and in its place.

    Without *rows* the texts of sealed records are not read.
    """
    path, kind = results / name, kind_of(name)
    match kind:
        case "segments":
            check_segment(path, rows=rows)
        case "profiles":
            read_profile(path)
        case str() if kind in JOURNALS:
            read_journal(path)
        case str():
            read_note(path, NOTES[kind])
        case None:
            raise RecordError(f'"{name}" is not a file of results')


def merge_results(
    other: Path, results: Path, *, rows: bool = True, accept: Accept | None = None
) -> int:
    """Add the results at *other* to *results*; return the number of new files.

    Nothing in *results* changes but a journal that is continued there. A file that is not valid,
    or that *accept* refuses, is set aside with a warning.
    """
    new, retired = 0, retired_files(results)
    for name in result_files(other):
        source, target = other / name, results / name
        try:
            if target.exists() and not (is_journal(name) and continues(source, target)):
                continue
            if name in retired and digest_file(source) in retired[name]:
                continue
            check_result(other, name, rows=rows)
            if accept:
                accept(source, name)
            write_atomic(target, source.read_bytes())
            new += 1
        except RecordError as error:
            warn_set_aside(results / ASIDE / name, error)
            write_atomic(results / ASIDE / name, source.read_bytes(), durable=False)
    _move_retired(results)
    return new


def merge_new(other: Path, results: Path) -> int:
    """Do `merge_results` for the files whose names *results* lacks: it reads no others."""
    wanted = wanted_files(result_files(other), results)
    if not wanted:
        return 0
    with tempfile.TemporaryDirectory(prefix="landspeed-results-") as scratch:
        for name in wanted:
            (Path(scratch) / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(other / name, Path(scratch) / name)
        return merge_results(Path(scratch), results, rows=False)


def wanted_files(names: Iterator[str], results: Path) -> list[str]:
    """Return which of *names* may be new to *results*: those it lacks, and journals."""
    known = {*result_files(results), *retired_files(results)}
    return [name for name in names if name not in known or is_journal(name)]


def sound_files(results: Path, names: Iterable[str]) -> list[str]:
    """Return those of the files *names* of *results* that are valid; warn of the others."""
    found = []
    for name in names:
        try:
            check_result(results, name)
            found.append(name)
        except RecordError as error:
            warn_set_aside(results / name, error)
    return found


def is_continued(results: Path, other: Path, name: str) -> bool:
    """Return whether the journal *name* of *results* continues that of *other*; warn if invalid."""
    try:
        return continues(results / name, other / name)
    except RecordError as error:
        warn_set_aside(results / name, error)
        return False


def contents(results: Path) -> dict[str, int]:
    """Return the number of events in each journal below *results*, and 0 for all other files."""
    return {
        name: _events(results / name) if is_journal(name) else 0 for name in result_files(results)
    }


def missing_from(known: Mapping[str, int], results: Path) -> list[str]:
    """Return the files of *results* that *known*, some `contents`, lacks or has with less."""
    return [name for name, events in contents(results).items() if known.get(name, -1) < events]


def continues(longer: Path, path: Path) -> bool:
    """Return whether the journal *longer* has all events of the one at *path*, and more.

    A damaged journal at *path* is continued by any. RecordError if *longer* is damaged, or has
    other events.
    """
    inputs, events = read_journal(longer)
    try:
        ours, known = read_journal(path)
    except RecordError:
        return True
    shared = min(len(events), len(known))
    if inputs != ours or events[:shared] != known[:shared]:
        raise RecordError(
            "two journals of one bisection differ",
            detail=f'It does not continue "{path}".',
            hint="Keep one of them; the runs of both are in the records.",
        )
    return len(events) > len(known)


def damaged_files(results: Path) -> dict[str, str]:
    """Return what is wrong with each damaged file below *results*, and each that was refused."""
    found = {}
    for name in result_files(results):
        try:
            check_result(results, name)
        except RecordError as error:
            found[name] = reason(error)
    for path in sorted((results / RECORDS / "loose").glob("[!.]*.json")):
        try:
            check_loose(path)
        except RecordError as error:
            found[path.relative_to(results).as_posix()] = reason(error)
    aside, retired = results / ASIDE, retired_files(results)
    for name in result_files(aside):
        is_retired = digest_file(aside / name) in retired.get(name, ())
        if not is_retired and not (results / name).exists():
            found[name] = "It was refused when it should have entered."
    return found


def retire(results: Path, name: str, reason: str) -> None:
    """Move the file *name* of *results* aside for good; a tombstone tells all machines.

    A loose record has none: no other machine has it.
    """
    if not is_result(name):
        _move_aside(results, name)
        return
    path = next(one for one in (results / name, results / ASIDE / name) if one.exists())
    _tombstones(results).add(
        Tombstone(
            file=name,
            sha256=digest_file(path),
            reason=reason[:500],
            time=datetime.now(UTC).isoformat(timespec="seconds"),
        )
    )
    _move_retired(results)


def retired_files(results: Path) -> dict[str, set[str]]:
    """Return the digests of the contents that were retired, by the file's name."""
    found: dict[str, set[str]] = {}
    for one in _tombstones(results).read(Tombstone):
        found.setdefault(one.file, set()).add(one.sha256)
    return found


def _tombstones(results: Path) -> NoteStore:
    return NoteStore(root=results / RECORDS / RETIRED)


def _move_retired(results: Path) -> None:
    for name, digests in retired_files(results).items():
        if (results / name).exists() and digest_file(results / name) in digests:
            _move_aside(results, name)


def _move_aside(results: Path, name: str) -> None:
    if (results / name).exists():
        (results / ASIDE / name).parent.mkdir(parents=True, exist_ok=True)
        (results / name).replace(results / ASIDE / name)


def _events(path: Path) -> int:
    """Return the number of events in the journal at *path*; -1 if it is damaged."""
    try:
        return len(read_journal(path)[1])
    except LandspeedError as error:
        warn_set_aside(path, error)
        return -1
