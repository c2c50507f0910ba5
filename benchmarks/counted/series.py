"""Count a workload in one database session, between marks in callgrind's output.

pgbench executes the workload's script a fixed number of times in one session. Before and after each
series of executions it calls MARK, at whose entry callgrind writes what was executed so far to a
part of its own and starts again at zero. So the slope between a short and a long series has nothing
in it of starting the server, of settling down or of the marks themselves.

Each series begins when the session has just handed over its statistics, as it does once a second:
those of its first catalog look-ups are gone, as they are in every session older than a second.

All series draw the same numbers, so that a short one is the beginning of a long one: random(a, b)
of a script becomes a hash of how often the series has drawn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import Self

from base.errors import MeasureError
from benchmarks.counted.callgrind import Profile
from benchmarks.counted.settings import clocked
from benchmarks.workloads.catalog import Workload
from benchmarks.workloads.dialect import Dialect

MARK = "pg_backend_pid"
"""A function that no workload calls, that every version has, and that costs next to nothing."""

VARIABLES = {"landspeed_execution": "0", "landspeed_draw": "-1"}
"""pgbench variables at the start (``-D``): the number of executions, and of draws in a series."""

REPORT = "pg_stat_force_next_flush"
"""From 15 on this function has a session report its statistics at the end of the transaction."""

WAIT = "\\sleep 600 ms\nSELECT 1;\n\\sleep 600 ms\n"
"""Before 15 they are reported when 0.5 s have passed, and the collector may answer with a file of
up to 0.5 s ago, see PGSTAT_STAT_INTERVAL in its pgstat.c.
"""

READING = """\\set aid random(1, 100000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
SELECT tbalance FROM pgbench_tellers WHERE tid = :tid;
SELECT bbalance FROM pgbench_branches WHERE bid = :bid;
"""
"""What reads the pages that a script of pgbench's changes, after the same random draws."""

_MARKS = 3  # at each end of a series
# The call is all of the expression: "random(1, 9) * (2)" ends with a parenthesis as well.
_RANDOM = re.compile(r"^(\\set \w+) random\(([^,()]+), *([^()]*(?:\([^()]*\)[^()]*)*)\)$", re.M)
_LARGEST = 2**63 - 1  # hash functions of pgbench return negative numbers too
_PART = re.compile(r"^part: (\d+)$", re.M)


@dataclass(frozen=True, kw_only=True)
class CountedSeries:
    """What one session executed for so many executions of a script.

    ``clocked`` instructions are not in ``instructions``: a clock started them. WAL bytes are the
    whole server's.
    """

    executions: int
    instructions: float
    clocked: float = 0.0
    wal_bytes: int = 0
    blocks_hit: int = 0
    blocks_read: int = 0
    profile: Profile

    @classmethod
    def of(cls, profile: Profile, *, executions: int) -> Self:
        """Return what whole processes executed; what they wrote and read is not known."""
        return cls(executions=executions, instructions=sum(profile.own.values()), profile=profile)


@dataclass(frozen=True, kw_only=True)
class SeriesPlan:
    """The script that pgbench runs for a workload, and where its series begin and end.

    ``script`` is executed ``executions`` times, in series of ``lengths``.
    """

    script: str
    executions: int
    lengths: tuple[int, ...]
    dialect: Dialect

    @classmethod
    def of(
        cls,
        workload: Workload,
        lengths: Sequence[int],
        *,
        settle: str,
        database: int,
        wal_position: str,
        dialect: Dialect,
    ) -> Self:
        """Return the plan for series of *lengths* executions of *workload*.

        *settle* are lines of a script after which the session has handed over its statistics,
        and the server can be asked for them; *database* is the number (oid) of the workload's,
        *wal_position* the query for the end of the WAL.
        """
        # the end too: a mark elsewhere in the script would be prepared within the last series
        bounds = [sum(lengths[:number]) for number in range(len(lengths) + 1)]
        # Neither reads a table: that would leave statistics behind. MARK comes last, because what
        # follows it is executed in the next part.
        mark = f"SELECT ({wal_position}), {MARK}();\n"
        blocks = f"pg_stat_get_db_blocks_fetched({database}) || ' ' || " + (
            f"pg_stat_get_db_blocks_hit({database})"
        )
        look = f"SELECT ({wal_position}) || ' ' || {blocks}, {MARK}();\n"
        restore = "".join(f"{statement};\n" for statement in workload.before)
        session = "".join(f"{statement};\n" for statement in workload.session)
        due = " or ".join(f":landspeed_execution = {bound}" for bound in bounds)
        body = drawn(workload.script)
        script = (
            f"\\if :landspeed_execution = 0\n{session}\\endif\n"
            f"\\if {due}\n{mark}{settle}{look}{restore}{settle if restore else ''}"
            # once more: a restored table is cold
            f"\\set landspeed_draw -1\n{body}{mark}\\endif\n"
            f"{body}\\set landspeed_execution :landspeed_execution + 1\n"
        )
        return cls(
            script=script,
            executions=sum(lengths) + 1,
            lengths=tuple(lengths),
            dialect=dialect,
        )

    @property
    def marks(self) -> int:
        """How many marks a session makes; callgrind writes one part more."""
        return _MARKS * (len(self.lengths) + 1)

    def series(
        self,
        parts: Sequence[str],
        answers: Sequence[str],
        beside: Mapping[int, Profile] = MappingProxyType({}),
    ) -> list[CountedSeries]:
        """Return the series, from callgrind's *parts* and the *answers* of the marks.

        What other processes executed *beside*, by the number of the part, counts as well.
        MeasureError if there are more or fewer than there were marks, or they make no sense.
        """
        if len(parts) != self.marks + 1:
            raise MeasureError(
                f"callgrind wrote {len(parts)} parts, not {self.marks + 1}",
                detail=f"The marks are calls of {MARK}().",
                hint="A workload must not call that function itself.",
            )
        if len(answers) != self.marks:
            raise MeasureError(f"{len(answers)} of {self.marks} marks were answered")
        texts = sorted(parts, key=_part_number)[_MARKS::_MARKS]
        try:
            wal = [self.dialect.wal_bytes(answer.split()[0]) for answer in answers]
            told = map(str.split, answers[1::_MARKS])
            looks = [(int(fetched), int(hit)) for _, fetched, hit in told]
        except (ValueError, IndexError) as error:
            raise MeasureError(
                "the answers of the marks cannot be understood", detail=", ".join(answers)
            ) from error
        found = []
        for number, (executions, text) in enumerate(zip(self.lengths, texts, strict=False)):
            (fetched, hit), (fetched_then, hit_then) = looks[number : number + 2]
            profile = Profile.parse(text)
            by_clock = clocked(profile)
            if others := beside.get(_part_number(text)):
                profile = Profile.sum((profile, others))
            found.append(
                CountedSeries(
                    executions=executions,
                    instructions=sum(profile.own.values()) - by_clock,
                    clocked=by_clock,
                    wal_bytes=wal[_MARKS * (number + 1)] - wal[_MARKS * number + 2],
                    blocks_hit=hit_then - hit,
                    blocks_read=fetched_then - hit_then - fetched + hit,
                    profile=profile,
                )
            )
        return found


def drawn(script: str) -> str:
    """Return *script* with numbers that depend on ``landspeed_draw`` alone in place of random ones.

    It adds one to that variable.
    """
    seeds = count()

    def hashed(found: re.Match[str]) -> str:
        name, least, most = found.groups()
        number = f"(hash_murmur2(:landspeed_draw, {next(seeds)}) & {_LARGEST})"
        return f"{name} ({least}) + {number} % ({most} - ({least}) + 1)"

    return _RANDOM.sub(hashed, script) + "\\set landspeed_draw :landspeed_draw + 1\n"


def _part_number(text: str) -> int:
    found = _PART.search(text)
    return int(found[1]) if found else 0
