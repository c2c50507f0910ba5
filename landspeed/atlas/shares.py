"""Divide a search among machines that count at once and know nothing of each other. Pure.

Each machine has a share of consecutive commits and counts nothing outside it, so that no commit is
built twice. What is known is the union of what all have found; the next shares are made from that.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, log2

from landspeed.atlas.search import (
    AtlasQuestion,
    KnownLevels,
    counts_due,
    grid,
    open_intervals,
)


@dataclass(frozen=True, kw_only=True)
class WorkChunk:
    """Positions ``first`` … ``last`` whose work of about ``seconds`` one machine has to do."""

    first: int
    last: int
    seconds: float


def shares(
    question: AtlasQuestion, known: KnownLevels, machines: int, others: Iterable[WorkChunk] = ()
) -> list[tuple[int, int]]:
    """Return at most so many shares: together all positions, none twice, each with work to do.

    They are about equally long in time, *others* than the search's own work included. An open
    question is in one share, because halving an interval is for one machine. There are none if
    nothing is left to do.
    """
    chunks = work_chunks(question, known, others)
    total, done = sum(one.seconds for one in chunks), 0.0
    begins: dict[int, int] = {}
    for one in chunks:
        middle = (done + one.seconds / 2) / total
        begins.setdefault(int(machines * middle), one.first)
        done += one.seconds
    firsts = [0, *list(begins.values())[1:]] if begins else []
    lasts = [*(first - 1 for first in firsts[1:]), question.last]
    return list(zip(firsts, lasts, strict=False))


def work_chunks(
    question: AtlasQuestion, known: KnownLevels, others: Iterable[WorkChunk] = ()
) -> list[WorkChunk]:
    """Return what is to do next, in order: commits that are due, open questions, and *others*.

    Questions about overlapping intervals are one chunk. A question with a point of the grid inside
    that is still due is none yet: the point divides it.
    """
    dues = counts_due(question, known)
    found = [
        WorkChunk(first=at, last=at, seconds=question.seconds(1, due)) for at, due in dues.items()
    ]
    found += others
    points, built = [at for at in grid(question, known) if at in dues], set[tuple[int, int]]()
    for one in open_intervals(question, known):
        if any(one.first < point < one.last for point in points):
            continue
        depth = ceil(log2(len(one.free) + 1))
        builds = 0 if (one.first, one.last) in built else depth
        built.add((one.first, one.last))
        seconds = question.seconds(builds, depth)
        found.append(WorkChunk(first=one.free[0], last=one.free[-1], seconds=seconds))
    merged: list[WorkChunk] = []
    for chunk in sorted(found, key=lambda one: one.first):
        before = merged.pop() if merged and chunk.first <= merged[-1].last else chunk
        merged.append(
            WorkChunk(
                first=before.first,
                last=max(before.last, chunk.last),
                seconds=chunk.seconds + (0.0 if before is chunk else before.seconds),
            )
        )
    return merged
