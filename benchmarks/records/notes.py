"""Notes: small facts beside the records that are only ever added, and merge by copying files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from base.errors import LandspeedError, RecordError, reason
from base.files import canonical_json, digest_text, read_json, warn_set_aside, write_atomic

_SCHEMA = 1
Note = TypeVar("Note")


@dataclass(frozen=True, kw_only=True)
class NoteStore:
    """Notes below *root*: one small JSON file each, named by the digest of its content."""

    root: Path

    def add(self, facts: Mapping[str, Any]) -> None:
        """Store *facts*; a note that is there already stays as it is."""
        text = canonical_json({"schema": _SCHEMA, **facts})
        path = self.root / f"{digest_text(text)[:32]}.json"
        if not path.exists():
            write_atomic(path, text + "\n")

    def read(self, parse: Callable[[Mapping[str, Any]], Note]) -> list[Note]:
        """Return what *parse* makes of each note; a damaged one is set aside with a warning."""
        found = []
        for path in sorted(self.root.glob("[!.]*.json")):
            try:
                found.append(read_note(path, parse))
            except RecordError as error:
                warn_set_aside(path, error)
        return found


def read_note(path: Path, parse: Callable[[Mapping[str, Any]], Note]) -> Note:
    """Return what *parse* makes of the note at *path*; RecordError if the note is damaged."""
    try:
        facts = read_json(path)
        if digest_text(path.read_text().removesuffix("\n"))[:32] != path.stem:
            raise ValueError("its content does not match its name")
        if facts.pop("schema") != _SCHEMA:
            raise ValueError("its schema is unknown to this version")
        return parse(facts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, LandspeedError) as error:
        raise RecordError(
            f'could not read "{path}"',
            detail=reason(error),
            hint='"landspeed farm results check" lists what is damaged.',
        ) from error
