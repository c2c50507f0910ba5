"""Twins: commits whose Builds install the very same files share their samples.

Who asks for a commit whose server is measured already gets no new Runs; what is written down
instead is that the two are one. Like a record a Twin is only ever added, and merged by copying.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from base.build import Build, Origin
from base.errors import RecordError
from base.files import canonical_json, write_atomic

_SCHEMA = 1

SERVER_COLUMNS = ["digest", "release", "commit", "tree", "origin_date", "registered"]
"""The columns of RecordStore.table() that say which server a Run was of, and whence it came."""

Origins = Mapping[str, Mapping[str, Origin]]
"""All that is one server: origins by name, by the digest that their Builds share."""


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A Twin is an origin whose Build has the ``digest`` of one that was measured."""

    digest: str
    origin: Origin


@dataclass(frozen=True, kw_only=True)
class TwinStore:
    """A TwinStore keeps Twins below *root*, one small file each."""

    root: Path

    def add(self, build: Build) -> None:
        """Keep that *build*'s origin is a Twin of whatever was measured with its digest."""
        facts = {"schema": _SCHEMA, "digest": build.digest, "origin": asdict(build.origin)}
        path = self.root / f"{build.digest[:16]}-{build.origin.name}.json"
        if not path.exists():
            write_atomic(path, canonical_json(facts) + "\n")

    def all(self) -> list[Twin]:
        """Every Twin; RecordError for a damaged one."""
        return [_parsed(path) for path in sorted(self.root.glob("[!.]*.json"))]

    def merge(self, other: TwinStore) -> int:
        """Add the Twins of *other*; how many were new."""
        copied = 0
        for path in sorted(other.root.glob("[!.]*.json")):
            _parsed(path)
            if not (self.root / path.name).exists():
                write_atomic(self.root / path.name, path.read_bytes())
                copied += 1
        return copied


def origins_by_digest(table: pa.Table, twins: Iterable[Twin]) -> Origins:
    """The Origins in *table* (RecordStore.table()), as the newest record has them, and *twins*."""
    # One release may have come as a tarball and from git: it is one origin, whatever its tree.
    groups = table.select(["id", *SERVER_COLUMNS]).group_by(SERVER_COLUMNS)
    found: dict[str, dict[str, Origin]] = {}
    for row in groups.aggregate([("id", "max")]).sort_by("id_max").to_pylist():
        origin = Origin(
            release=row["release"],
            commit=row["commit"],
            tree=row["tree"],
            date=row["origin_date"],
            registered=row["registered"],
        )
        found.setdefault(row["digest"], {})[origin.name] = origin
    for twin in twins:
        found.setdefault(twin.digest, {}).setdefault(twin.origin.name, twin.origin)
    return found


def _parsed(path: Path) -> Twin:
    try:
        facts = json.loads(path.read_text())
        if facts["schema"] != _SCHEMA:
            raise ValueError(f"schema {facts['schema']}")
        return Twin(digest=str(facts["digest"]), origin=Origin(**facts["origin"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RecordError(
            f'could not read "{path}"',
            detail=repr(error),
            hint="Copy it again from where it came, or move it out of the directory.",
        ) from error
