"""Notes: small facts beside the records that are only ever added, and merge by copying files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.errors import RecordError
from base.files import canonical_json, digest_text, write_atomic

_SCHEMA = 1


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

    def all(self) -> list[dict[str, Any]]:
        """Return every note; RecordError for a damaged one."""
        return [_parsed(path) for path in sorted(self.root.glob("[!.]*.json"))]

    def merge(self, other: NoteStore) -> int:
        """Add the notes of *other* and return how many were new."""
        copied = 0
        for path in sorted(other.root.glob("[!.]*.json")):
            _parsed(path)
            if not (self.root / path.name).exists():
                write_atomic(self.root / path.name, path.read_bytes())
                copied += 1
        return copied


def _parsed(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text()
        facts = json.loads(text)
        if digest_text(text.removesuffix("\n"))[:32] != path.stem:
            raise ValueError("its content does not match its name")
        if facts.pop("schema") != _SCHEMA:
            raise ValueError("its schema is unknown to this version")
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise RecordError(
            f'could not read "{path}"',
            detail=repr(error),
            hint="Copy it again from where it came, or move it out of the directory.",
        ) from error
    return dict(facts)
