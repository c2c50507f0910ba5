"""Count one workload in one database session, between marks in callgrind's output.

pgbench executes the workload's script a fixed number of times in one session. Before each series
of executions it calls MARK, at whose entry callgrind writes what was executed so far to a part of
its own and starts again at zero. So one session gives a short and a long series, twice, and the
slope between them has nothing in it of starting, of settling down or of the marks themselves.

Each series begins when the session has just handed over its statistics, as it does once a second:
those of its first catalog look-ups are gone, as they are in every session older than a second, and
a series that lasts less than a second has no hand-over in it that the clock decided on.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from base.errors import MeasureError
from benchmarks.workloads.catalog import Workload

MARK = "pg_backend_pid"
"""A function that no workload calls, that every version has, and that costs next to nothing."""

COUNTER = "landspeed_execution"
"""The pgbench variable that counts executions; it has to be 0 at the start (``-D``)."""

_PART = re.compile(r"^part: (\d+)$", re.M)


@dataclass(frozen=True, kw_only=True)
class SeriesPlan:
    """The script that pgbench runs for a workload, and where its series begin.

    ``script`` is executed ``executions`` times. Two marks stand before each series, around the
    statements that restore the tables, and two more after the last.
    """

    script: str
    executions: int
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, workload: Workload, *, settle: str, wal_position: str) -> Self:
        """Return the plan for *workload*.

        *settle* is a line of the script after which a session hands over its statistics;
        *wal_position* is the query for the end of the WAL. The first series only warms caches, also
        those of the backend itself: a prepared SELECT 1 costs less in its first hundreds.
        """
        short, long = workload.lengths
        lengths = (long, short, long, short, long)
        # the end too: a mark elsewhere in the script would be prepared within the last series
        bounds = [sum(lengths[:number]) for number in range(len(lengths) + 1)]
        # A mark that read a table would leave statistics behind.
        mark = f"SELECT {MARK}(), ({wal_position});\n"
        restore = "".join(f"{statement};\n" for statement in workload.before)
        session = "".join(f"{statement};\n" for statement in workload.session)
        due = " or ".join(f":{COUNTER} = {begin}" for begin in bounds)
        script = (
            f"\\if :{COUNTER} = 0\n{session}\\endif\n"
            f"\\if {due}\n{mark}{restore}{settle}\n{workload.script}{mark}\\endif\n"
            f"{workload.script}\\set {COUNTER} :{COUNTER} + 1\n"
        )
        return cls(script=script, executions=sum(lengths) + 1, lengths=lengths)

    @property
    def marks(self) -> int:
        """How many marks a session makes; callgrind writes one part more."""
        return 2 * len(self.lengths) + 2

    def series(self, parts: Sequence[str]) -> list[str]:
        """Return those of *parts* that have a series in them, in the order of ``lengths``.

        MeasureError if there are more or fewer marks than were made.
        """
        if len(parts) != self.marks + 1:
            raise MeasureError(
                f"callgrind wrote {len(parts)} parts, not {self.marks + 1}",
                detail=f"The marks are calls of {MARK}().",
                hint="A workload must not call that function itself.",
            )
        return sorted(parts, key=_part_number)[2:-2:2]

    def wal_bytes(self, positions: Sequence[int]) -> list[int]:
        """Return the WAL bytes of each series from the *positions* (bytes) of all marks.

        MeasureError if a mark's answer was not seen.
        """
        if len(positions) != self.marks:
            raise MeasureError(f"{len(positions)} of {self.marks} marks were answered")
        ends = positions[2:-1:2]
        return [end - begin for begin, end in zip(positions[1:-2:2], ends, strict=True)]


def _part_number(text: str) -> int:
    found = _PART.search(text)
    return int(found[1]) if found else 0
