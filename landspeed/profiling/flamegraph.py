"""A differential flame graph of two profiles, drawn as an SVG by matplotlib.

Callgrind knows who called whom and for how much, not whole stacks. As gprof does, a function's
callees are spread over its callers by what each caller called it for (Graham, Kessler, McKusick:
gprof: a call graph execution profiler, SIGPLAN 1982, section 4): where a function behaves
differently for different callers the picture shows the average. A cycle is cut where it closes.
Colours after Gregg, "Differential Flame Graphs" (2014): red is more, blue is less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from base.files import storage_errors
from benchmarks.counted.callgrind import Profile

ROOT = "PostgresMain"
_DEEPEST = 40
# Narrower frames would not be seen; of the width of the picture.
_NARROWEST = 0.001
_INCHES, _ROW_INCHES = 14.0, 0.2
# Characters of the font that fit the whole width.
_CHARACTERS = 260
_STRONGEST = 0.5


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A Frame is a function under one path of callers: its instructions before and after.

    Both are per transaction, what it called for included.
    """

    function: str
    before: float
    after: float
    callees: tuple[Frame, ...] = field(default=())

    @property
    def width(self) -> float:
        """The mean of both, so that what came and what went are both seen."""
        return (self.before + self.after) / 2


def frames(before: Profile, after: Profile, root: str = ROOT) -> Frame:
    """The tree below *root* of two profiles, without what would not be seen."""
    sides = (_Side.of(before), _Side.of(after))
    totals = (before.entered(root), after.entered(root))
    least = _NARROWEST * sum(totals) / 2
    return _frame(root, totals, sides, least, (root,))


@dataclass(frozen=True, kw_only=True)
class _Side:
    """One profile, by caller: what each function called others for, and was entered for."""

    callees: dict[str, dict[str, float]]
    inclusive: dict[str, float]

    @classmethod
    def of(cls, profile: Profile) -> _Side:
        callees: dict[str, dict[str, float]] = {}
        for (caller, callee), edge in profile.edges.items():
            if caller != callee and edge.inclusive > 0:
                callees.setdefault(caller, {})[callee] = edge.inclusive
        return cls(callees=callees, inclusive=profile.inclusive())

    def below(self, function: str, cost: float, path: tuple[str, ...]) -> dict[str, float]:
        """What *cost* of *function* went to each callee that is not on *path* already."""
        total = self.inclusive.get(function, 0.0)
        if total <= 0:
            return {}
        share = cost / total
        return {
            callee: inclusive * share
            for callee, inclusive in self.callees.get(function, {}).items()
            if callee not in path
        }


def _frame(
    function: str,
    costs: tuple[float, float],
    sides: tuple[_Side, _Side],
    least: float,
    path: tuple[str, ...],
) -> Frame:
    before, after = (
        side.below(function, cost, path) for side, cost in zip(sides, costs, strict=True)
    )
    callees = []
    for name in sorted(before.keys() | after.keys()) if len(path) < _DEEPEST else ():
        pair = (before.get(name, 0.0), after.get(name, 0.0))
        if sum(pair) / 2 >= least:
            callees.append(_frame(name, pair, sides, least, (*path, name)))
    return Frame(function=function, before=costs[0], after=costs[1], callees=tuple(callees))


def draw(root: Frame, path: Path, title: str) -> None:
    """Draw the tree of *root* to an SVG at *path*, the root at the bottom."""
    placed = list(_placed(root, 0.0, 0))
    depth = 1 + max(row for _, _, row in placed)
    figure = Figure(figsize=(_INCHES, _ROW_INCHES * (depth + 4)))
    FigureCanvasSVG(figure)
    axes = figure.add_axes((0.01, 0.01, 0.98, 1 - 2.5 / (depth + 4)))
    axes.set_axis_off()
    axes.set_xlim(0, root.width)
    axes.set_ylim(0, depth)
    axes.set_title(title, fontsize=9, loc="left")
    for frame, left, row in placed:
        box = Rectangle(
            (left, row), frame.width, 0.94, facecolor=_colour(frame), edgecolor="white", lw=0.3
        )
        axes.add_patch(box)
        room = int(_CHARACTERS * frame.width / root.width)
        if room >= 3:
            axes.text(left, row + 0.28, f" {_label(frame)[:room]}", fontsize=6, clip_on=True)
    with storage_errors(f'write "{path}"', path), mpl.rc_context({"svg.hashsalt": "landspeed"}):
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None, "Title": title})


def _placed(frame: Frame, left: float, row: int) -> Iterator[tuple[Frame, float, int]]:
    yield frame, left, row
    # rounding, and cycles, may give the callees more than there is
    wanted = sum(callee.width for callee in frame.callees)
    scale = min(1.0, frame.width / wanted) if wanted else 1.0
    for callee in frame.callees:
        shrunk = _scaled(callee, scale) if scale < 1 else callee
        yield from _placed(shrunk, left, row + 1)
        left += shrunk.width


def _scaled(frame: Frame, scale: float) -> Frame:
    return Frame(
        function=frame.function,
        before=frame.before * scale,
        after=frame.after * scale,
        callees=tuple(_scaled(callee, scale) for callee in frame.callees),
    )


def _label(frame: Frame) -> str:
    return f"{frame.function} {frame.after - frame.before:+.0f}"


def _colour(frame: Frame) -> tuple[float, float, float]:
    """Red where it costs more, blue where less; strongest at half of what it costs."""
    change = (frame.after - frame.before) / frame.width if frame.width else 0.0
    strength = min(1.0, abs(change) / _STRONGEST)
    pale = 0.93 - 0.55 * strength
    return (0.95, pale, pale) if change > 0 else (pale, pale, 0.97)
