"""A time line: a row of points for each name, as SVG in a page. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from html import escape
from math import log

_WIDTH, _ROW, _LEFT, _RIGHT = 520.0, 26.0, 96.0, 14.0
_SMALLEST, _LARGEST = 3.0, 10.0


@dataclass(frozen=True, kw_only=True)
class TimelinePoint:
    """A change by ``ratio`` on a day (YYYY-MM-DD) in a row, with a title and where it leads."""

    row: str
    day: str
    ratio: float
    title: str
    link: str


def timeline(points: Sequence[TimelinePoint], first: str, last: str) -> str:
    """Return *points* between the days *first* and *last* as SVG; "" if there is none.

    The area of a point is the size of its change up to a factor of two; what became slower has
    the class ``rise``, the rest ``fall``.
    """
    if not points:
        return ""
    begin, end = date.fromisoformat(first).toordinal(), date.fromisoformat(last).toordinal()
    rows = sorted({one.row for one in points})
    bottom = _ROW * len(rows)
    lines = [
        f'<svg class="timeline" viewBox="0 0 {_WIDTH:g} {bottom + 24:g}" role="img" '
        f'aria-label="Changes between {first} and {last}">'
    ]
    for at, row in enumerate(rows):
        y = _ROW * (at + 0.5)
        lines.append(f'<line x1="{_LEFT:g}" x2="{_WIDTH:g}" y1="{y:g}" y2="{y:g}"/>')
        lines.append(f'<text x="0" y="{y + 4:g}">{escape(row)}</text>')
    for one in sorted(points, key=lambda point: -abs(log(point.ratio))):
        share = (date.fromisoformat(one.day).toordinal() - begin) / max(1, end - begin)
        x = _LEFT + 10 + min(1.0, max(0.0, share)) * (_WIDTH - _LEFT - 10 - _RIGHT)
        y = _ROW * (rows.index(one.row) + 0.5)
        radius = _SMALLEST + (_LARGEST - _SMALLEST) * min(1.0, abs(log(one.ratio, 2))) ** 0.5
        kind = "rise" if one.ratio > 1 else "fall"
        lines.append(
            f'<a href="{escape(one.link)}"><circle class="{kind}" cx="{x:.1f}" cy="{y:g}" '
            f'r="{radius:.1f}"><title>{escape(one.title)}</title></circle></a>'
        )
    lines.append(f'<text x="{_LEFT:g}" y="{bottom + 16:g}">{first}</text>')
    lines.append(f'<text class="end" x="{_WIDTH:g}" y="{bottom + 16:g}">{last}</text></svg>')
    return "\n".join(lines)
