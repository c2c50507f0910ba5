"""The plots of a study's report, as SVG by matplotlib: equal samples give equal bytes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes as Panel
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from base.files import storage_errors
from benchmarks.records.record import SeriesFacts
from benchmarks.workloads.metrics import metric_named
from landspeed.study.effects import SURE, Attribution, Effect, StudyContext
from landspeed.study.samples import StudyRow, Value, grouped, summary
from landspeed.study.schema import Kind, PlotExhibit

Series = Mapping[str, SeriesFacts]
"""The per-second series of runs, as in their records, by the record's id."""

_WIDTH, _HEIGHT = 4.6, 3.3
_MOST_COLUMNS = 3
_SQUARE = 4  # panels stand two by two
_LONGEST_LABEL = 44
_CROWDED = 40  # characters of all labels of an x axis, from which on they are rotated
_LETTER = 0.07  # inches
_APART = 0.3
_MARKERS = "osD^vP*X<>"
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "landspeed",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
}
# Distinguishable with colour blindness and in grey.
COLOURS = mpl.color_sequences["petroff10"]
_NAMES = {
    "blocksize": "block size, kB",
    "wal_blocksize": "WAL block size, kB",
    "ref": "release",
    "generator": "load generator",
    "profile": "configuration",
}


def axis_name(axis: str) -> str:
    """Return the name of *axis* in reports."""
    return _NAMES.get(axis, axis)


@dataclass(frozen=True, kw_only=True)
class _Style:
    """How one line is drawn in all panels.

    ``shift``, from -0.5 to 0.5, separates lines with points at the same place.
    """

    label: str
    colour: Any
    marker: str
    shift: float


Styles = Mapping[tuple[Value, ...], _Style]
"""The style of each line by its value; of a plot without lines by an empty tuple."""


def draw(plot: PlotExhibit, rows: Sequence[StudyRow], series: Series, path: Path) -> bool:
    """Draw *plot*, no ranking, of *rows* to an SVG at *path*; False if there is nothing to draw."""
    styles = _styles(plot, rows)
    panels = {
        panel_title(plot, key): partial(_draw_panel, plot, rows=group, series=series, styles=styles)
        for key, group in grouped(rows, plot.each).items()
    }
    if panels:
        axes = [axis_name(axis) for axis in _line_axes(plot)]
        labels = [style.label for style in styles.values()]
        draw_panels(plot.title, panels, path, legend=(axes[0], labels) if axes else None)
    return bool(panels)


def _line_axes(plot: PlotExhibit) -> list[str]:
    """Return the axis by which the lines of a panel differ, if they do."""
    axis = plot.x if plot.kind is Kind.SECONDS else plot.lines
    return [axis] if axis else []


def _styles(plot: PlotExhibit, rows: Sequence[StudyRow]) -> Styles:
    keys = grouped(rows, _line_axes(plot))
    return {
        key: _Style(
            label=shorten(str(key[0])) if key else plot.metric,
            colour=COLOURS[number % len(COLOURS)],
            marker=_MARKERS[number % len(_MARKERS)],
            shift=(number + 0.5) / len(keys) - 0.5,
        )
        for number, key in enumerate(keys)
    }


def draw_panels(
    title: str,
    panels: Mapping[str, Callable[[Panel], None]],
    path: Path,
    *,
    height: float = _HEIGHT,
    legend: tuple[str, Sequence[str]] | None = None,
) -> None:
    """Draw *panels* (title → function), each *height* inches high, to an SVG at *path*.

    *legend*, a title and ordered labels, is one legend for all panels, beside them.
    """
    columns = 2 if len(panels) == _SQUARE else min(_MOST_COLUMNS, len(panels))
    lines = math.ceil(len(panels) / columns)
    with mpl.rc_context(_STYLE):
        size = (max(_WIDTH * columns, 6.5), height * lines + 0.3)
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        grid = figure.subplots(lines, columns, squeeze=False)
        for panel, (heading, draw_one) in zip(grid.flat, panels.items(), strict=False):
            panel.set_title(heading)
            draw_one(panel)
        for panel in list(grid.flat)[len(panels) :]:
            panel.set_axis_off()
        if legend is not None:
            _add_legend(figure, *legend)
        with storage_errors(f'write "{path}"', path):
            figure.savefig(path, format="svg", metadata={"Date": None, "Title": title})


