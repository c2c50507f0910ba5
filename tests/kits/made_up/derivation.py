"""What deriving asv's results did to their files."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.records.store import RecordStore
from landspeed.results.points import Dots
from landspeed.site.asv_incremental.file_stat import result_files
from landspeed.site.asv_results import AsvLayout, CommitOf, derive


@dataclass(frozen=True, kw_only=True)
class Derived:
    """Numbers of dots, and of the result files by what deriving did to them."""

    points: int
    superseded: int
    unplaced: list[str]
    written: int
    kept: int
    removed: int


def derived_from(store: RecordStore, layout: AsvLayout, commit_of: CommitOf) -> Derived:
    """Derive what the records in *store* give, and look what became of the files."""
    dots, before = Dots(store.table()), result_files(layout.results)
    points, unplaced = derive(dots, layout, commit_of)
    after = result_files(layout.results)
    kept = before.items() & after.items()
    return Derived(
        points=points,
        superseded=dots.superseded,
        unplaced=unplaced,
        written=len(after) - len(kept),
        kept=len(kept),
        removed=len(before.keys() - after.keys()),
    )
