"""The store of raw records: immutable, only ever added, merged by copying files.

A record is first a loose JSON file; ``seal`` packs loose files into Segments
and removes them only when the Segment is durable. Whatever a crash leaves in
both places is one record: readers go by its id. See docs/records.md.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from base.errors import RecordError, reason
from base.files import (
    locked,
    parse_json,
    read_json,
    remove_old,
    warn_set_aside,
    write_atomic,
)
from benchmarks.records.cache import cached_scalars, each_once
from benchmarks.records.columns import COLUMNS, require_sound, scalars
from benchmarks.records.notes import NoteStore
from benchmarks.records.record import Record
from benchmarks.records.segments import (
    SUFFIX,
    pack_segment,
    read_scalars,
    read_texts,
    sync_directory,
    write_segment,
)
from benchmarks.records.signatures import sign

PROFILES = "profiles"
"""The directory, beside the records, of what counted runs executed where, by record id."""

_LEFT_OVER_SECONDS = 3600.0


def new_id(moment: datetime | None = None) -> str:
    """Return a record's id: 12 hex digits of ms from 1970 to *moment* (now), and 20 random ones.

    The layout of a version 7 UUID (RFC 9562) without its fixed bits: ids sort by time.
    """
    seconds = time.time() if moment is None else moment.timestamp()
    return f"{int(seconds * 1000):012x}{secrets.token_hex(10)}"


@dataclass(frozen=True, kw_only=True)
class Sealed:
    """What one ``seal`` did: the segments written, and how many records are in them."""

    segments: tuple[Path, ...]
    records: int


class RecordStore:
    """A directory of raw records that any number of landspeed processes may add to."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._loose = root / "loose"
        self._segments = root / "segments"
        self.identical_builds = NoteStore(root=root / "twins")
        self.confirmations = NoteStore(root=root / "confirmations")
        self.bisections = NoteStore(root=root / "bisections")
        self.failures = NoteStore(root=root / "failures")
        self.queues = NoteStore(root=root / "queues")
        self.profiles = root / PROFILES
        self._read: tuple[list[Path], pa.Table] | None = None

    def add(self, record: Record) -> Path:
        """Keep *record* durably and return the path of its loose file.

        RecordError if it is not valid or its id is taken by another one.
        """
        facts = record.to_json()
        _require_record(facts)
        text = json.dumps(facts, separators=(",", ":"), ensure_ascii=False)
        path = self._loose / f"{record.id}.json"
        if path.exists():
            _require_same(path, text)
        else:
            write_atomic(path, text)
            sync_directory(self._loose)
        return path

    def seal(self) -> Sealed:
        """Pack every loose record into one Segment per machine and month.

        One landspeed seals at a time; others may add and read meanwhile.
        """
        segments: list[Path] = []
        count = 0
        with locked(self.root / ".seal.lock"):
            # of writers that were killed; a living one is done with its file in far less
            left_over = [*self._loose.glob(".*"), *self._segments.glob("*/*/.*")]
            remove_old(left_over, _LEFT_OVER_SECONDS)
            for directory, loose in self._by_directory().items():
                known = set(read_scalars(_segments_in(directory), ["id"])["id"].to_pylist())
                fresh = {i: text for i, (_, text) in loose.items() if i not in known}
                if fresh:
                    path, data = pack_segment(directory, fresh)
                    # first: what has a Segment is not sealed, so not signed, again
                    sign(self.root, [path])
                    write_segment(path, data)
                    segments.append(path)
                    count += len(fresh)
                for path, _ in loose.values():
                    path.unlink(missing_ok=True)
        return Sealed(segments=tuple(segments), records=count)

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the scalar columns (all, or those named) of every record, in id order."""
        wanted = [column.name for column in COLUMNS] if columns is None else list(columns)
        names = wanted if "id" in wanted else ["id", *wanted]
        # Loose first: what a seal moves meanwhile is then seen twice, never missed.
        loose = scalars(json.loads(text) for _, text in self._read_loose())
        sealed = self._sealed_scalars()
        if not loose.num_rows:
            return sealed.select(wanted)
        table = pa.concat_tables([sealed, loose]).select(names)
        return each_once(table.unify_dictionaries()).select(wanted)

    def get(self, id_prefix: str) -> Record:
        """Return the record whose id starts with *id_prefix*; RecordError unless it is one."""
        if not re.fullmatch(r"[0-9a-z]+", id_prefix):
            raise RecordError(f'"{id_prefix}" is not a record id')
        found = self._loose_texts(id_prefix)
        found |= self._sealed_texts(lambda ids: pc.starts_with(ids, id_prefix))
        if len(found) == 1:
            return _parsed(*found.popitem())
        if not found:
            raise RecordError(
                f'no record "{id_prefix}"',
                detail=f"No record in {self.root} has an id that starts like this.",
                hint='"landspeed show POINT" lists the records of a point.',
            )
        some = ", ".join(sorted(found)[:3])
        raise RecordError(
            f'"{id_prefix}" is ambiguous',
            detail=f"{len(found)} records have ids that start like this: {some} …",
            hint="Give more digits.",
        )

    def records(self, ids: Sequence[str]) -> Iterator[Record]:
        """Return the records with these *ids*, in id order.

        One that is missing or damaged is left out with a warning.
        """
        wanted = pa.array(ids, pa.string())
        texts = self._loose_texts()
        texts |= self._sealed_texts(lambda known: pc.is_in(known, value_set=wanted))
        for identifier in sorted(set(ids)):
            try:
                yield _parsed(identifier, texts.get(identifier, ""))
            except RecordError as error:
                warn_set_aside(self.root / identifier, error)

    def _sealed_scalars(self) -> pa.Table:
        paths = self._segment_paths()
        if self._read is None or self._read[0] != paths:  # Segments never change
            self._read = (paths, cached_scalars(self.root, paths))
        return self._read[1]

    def _segment_paths(self) -> list[Path]:
        return sorted(self._segments.glob(f"*/*/[!.]*{SUFFIX}"))

    def _read_loose(self, prefix: str = "") -> Iterator[tuple[Path, str]]:
        for path in sorted(self._loose.glob(f"{prefix or '[!.]'}*.json")):
            try:
                yield path, check_loose(path)
            except FileNotFoundError:
                continue  # sealed since it was listed
            except RecordError as error:
                warn_set_aside(path, error)

    def _by_directory(self) -> dict[Path, dict[str, tuple[Path, str]]]:
        groups: dict[Path, dict[str, tuple[Path, str]]] = {}
        for path, text in self._read_loose():
            record = json.loads(text)
            directory = self._directory({**record, "machine": record["machine"]["name"]})
            groups.setdefault(directory, {})[record["id"]] = (path, text)
        return groups

    def _loose_texts(self, prefix: str = "") -> dict[str, str]:
        return {path.stem: text for path, text in self._read_loose(prefix)}

    def _sealed_texts(self, wanted: Callable[[pa.ChunkedArray], pa.ChunkedArray]) -> dict[str, str]:
        table = self._sealed_scalars().select(["id", "machine", "time"])
        rows = table.filter(wanted(table["id"]))
        ids = rows["id"].combine_chunks()
        directories = {self._directory(row) for row in rows.to_pylist()}
        paths = [path for directory in sorted(directories) for path in _segments_in(directory)]
        return read_texts(paths, ds.field("id").isin(ids)) if paths else {}

    def _directory(self, row: Mapping[str, Any]) -> Path:
        return self._segments / str(row["machine"]) / str(row["time"])[:7]


def check_loose(path: Path) -> str:
    """Return the text of the loose record at *path*; RecordError if it is damaged."""
    try:
        facts = read_json(path)
        _require_record(facts)
        if facts["id"] != path.stem:
            raise ValueError("its id is not its name")
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecordError) as error:
        raise RecordError(
            f'could not read record "{path}"',
            detail=reason(error),
            hint='"landspeed farm results check" lists what is damaged.',
        ) from error
    return path.read_text()


def _require_record(facts: object) -> None:
    """RecordError unless *facts* are a raw record with sound scalars."""
    try:
        require_sound(scalars([Record.from_json(facts).to_json()]))
    except (pa.ArrowException, RecordError) as error:
        raise RecordError("this is not a raw record", detail=reason(error)) from error


def _parsed(identifier: str, text: str) -> Record:
    try:
        return Record.from_json(parse_json(text))
    except (ValueError, RecordError) as error:
        raise RecordError(f'record "{identifier}" is damaged', detail=reason(error)) from error


def _require_same(path: Path, text: str) -> None:
    if path.read_text() != text:
        raise RecordError(
            f'two different records have the id "{path.stem}"',
            detail=f"One of them is {path}.",
            hint="Records are never changed; a new run needs a new id.",
        )


def _segments_in(directory: Path) -> list[Path]:
    return sorted(directory.glob(f"[!.]*{SUFFIX}"))