def _add_legend(figure: Figure, title: str, labels: Sequence[str]) -> None:
    """Add one legend of all lines beside the panels of *figure*."""
    found = {
        label: handle
        for panel in figure.axes
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    shown = [label for label in labels if label in found]
    longest = max(map(len, [title, *shown]))
    figure.set_figwidth(figure.get_figwidth() + 0.6 + _LETTER * longest)
    handles = [found[label] for label in shown]
    figure.legend(handles, shown, title=title, loc="outside right upper")


def panel_title(plot: PlotExhibit, values: Sequence[Value]) -> str:
    """Return the title of the panel with *values* on the axes ``each`` of *plot*."""
    return ", ".join(_value(a, v) for a, v in zip(plot.each, values, strict=True))


def _draw_panel(
    plot: PlotExhibit, panel: Panel, rows: Sequence[StudyRow], series: Series, styles: Styles
) -> None:
    metric = metric_named(plot.metric)
    if plot.kind is Kind.SECONDS:
        _seconds(plot, panel, rows, series, styles)
    elif plot.kind is Kind.DOTS:
        _dots(plot, panel, rows, styles)
    else:
        _lines(plot, panel, rows, styles)
    panel.set_ylabel(f"{metric.name}, {metric.unit}")
    panel.set_ylim(bottom=0)


def _lines(plot: PlotExhibit, panel: Panel, rows: Sequence[StudyRow], styles: Styles) -> None:
    """Draw the median of each line over x, with bars from the minimum to the maximum."""
    column = metric_named(plot.metric).column
    values = [key[0] for key in grouped(rows, [plot.x])]
    numbers = all(isinstance(value, int) for value in values)
    for line, group in grouped(rows, _line_axes(plot)).items():
        style = styles[line]
        points = [
            (key[0], found)
            for key, some in grouped(group, [plot.x]).items()
            if (found := summary(some, column))
        ]
        # Lines are slightly shifted, so that no bar hides another.
        shift = _APART * style.shift
        x = [
            int(value) * 2**shift if numbers else values.index(value) + shift for value, _ in points
        ]
        middle = [found.median for _, found in points]
        spread = [
            [found.median - found.minimum for _, found in points],
            [found.maximum - found.median for _, found in points],
        ]
        look: Any = {"label": style.label, "color": style.colour, "marker": style.marker}
        panel.errorbar(x, middle, yerr=spread, ms=4, lw=1.4, capsize=2, **look)
    _name_x(plot, panel, values, numbers=numbers)


def _name_x(plot: PlotExhibit, panel: Panel, values: Sequence[Value], *, numbers: bool) -> None:
    panel.set_xlabel(axis_name(plot.x))
    labels = list(map(str, values))
    if numbers:
        panel.set_xscale("log", base=2)
        panel.set_xticks([int(v) for v in values], labels)
        panel.minorticks_off()
    else:
        style: Any = {"rotation": 40, "ha": "right"} if sum(map(len, labels)) > _CROWDED else {}
        panel.set_xticks(range(len(values)), labels, **style)


def _dots(plot: PlotExhibit, panel: Panel, rows: Sequence[StudyRow], styles: Styles) -> None:
    """Draw each run as a dot over its category, with mean ± standard deviation beside them."""
    column = metric_named(plot.metric).column
    values = [key[0] for key in grouped(rows, [plot.x])]
    # The room of a line: its dots, their mean beside them, and a gap to the next line.
    half = min(0.05, 0.12 / len(styles))
    for line, group in grouped(rows, _line_axes(plot)).items():
        style = styles[line]
        for key, some in grouped(group, [plot.x]).items():
            x = values.index(key[0]) + 0.6 * style.shift
            found = summary(some, column)
            if found is None:
                continue
            numbers = [v for row in some if (v := row.scalars[column]) is not None]
            spread = np.linspace(-half, half, len(numbers)) if len(numbers) > 1 else [0.0]
            dots: Any = {"marker": style.marker, "ms": 3.5, "alpha": 0.6, "ls": ""}
            panel.plot(x + np.array(spread), numbers, color=style.colour, **dots)
            mean: Any = {"marker": "_", "ms": 9, "capsize": 3, "color": style.colour}
            mean["label"] = style.label if key[0] == values[0] else None
            panel.errorbar([x + 2.4 * half], [found.mean], yerr=[found.stddev or 0.0], **mean)
    _name_x(plot, panel, values, numbers=False)


def _seconds(
    plot: PlotExhibit, panel: Panel, rows: Sequence[StudyRow], series: Series, styles: Styles
) -> None:
    """Draw every run second by second, in the colour of its value on x."""
    name = "tps" if plot.metric == "tps" else "latency_ms"
    for key, group in grouped(rows, _line_axes(plot)).items():
        style = styles[key]
        label: str | None = style.label
        for row in group:
            one = series.get(row.scalars["id"])
            if one is None:
                continue
            values = [math.nan if v is None else v for v in getattr(one, name)]
            panel.plot(one.seconds, values, color=style.colour, lw=0.9, alpha=0.7, label=label)
            label = None
    panel.set_xlabel("second of the run")


def shorten(label: str) -> str:
    """Return *label*, cut to the length that fits into a plot."""
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"


def _value(axis: str, value: Value) -> str:
    if axis in ("mode", "protocol", "tier", "storage", "generator"):
        return str(value)
    return f"{axis_name(axis)} {value}"


_A_SETTING, _FRAME = 0.26, 0.9  # inches
_CONTEXT_MARKERS = {StudyContext.ALONE: "o", StudyContext.LAST: "s", StudyContext.AVERAGED: "D"}


def draw_rankings(
    plot: PlotExhibit, rankings: Mapping[tuple[Value, ...], Attribution], path: Path
) -> bool:
    """Draw *plot* of *rankings* to an SVG at *path*; False if none has an effect."""
    panels = {
        panel_title(plot, key): partial(_draw, ranking=ranking)
        for key, ranking in rankings.items()
        if ranking.effects
    }
    if panels:
        most = max(len(ranking.settings) for ranking in rankings.values())
        draw_panels(plot.title, panels, path, height=max(3.3, _FRAME + _A_SETTING * most))
    return bool(panels)


def _draw(panel: Panel, ranking: Attribution) -> None:
    """Draw the effect of each setting; insignificant averaged effects are hollow."""
    places = {setting: number for number, setting in enumerate(reversed(ranking.settings))}
    shifts = np.linspace(0.2, -0.2, len(ranking.contexts)) if len(ranking.contexts) > 1 else [0.0]
    for context, shift in zip(ranking.contexts, shifts, strict=True):
        found = [one for one in ranking.effects if one.context is context]
        sure = [one for one in found if one.p is None or one.is_sure]
        unsure = [one for one in found if one not in sure]
        colour = COLOURS[list(StudyContext).index(context)]
        for some, filled, label in (
            (sure, True, str(context)),
            (unsure, False, f"{context}, p ≥ {SURE:g}"),
        ):
            if not some:
                continue
            middle = np.array([one.ratio.value - 1 for one in some]) * 100
            y = [places[one.setting] + shift for one in some]
            style: Any = {"fmt": _CONTEXT_MARKERS[context], "color": colour, "ms": 4.5}
            style["capsize"] = 2
            fill = colour if filled else "white"
            panel.errorbar(middle, y, xerr=_reach(some), mfc=fill, label=label, **style)
    panel.axvline(0, color="#888888", lw=0.8)
    panel.set_yticks(range(len(places)), [shorten(setting) for setting in places])
    panel.set_ylim(-0.6, len(places) - 0.4)
    panel.set_xlabel("change, %")
    # The legend is below the axis, because dots may be anywhere above it.
    panel.legend(loc="upper left", bbox_to_anchor=(0, 0), borderaxespad=4.5)


def _reach(effects: Sequence[Effect]) -> list[list[float]]:
    """Return the distances of the intervals' ends from the values, in percent."""
    ratios = [one.ratio for one in effects]
    return [
        [100 * (r.value - r.low) if r.low is not None else 0.0 for r in ratios],
        [100 * (r.high - r.value) if r.high is not None else 0.0 for r in ratios],
    ]
