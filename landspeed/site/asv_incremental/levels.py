"""Changepoints on asv's graphs: which graph each belongs to, and the levels between them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import md5
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from asv.graph import Graph, GraphSet

from base.files import read_text
from benchmarks.workloads.metrics import METRICS, benchmark_name, group_of, metric_named
from landspeed.results.arrays import Floats, Ints
from landspeed.results.series import RELEASES_LINE

# The name does not end in .json because asv reads every such file as a result.
STEPS_FILE = "steps.jsonl"

Numbers = tuple[Ints, Floats]
"""The revisions of a graph, and an array of its values: one row a revision, one column a line."""

Cuts = Mapping[int, list[int]]
"""The revisions at which the level of a graph's lines changes, by the index of the line."""


@dataclass(frozen=True, kw_only=True)
class DrawnChangepoint:
    """A changepoint on one of asv's graphs.

    ``facts`` are those of ``steps.jsonl``, ``index`` is that of the line in the graph.
    ``revisions`` are asv's numbers of the two sides; the first is None if the two commits are
    adjacent.
    """

    facts: Mapping[str, Any]
    graph: Graph
    index: int
    revisions: tuple[int | None, int]

    @property
    def title(self) -> str:
        """asv's name of the line, followed by the machine and the variant."""
        line = f"{self.graph.benchmark_name}({', '.join(self.facts['spelled'])})"
        return f"{line} on {self.facts['machine']}, {self.facts['variant']}"

    @property
    def size(self) -> str:
        """The ratio with its interval: ``1.5x (1.49 … 1.51)``."""
        low, high = self.facts["interval"]
        return f"{self.facts['ratio']:.3g}x ({low:.3g} … {high:.3g})"

    def ignore_key(self, project: str, hashes: Mapping[int, str]) -> str:
        """Return the id that asv's page gives this row (regressions.js: get_ignore_key)."""
        sides = ["" if one is None else hashes[one] for one in self.revisions]
        digest = md5(",".join([self.title, *sides]).encode(), usedforsecurity=False)
        return f"asv-r-{project}{digest.hexdigest()}"


def drawn_changepoints(
    results: Path,
    graphs: GraphSet,
    benchmarks: Mapping[str, Any],
    revisions: Mapping[str, int],
) -> list[DrawnChangepoint]:
    """Return the changepoints stored in *results* that are on one of *graphs*."""
    found = []
    for facts in map(json.loads, read_text(results / STEPS_FILE).splitlines()):
        name = benchmark_name(group_of(facts["mode"]), metric_named(facts["metric"]))
        sides = [revisions[commit] for commit in facts["commits"] if commit in revisions]
        if name not in benchmarks or len(sides) < 2:
            continue
        choices = list(product(*benchmarks[name]["params"]))
        spelled = tuple(facts["spelled"])
        wanted = {"machine": facts["machine"], "branch": facts["line"], **facts["axes"]}
        for graph in graphs.get_graph_group(name):
            if spelled in choices and wanted.items() <= graph.params.items():
                found.append(
                    DrawnChangepoint(
                        facts=facts,
                        graph=graph,
                        index=choices.index(spelled),
                        revisions=_sides(facts, *sides),
                    )
                )
    return found


def _sides(facts: Mapping[str, Any], before: int, after: int) -> tuple[int | None, int]:
    # A change between releases names both; one between adjacent commits names the commit.
    alone = facts["line"] != RELEASES_LINE and after == before + 1
    return (None if alone else before), after


def cuts_of(
    results: Path, graphs: GraphSet, benchmarks: Mapping[str, Any], revisions: Mapping[str, int]
) -> dict[str, dict[int, list[int]]]:
    """Return where the changepoints stored in *results* cut *graphs*: path → line → revisions."""
    cuts: dict[str, dict[int, list[int]]] = {}
    for one in drawn_changepoints(results, graphs, benchmarks, revisions):
        for graph in _of_the_same_runs(one, graphs):
            cuts.setdefault(graph.path, {}).setdefault(one.index, []).append(one.revisions[1])
    return {
        path: {index: sorted(some) for index, some in sorted(lines.items())}
        for path, lines in cuts.items()
    }


def _of_the_same_runs(changepoint: DrawnChangepoint, graphs: GraphSet) -> Iterator[Graph]:
    # TPS is computed from the same runs as latency: where one changes, so does the other.
    facts, own = changepoint.facts, metric_named(changepoint.facts["metric"])
    for metric in METRICS:
        same = metric == own or (metric.higher_is_better and not own.exact)
        for graph in graphs.get_graph_group(benchmark_name(group_of(facts["mode"]), metric)):
            if same and graph.params == changepoint.graph.params:
                yield graph


def numbers_of(graph: Graph) -> Numbers:
    """Return the revisions of *graph* and the value of each line at each, NaN where missing."""
    data = graph.get_data()
    revisions = np.array([row[0] for row in data], dtype=np.int64)
    rows = [[row[1]] if graph.scalar_series else row[1] for row in data]
    # A graph whose commits all lack a number has no rows.
    return revisions, np.array(rows, dtype=float).reshape(len(rows), graph.n_series or 1)


def levels(numbers: Numbers, cuts: Cuts) -> list[Any]:
    """Return the levels of each line of *numbers*, in the form of asv's steps.

    A level is (first revision, last revision + 1, median, minimum, mean distance from the median).
    """
    revisions, values = numbers
    lines = []
    for index in range(values.shape[1]):
        known = ~np.isnan(values[:, index])
        at, line = revisions[known], values[known, index]
        ends = [0, *np.searchsorted(at, cuts.get(index, [])), len(at)]
        lines.append([_level(at[a:b], line[a:b]) for a, b in pairwise(ends) if a < b])
    return lines


def _level(revisions: Ints, values: Floats) -> tuple[int, int, float, float, float]:
    median = float(np.median(values))
    error = float(np.abs(values - median).mean())
    return int(revisions[0]), int(revisions[-1]) + 1, median, float(values.min()), error


def set_levels(graph: Graph, found: list[Any]) -> None:
    """Make *graph* answer asv's ``get_steps()`` with the levels *found*, one list a line."""
    steps = found[0] if graph.scalar_series else found
    graph.get_steps = lambda: steps


def levels_of(graph: Graph) -> list[Any]:
    """Return the levels of each line of *graph*; asv detects them if none were set."""
    steps = graph.get_steps()
    return [steps] if graph.scalar_series else steps
