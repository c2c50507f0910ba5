"""How to talk to a server, read from dialect.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

_TOML = Path(__file__).with_name("dialect.toml")


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How to talk to a server, where versions differ.

    A position in the WAL ``X/Y`` is X × ``wal_file_bytes`` + Y bytes. ``database_statistics_lag``
    is true where counts reach pg_stat_database some time after the backend that made them ended.
    ``load_settings`` are for loading a template only.
    """

    socket_directory_setting: str
    wal_file_bytes: int
    database_statistics_lag: bool
    load_settings: dict[str, str]
    initdb_options: tuple[str, ...] = ()

    @classmethod
    def of(cls, known: Collection[str]) -> Self:
        """Return the dialect of a server whose settings are *known*."""
        rows = [row for row in _rows() if (row["setting"] in known) == row["known"]]
        return cls(**{row["key"]: row["value"] for row in rows})

    def wal_bytes(self, position: str) -> int:
        """The number of WAL bytes before *position*, spelled ``X/Y`` in hex."""
        file, offset = (int(part, 16) for part in position.split("/"))
        return file * self.wal_file_bytes + offset


@cache
def _rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = tomllib.loads(_TOML.read_text())["row"]
    return rows
