"""asv's graphs of a site that is renewed: what the last one had, and what has come."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from asv.benchmarks import Benchmarks
from asv.config import Config
from asv.graph import Graph, GraphSet, resample_data
from asv.results import Results
from asv.util import is_na
from pydantic_core import from_json

from landspeed.results.arrays import Floats
from landspeed.site.asv_changepoints import Numbers, cuts_of, levels, numbers_of
from landspeed.site.asv_incremental.manifest import Drawing
from landspeed.site.asv_incremental.refs import Drawn

_Rows = list[tuple[int, Any]]


class RenewedGraph(Graph):  # type: ignore[misc]
    """A RenewedGraph is a graph of asv's that has its rows from the last site, *old*, and *news*.

    It has no weights: only asv's own steps go by them. ``drawing`` is what is known of it.
    """

    def __init__(self, drawing: Drawing, old: Path | None, news: Mapping[int, Any]) -> None:
        super().__init__(drawing.benchmark, dict(drawing.params))
        self.drawing, self._old, self._news = drawing, old, news
        self.n_series, self.scalar_series = drawing.width, drawing.scalar
        self._rows: list[tuple[int, Any, None]] | None = None
        self._kept, self._known = "[]", 0

    def get_data(self) -> list[tuple[int, Any, None]]:
        """The rows as asv has them, read when they are first asked for."""
        if self._rows is None:
            self._rows = [(revision, values, None) for revision, values in self._read()]
        return self._rows

    @cached_property
    def numbers(self) -> Numbers:
        """What numbers_of() it says."""
        return numbers_of(self)

    def text(self) -> str:
        """The rows as asv writes them: what follows all of the last site's goes behind its text."""
        rows = self.get_data()
        fresh = json.dumps([row[:2] for row in rows[self._known :]])
        if not self._known or len(rows) == self._known:
            return self._kept if self._known else fresh
        return f"{self._kept[:-1]}, {fresh[1:]}"

    def _read(self) -> _Rows:
        nothing = None if self.scalar_series else [None] * self.n_series
        rows = dict.fromkeys(self.drawing.silent, nothing)
        text = self._old.read_text() if self._old else "[]"
        before = from_json(text)
        news = {n: nothing if values is None else values for n, values in self._news.items()}
        if before and min(news, default=0) > before[-1][0]:
            self._kept, self._known = text, len(before)
            # none of the silent ones comes between, and the last one is not silent
            if max(rows, default=-1) < before[0][0] and not _is_silent(news[max(news)]):
                return [*before, *sorted(news.items())]
        rows |= dict(before)
        rows |= news
        ordered = sorted(rows.items(), key=lambda row: row[0])
        ends = [at for at, (_, values) in enumerate(ordered) if not _is_silent(values)]
        drawn = ordered[ends[0] : ends[-1] + 1] if ends else []
        silent = rows.keys() - {row[0] for row in drawn}
        self.drawing = replace(self.drawing, silent=tuple(sorted(silent)))
        return drawn


def summary_graph(benchmark: str, parts: Sequence[Numbers]) -> Graph:
    """What asv's make_summary_graph() makes of graphs of *benchmark*, of which *parts* are.

    To the last digit, in a quarter of the time: it asks of each number, three times, whether it is
    one.
    """
    revisions = np.unique(np.concatenate([own for own, _ in parts]))
    lines = np.full((sum(numbers.shape[1] for _, numbers in parts), len(revisions)), np.nan)
    begin = 0
    for own, numbers in parts:
        end = begin + numbers.shape[1]
        lines[begin:end, np.searchsorted(revisions, own)] = numbers.T
        begin = end
    known = np.count_nonzero(~np.isnan(lines), axis=0).tolist()
    means = _geometric_means(np.array([_filled(line) for line in lines]).T)
    means = [mean if count else None for mean, count in zip(means, known, strict=True)]
    graph = Graph(benchmark, {"summary": ""})
    for revision, value in resample_data(list(zip(revisions.tolist(), means, strict=True))):
        graph.add_data_point(revision, value)
    return graph


def _filled(line: Floats) -> Floats:
    """*line* with its gaps filled that are at most a tenth of what is known, as asv fills them."""
    line, at = line.copy(), np.flatnonzero(~np.isnan(line))
    gaps = np.diff(at) - 1
    for place in np.flatnonzero((gaps > 0) & (gaps <= math.ceil(0.1 * len(at)))):
        before, after, size = line[at[place]], line[at[place + 1]], int(gaps[place])
        k = np.arange(1, size + 1)
        line[at[place] + k] = (after * k + (size + 1 - k) * before) / (size + 1)
    return line


def _geometric_means(rows: Floats) -> list[float | None]:
    """asv.util.geom_mean_na() of each of *rows*; None for one without a number.

    Powers are Python's as there: numpy's may differ in the last digit.
    """
    found: list[float | None] = []
    gaps = np.count_nonzero(np.isnan(rows), axis=1).tolist()
    for values, magnitudes, gap in zip(rows.tolist(), np.abs(rows).tolist(), gaps, strict=True):
        if gap:
            values = [value for value in values if value == value]  # noqa: PLR0124, PLW2901  no NaN
            magnitudes = list(map(abs, values))  # noqa: PLW2901
        if not values:
            found.append(None)
            continue
        product = float(math.prod(map(pow, magnitudes, repeat(1 / len(values)))))
        found.append(product if sum(values) >= 0 else -product)
    return found


def _is_silent(values: Any) -> bool:
    return all(map(is_na, values)) if isinstance(values, list) else bool(is_na(values))


def dots_of(
    name: str,
    results: Results,
    benchmarks: Benchmarks,
    drawn: Drawn,
    params: Mapping[str, list[Any]],
) -> Iterator[tuple[Drawing, Any]]:
    """Each graph that *results*, called *name*, has a dot on, and its numbers, if it has any."""
    for benchmark in sorted(results.get_result_keys(benchmarks)):
        axes = benchmarks[benchmark]["params"]
        values = results.get_result_value(benchmark, axes)
        for branch in drawn.branches[results.commit_hash]:
            own = {**results.params, "branch": branch}
            own |= dict.fromkeys(one for one in params if one not in own)
            graph = Graph(benchmark, own)
            graph.add_data_point(0, values if axes else values[0])
            rows = graph.get_data()
            yield (
                Drawing(
                    benchmark=benchmark,
                    params=own,
                    first=(name, params["branch"].index(branch)),
                    width=graph.n_series,
                    scalar=graph.scalar_series,
                ),
                rows[0][1] if rows else None,
            )


def both(known: Drawing, dot: Drawing) -> Drawing:
    """The Drawing *known* when it has *dot* as well."""
    return replace(
        known,
        first=min(known.first, dot.first),
        width=max(known.width, dot.width),
        scalar=known.scalar and dot.scalar,
    )


def levelled(
    conf: Config,
    graphs: GraphSet,
    news: Collection[str],
    benchmarks: Benchmarks,
    revisions: Mapping[str, int],
) -> Iterator[Drawing]:
    """Give *graphs* their levels, anew where *news* or Steps change them; their Drawings."""
    cuts = cuts_of(Path(conf.results_dir), graphs, benchmarks, revisions)
    for path, graph in graphs:
        own = cuts.get(path, {})
        if path in news or own != graph.drawing.cuts:
            found = levels(graph.numbers, own)
            graph.drawing = replace(graph.drawing, cuts=own, levels=found)
        graph._steps = graph.drawing.levels
        yield graph.drawing
