"""In which order what is not measured yet is worth measuring. Pure.

What came last first, for that is what somebody can still mend with it in mind; then the holes
behind it, each time the middle of the largest, so that wherever the budget ends a step that is in
there is between two neighbours that are as near as could be.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence


def fresh(known: Sequence[bool]) -> list[int]:
    """The positions after the last that is *known* (a line, oldest first), the newest first.

    Of a line of which nothing is known the tip alone.
    """
    last = max((at for at, one in enumerate(known) if one), default=len(known) - 2)
    return list(range(len(known) - 1, max(last, -1), -1))


def halved(known: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """The size of a gap and the position of its middle, the largest gap of *known* first.

    A gap is a run of positions that are not known; of two equal ones the newer comes first. Each
    middle is taken for known from then on. Sizes never grow.
    """
    heap = [(-(end - begin), -begin) for begin, end in _gaps(known)]
    heapq.heapify(heap)
    while heap:
        size, begin = (-number for number in heapq.heappop(heap))
        middle = begin + size // 2
        yield size, middle
        for start, length in ((begin, middle - begin), (middle + 1, begin + size - middle - 1)):
            if length:
                heapq.heappush(heap, (-length, -start))


def _gaps(known: Sequence[bool]) -> Iterator[tuple[int, int]]:
    begin = None
    for at, one in enumerate([*known, True]):
        if not one and begin is None:
            begin = at
        elif one and begin is not None:
            yield begin, at
            begin = None


def together(lines: Iterable[Sequence[bool]]) -> list[tuple[int, int]]:
    """Line and position of everything in the gaps of several *lines*, by the size of its gap."""
    found = [[(-size, line, at) for size, at in halved(known)] for line, known in enumerate(lines)]
    return [(line, at) for _, line, at in heapq.merge(*found)]
