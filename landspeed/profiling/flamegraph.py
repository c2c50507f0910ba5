"""Draw a differential flame graph of two profiles as an SVG with matplotlib.

Callgrind records who called whom at what cost, not whole stacks. Like gprof, we attribute the
callees of a function to its callers in proportion to the cost of their calls (Graham, Kessler,
McKusick: gprof: a call graph execution profiler, SIGPLAN 1982, section 4). Where a function behaves
differently for different callers, the graph shows the average. Cycles are cut where they close.
Colours follow Gregg, "Differential Flame Graphs" (2014): red is more, blue is less.
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
_NARROWEST = 0.001  # of the width of the picture; narrower frames are invisible
_INCHES, _ROW_INCHES = 14.0, 0.2
_CHARACTERS = 260  # that fit into the whole width
_STRONGEST = 0.5


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A function under one path of callers: inclusive instructions per transaction."""

    function: str
    before: float
    after: float
    callees: tuple[Frame, ...] = field(default=())

    @property
    def width(self) -> float:
        """Mean of before and after, so that both added and removed functions are visible."""
        return (self.before + self.after) / 2


def frames(before: Profile, after: Profile, root: str = ROOT) -> Frame:
    """Return the tree below *root* of two profiles, without invisible frames.

    A session that was counted between two marks entered *root* before the first of them.
    """
    sides = (_Side.of(before), _Side.of(after))
    totals = (_total(before, root), _total(after, root))
    least = _NARROWEST * sum(totals) / 2
    return _frame(root, totals, sides, least, (root,))


def _total(profile: Profile, root: str) -> float:
    return profile.entered(root) or profile.inclusive().get(root, 0.0)


@dataclass(frozen=True, kw_only=True)
class _Side:
    """One profile: the cost of each call by caller, and the inclusive cost of each function."""

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
        """Return how *cost* of *function* is spread over its callees that are not on *path*."""
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
    """Draw the tree of *root* to an SVG file at *path*, the root at the bottom."""
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
    # Rounding and cycles may attribute more to the callees than the function has.
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
    """Return red for more, blue for less cost, strongest from a change by half on."""
    change = (frame.after - frame.before) / frame.width if frame.width else 0.0
    strength = min(1.0, abs(change) / _STRONGEST)
    pale = 0.93 - 0.55 * strength
    return (0.95, pale, pale) if change > 0 else (pale, pale, 0.97)
