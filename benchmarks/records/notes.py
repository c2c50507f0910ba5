"""Notes: small facts beside the records that are only ever added, and merge by copying files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from base.errors import LandspeedError, RecordError, reason
from base.files import canonical_json, digest_text, read_json, warn_set_aside, write_atomic
from base.typed import from_json, to_json

_SCHEMA = 1
Note = TypeVar("Note")


@dataclass(frozen=True, kw_only=True)
class NoteStore:
    """Notes below *root*: one small JSON file each, named by the digest of its content."""

    root: Path

    def add(self, note: object) -> None:
        """Store *note*; one that is there already stays as it is."""
        facts = to_json(note)
        text = canonical_json({"schema": _SCHEMA, **facts})
        path = self.root / f"{digest_text(text)[:32]}.json"
        if not path.exists():
            write_atomic(path, text + "\n")

    def read(self, kind: type[Note]) -> list[Note]:
        """Return all notes, of *kind*; a damaged one is set aside with a warning."""
        found = []
        for path in sorted(self.root.glob("[!.]*.json")):
            try:
                found.append(read_note(path, kind))
            except RecordError as error:
                warn_set_aside(path, error)
        return found


def read_note(path: Path, kind: type[Note]) -> Note:
    """Return the note of *kind* at *path*; RecordError if it is damaged."""
    try:
        facts = read_json(path)
        if digest_text(path.read_text().removesuffix("\n"))[:32] != path.stem:
            raise ValueError("its content does not match its name")
        if facts.pop("schema") != _SCHEMA:
            raise ValueError("its schema is unknown to this version")
        return from_json(kind, facts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, LandspeedError) as error:
        raise RecordError(
            f'could not read "{path}"',
            detail=reason(error),
            hint='"landspeed farm results check" lists what is damaged.',
        ) from error
