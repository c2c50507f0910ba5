"""The order in which uncovered revisions are worth measuring. Pure.

The newest come first, while their authors still remember them. Then come the gaps behind them,
always the middle of the largest: wherever the budget ends, a changepoint is located as closely as
the number of measurements allows.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby


def newer_than_covered(covered: Sequence[bool]) -> list[int]:
    """Return the positions after the last one *covered* of a line (oldest first), newest first.

    If none is covered, the newest position alone.
    """
    last = max((at for at, one in enumerate(covered) if one), default=len(covered) - 2)
    return list(range(len(covered) - 1, max(last, -1), -1))


def halved(covered: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield the size of the largest gap and the position of its middle, until all is covered.

    A gap is a run of positions that are not covered; of two of one size the newer comes first.
    Each middle counts as covered from then on. Sizes never grow.
    """
    heap = []
    for is_covered, group in groupby(range(len(covered)), key=lambda at: covered[at]):
        if not is_covered:
            run = list(group)
            heap.append((-len(run), -run[0]))
    heapq.heapify(heap)
    while heap:
        size, begin = (-number for number in heapq.heappop(heap))
        middle = begin + size // 2
        yield size, middle
        for start, length in ((begin, middle - begin), (middle + 1, begin + size - middle - 1)):
            if length:
                heapq.heappush(heap, (-length, -start))


def largest_gaps_first(lines: Iterable[Sequence[bool]]) -> list[tuple[int, int]]:
    """Return the number of the line and the position of all that is uncovered, by size of gap."""
    found = [[(-size, n, at) for size, at in halved(covered)] for n, covered in enumerate(lines)]
    return [(number, at) for _, number, at in heapq.merge(*found)]
