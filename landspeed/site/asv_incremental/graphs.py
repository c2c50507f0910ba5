"""asv's graphs of a site that is brought up to date: the last site's rows, and what is new."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from asv.benchmarks import Benchmarks
from asv.graph import Graph, resample_data
from asv.results import Results
from asv.util import is_na
from pydantic_core import from_json

from landspeed.results.arrays import Floats
from landspeed.site.asv_incremental.levels import Numbers, cuts_of, levels, numbers_of, set_levels
from landspeed.site.asv_incremental.manifest import GraphInfo
from landspeed.site.asv_incremental.refs import CommitPositions

_Rows = list[tuple[int, Any]]


class ExtendedGraph(Graph):  # type: ignore[misc]
    """One of asv's graphs, with the rows of the last site's file *old* and the rows *added*.

    It has no weights, which only asv's step detection uses. ``info`` is what is known of it.
    """

    def __init__(self, info: GraphInfo, old: Path | None, added: Mapping[int, Any]) -> None:
        super().__init__(info.benchmark, dict(info.params))
        self.info, self._old, self._added = info, old, added
        self.n_series, self.scalar_series = info.width, info.scalar
        self._rows: list[tuple[int, Any, None]] | None = None
        self._kept, self._known = "[]", 0

    def get_data(self) -> list[tuple[int, Any, None]]:
        """Return the rows as asv has them; the file is read on the first call."""
        if self._rows is None:
            self._rows = [(revision, values, None) for revision, values in self._read()]
        return self._rows

    @cached_property
    def numbers(self) -> Numbers:
        """What numbers_of() returns for it."""
        return numbers_of(self)

    def text(self) -> str:
        """Return the rows as asv writes them; later rows are appended to the last site's text."""
        rows = self.get_data()
        fresh = json.dumps([row[:2] for row in rows[self._known :]])
        if not self._known or len(rows) == self._known:
            return self._kept if self._known else fresh
        return f"{self._kept[:-1]}, {fresh[1:]}"

    def _read(self) -> _Rows:
        nothing = None if self.scalar_series else [None] * self.n_series
        rows = dict.fromkeys(self.info.empty, nothing)
        text = self._old.read_text() if self._old else "[]"
        before = from_json(text)
        added = {n: nothing if values is None else values for n, values in self._added.items()}
        if before and min(added, default=0) > before[-1][0]:
            self._kept, self._known = text, len(before)
            # No empty revision lies between them, and the last one is not empty.
            if max(rows, default=-1) < before[0][0] and not _is_empty(added[max(added)]):
                return [*before, *sorted(added.items())]
        rows |= dict(before)
        rows |= added
        ordered = sorted(rows.items(), key=lambda row: row[0])
        ends = [at for at, (_, values) in enumerate(ordered) if not _is_empty(values)]
        drawn = ordered[ends[0] : ends[-1] + 1] if ends else []
        empty = rows.keys() - {row[0] for row in drawn}
        self.info = replace(self.info, empty=tuple(sorted(empty)))
        return drawn


class ExtendedGraphs:
    """The graphs of a site, with the methods of asv's GraphSet that its publishers call."""

    def __init__(self, graphs: Iterable[ExtendedGraph]) -> None:
        self.by_path: dict[str, ExtendedGraph] = {}
        self._groups: dict[str, list[ExtendedGraph]] = {}
        for graph in graphs:
            self.by_path[graph.path] = graph
            self._groups.setdefault(graph.benchmark_name, []).append(graph)

    def __iter__(self) -> Iterator[tuple[str, ExtendedGraph]]:
        return iter(self.by_path.items())

    def __len__(self) -> int:
        return len(self.by_path)

    def get_graph_group(self, benchmark: str) -> list[ExtendedGraph]:
        """Return the graphs of *benchmark*."""
        return self._groups.get(benchmark, [])


def summary_graph(benchmark: str, parts: Sequence[Numbers]) -> Graph:
    """Return what asv's make_summary_graph() returns for graphs of *benchmark* with these *parts*.

    The result is equal to the last digit and takes a quarter of the time: asv tests each value
    three times for being a number.
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
    """Return *line* with its gaps filled as asv does it: those of up to a tenth of the values."""
    line, at = line.copy(), np.flatnonzero(~np.isnan(line))
    gaps = np.diff(at) - 1
    for place in np.flatnonzero((gaps > 0) & (gaps <= math.ceil(0.1 * len(at)))):
        before, after, size = line[at[place]], line[at[place + 1]], int(gaps[place])
        k = np.arange(1, size + 1)
        line[at[place] + k] = (after * k + (size + 1 - k) * before) / (size + 1)
    return line


def _geometric_means(rows: Floats) -> list[float | None]:
    """Return asv.util.geom_mean_na() of each of *rows*; None for one without a number.

    Powers are Python's, as in asv, because numpy's may differ in the last digit.
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


def _is_empty(values: Any) -> bool:
    return all(map(is_na, values)) if isinstance(values, list) else bool(is_na(values))


def dots_of(
    name: str,
    results: Results,
    benchmarks: Benchmarks,
    positions: CommitPositions,
    params: Mapping[str, list[Any]],
) -> Iterator[tuple[GraphInfo, Any]]:
    """Yield each graph on which *results*, called *name*, has a dot, and the dot's values."""
    for benchmark in sorted(results.get_result_keys(benchmarks)):
        axes = benchmarks[benchmark]["params"]
        values = results.get_result_value(benchmark, axes)
        for branch in positions.branches[results.commit_hash]:
            own = {**results.params, "branch": branch}
            own |= dict.fromkeys(one for one in params if one not in own)
            graph = Graph(benchmark, own)
            graph.add_data_point(0, values if axes else values[0])
            rows = graph.get_data()
            yield (
                GraphInfo(
                    benchmark=benchmark,
                    params=own,
                    first=(name, params["branch"].index(branch)),
                    width=graph.n_series,
                    scalar=graph.scalar_series,
                ),
                rows[0][1] if rows else None,
            )


def with_dot(known: GraphInfo, dot: GraphInfo) -> GraphInfo:
    """Return *known* as it is once the graph has *dot* as well."""
    return replace(
        known,
        first=min(known.first, dot.first),
        width=max(known.width, dot.width),
        scalar=known.scalar and dot.scalar,
    )


def set_all_levels(
    results: Path,
    graphs: ExtendedGraphs,
    changed: Collection[str],
    benchmarks: Benchmarks,
    revisions: Mapping[str, int],
) -> tuple[GraphInfo, ...]:
    """Give *graphs* their levels and return their infos.

    Levels are computed where a graph is *changed* or its changepoints have moved.
    """
    cuts = cuts_of(results, graphs, benchmarks, revisions)
    for path, graph in graphs:
        own = cuts.get(path, {})
        if path in changed or own != graph.info.cuts:
            graph.info = replace(graph.info, cuts=own, levels=levels(graph.numbers, own))
        set_levels(graph, graph.info.levels)
    return tuple(graph.info for _, graph in graphs)
