"""Identical builds: commits whose builds install the same files share their samples.

A commit whose server is measured already gets no new runs. A note says instead that the two are
one server. Like records, notes are only ever added, and merged by copying files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from base.build import Build, Origin
from benchmarks.records.notes import NoteStore

SERVER_COLUMNS = ["digest", "release", "commit", "tree", "origin_date", "registered"]
"""The columns of RecordStore.table() that identify the server of a run and its origin."""

Origins = Mapping[str, Mapping[str, Origin]]
"""Origins by name, by the digest that their builds share; each inner mapping is one server."""


@dataclass(frozen=True, kw_only=True)
class IdenticalBuild:
    """An origin whose build has the ``digest`` of a measured one."""

    digest: str
    origin: Origin

    @classmethod
    def parse(cls, note: Mapping[str, Any]) -> Self:
        """Return the identical build of a note; raises ValueError, TypeError or KeyError."""
        if not re.fullmatch("[0-9A-Za-z]{1,64}", note["digest"]):
            raise ValueError(f"the digest is {note['digest']!r:.100}")
        return cls(digest=note["digest"], origin=Origin.parse(note["origin"]))


@dataclass(frozen=True, kw_only=True)
class IdenticalBuildStore:
    """The identical builds that are known, as *notes* beside the records."""

    notes: NoteStore

    def add(self, build: Build) -> None:
        """Note that *build* is identical to the measured build with its digest."""
        self.notes.add({"digest": build.digest, "origin": asdict(build.origin)})

    def all(self) -> list[IdenticalBuild]:
        """Return every identical build; a damaged note is set aside with a warning."""
        return self.notes.read(IdenticalBuild.parse)
