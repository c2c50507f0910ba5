"""The plot of an attribution: each effect with its interval, the largest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes as Panel

from landspeed.study.effects import SURE, Attribution, Effect, StudyContext
from landspeed.study.plots import COLOURS, draw_panels, panel_title, shorten
from landspeed.study.samples import Value
from landspeed.study.schema import PlotExhibit

_A_SETTING, _FRAME = 0.26, 0.9  # inches
_MARKERS = {StudyContext.ALONE: "o", StudyContext.LAST: "s", StudyContext.AVERAGED: "D"}


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
            style: Any = {"fmt": _MARKERS[context], "color": colour, "ms": 4.5, "capsize": 2}
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
