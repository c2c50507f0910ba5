"""Draw a differential flame graph of two profiles as an SVG with matplotlib.

Callgrind records who called whom at what cost, not whole stacks. Like gprof, we attribute the
callees of a function to its callers in proportion to the cost of their calls (Graham, Kessler,
McKusick: gprof: a call graph execution profiler, SIGPLAN 1982, section 4). Where a function behaves
differently for different callers, the graph shows the average. Cycles are cut where they close.
Colours follow Gregg, "Differential Flame Graphs" (2014): red is more, blue is less.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
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
    callees: tuple[Frame, ...] = ()

    @property
    def width(self) -> float:
        """Mean of before and after, so that both added and removed functions are visible."""
        return (self.before + self.after) / 2


def frames(before: Profile, after: Profile) -> Frame:
    """Return the tree below ROOT of two profiles, without invisible frames.

    A session that was counted between two marks entered ROOT before the first of them.
    """
    root = Frame(function=ROOT, before=_total(before), after=_total(after))
    return _with_callees(root, (_side(before), _side(after)), _NARROWEST * root.width, (ROOT,))


def _total(profile: Profile) -> float:
    return profile.entered(ROOT) or profile.inclusive().get(ROOT, 0.0)


_Side = tuple[dict[str, dict[str, float]], dict[str, float]]
"""The cost of each call of one profile by caller, and the inclusive cost of each function."""


def _side(profile: Profile) -> _Side:
    callees: dict[str, dict[str, float]] = {}
    for (caller, callee), edge in profile.edges.items():
        if caller != callee and edge.inclusive > 0:
            callees.setdefault(caller, {})[callee] = edge.inclusive
    return callees, profile.inclusive()


def _below(side: _Side, function: str, cost: float) -> dict[str, float]:
    """Return how *cost* of *function* is spread over its callees."""
    callees, inclusive = side
    total = inclusive.get(function, 0.0)
    share = cost / total if total > 0 else 0.0
    return {name: own * share for name, own in callees.get(function, {}).items()}


def _with_callees(
    frame: Frame, sides: tuple[_Side, _Side], least: float, path: tuple[str, ...]
) -> Frame:
    before = _below(sides[0], frame.function, frame.before)
    after = _below(sides[1], frame.function, frame.after)
    callees = [
        Frame(function=name, before=before.get(name, 0.0), after=after.get(name, 0.0))
        for name in sorted((before.keys() | after.keys()) - {*path})
        if len(path) < _DEEPEST
    ]
    wide = (one for one in callees if one.width >= least)
    below = (_with_callees(one, sides, least, (*path, one.function)) for one in wide)
    return replace(frame, callees=tuple(below))


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
            label = f"{frame.function} {frame.after - frame.before:+.0f}"
            axes.text(left, row + 0.28, f" {label[:room]}", fontsize=6, clip_on=True)
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
    callees = tuple(_scaled(callee, scale) for callee in frame.callees)
    before, after = frame.before * scale, frame.after * scale
    return replace(frame, before=before, after=after, callees=callees)


def _colour(frame: Frame) -> tuple[float, float, float]:
    """Return red for more, blue for less cost, strongest from a change by half on."""
    change = (frame.after - frame.before) / frame.width if frame.width else 0.0
    strength = min(1.0, abs(change) / _STRONGEST)
    pale = 0.93 - 0.55 * strength
    return (0.95, pale, pale) if change > 0 else (pale, pale, 0.97)
