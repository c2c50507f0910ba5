"""Twins: commits whose Builds install the very same files share their samples.

Who asks for a commit whose server is measured already gets no new Runs; what is written down
instead is that the two are one. Like a record a Twin is only ever added, and merged by copying.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from base.build import Build, Origin
from benchmarks.records.notes import NoteStore

SERVER_COLUMNS = ["digest", "release", "commit", "tree", "origin_date", "registered"]
"""The columns of RecordStore.table() that say which server a Run was of, and whence it came."""

Origins = Mapping[str, Mapping[str, Origin]]
"""All that is one server: origins by name, by the digest that their Builds share."""


@dataclass(frozen=True, kw_only=True)
class IdenticalBuild:
    """A Twin is an origin whose Build has the ``digest`` of one that was measured."""

    digest: str
    origin: Origin


@dataclass(frozen=True, kw_only=True)
class IdenticalBuildStore:
    """A IdenticalBuildStore keeps Twins as *notes*."""

    notes: NoteStore

    def add(self, build: Build) -> None:
        """Keep that *build*'s origin is a Twin of whatever was measured with its digest."""
        self.notes.add({"digest": build.digest, "origin": asdict(build.origin)})

    def all(self) -> list[IdenticalBuild]:
        """Every Twin; RecordError for a damaged one."""
        return [
            IdenticalBuild(digest=str(facts["digest"]), origin=Origin(**facts["origin"]))
            for facts in self.notes.all()
        ]

    def merge(self, other: IdenticalBuildStore) -> int:
        """Add the Twins of *other*; how many were new."""
        return self.notes.merge(other.notes)
