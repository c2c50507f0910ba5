"""How to talk to the servers of one version, read from dialect.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from base.version import Version, VersionRange

_TOML = Path(__file__).with_name("dialect.toml")


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How to talk to servers of one version, where versions differ.

    ``wal_position`` is the SQL that says where WAL is being written; a position
    ``X/Y`` is X × ``wal_file_bytes`` + Y bytes. ``database_statistics_lag`` is true
    where counts reach pg_stat_database some time after the backend that made them ended.
    ``load_settings`` are for loading a template only, ``database_statements`` are executed in each
    new database.
    """

    socket_directory_setting: str
    wal_position: str
    wal_file_bytes: int
    database_statistics_lag: bool
    load_settings: dict[str, str]
    initdb_options: tuple[str, ...] = ()
    database_statements: tuple[str, ...] = ()

    @classmethod
    def of(cls, version: Version) -> Self:
        """Return the dialect of *version*."""
        values = {key: value for key, range_, value in _rows() if version in range_}
        return cls(**values)

    def wal_bytes(self, position: str) -> int:
        """The number of WAL bytes before *position*, spelled ``X/Y`` in hex."""
        file, offset = (int(part, 16) for part in position.split("/"))
        return file * self.wal_file_bytes + offset


@cache
def _rows() -> tuple[tuple[str, VersionRange, Any], ...]:
    rows = tomllib.loads(_TOML.read_text())["row"]
    return tuple(
        (
            row["key"],
            VersionRange.parse(since=row.get("since"), until=row.get("until")),
            tuple(row["value"]) if isinstance(row["value"], list) else row["value"],
        )
        for row in rows
    )
