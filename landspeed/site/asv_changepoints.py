"""Our Steps in the place of asv's: its page of regressions, their feed, and its list of values.

An asv plug-in, named in asv.conf.json. Steps come from a file that lies beside asv's results,
made from the records as those are; without it asv's own step detection is what there is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import md5
from html import escape
from itertools import pairwise, product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from asv import feed, util
from asv.graph import Graph, GraphSet
from asv.publishing import OutputPublisher

from base.files import canonical_json, write_atomic
from benchmarks.workloads.metrics import METRICS, benchmark_name, metric_named
from landspeed.changepoints.changepoint import Changepoint
from landspeed.results.arrays import Floats, Ints
from landspeed.results.series import RELEASES_LINE
from landspeed.site.asv_incremental.manifest import Cuts, keep
from landspeed.site.asv_results import CommitOf

# Not .json: asv takes every such file below its results for one of them.
STEPS_FILE = "steps.jsonl"
_TOLD = ("nominated", "confirmed")

Numbers = tuple[Ints, Floats]
"""The revisions of a graph and, of each, the number of each of its lines."""


def write_steps(steps: Iterable[Changepoint], commit_of: CommitOf, results: Path) -> None:
    """Keep *steps* where asv's publisher finds them: among its *results*, one a line.

    Left out is what nobody should be told of, and what has no commit to be drawn at.
    """
    lines, places = [], {}
    for step in steps:
        for origin in (step.before, step.after):
            if origin not in places:
                places[origin] = commit_of(vars(origin))
        drawn_at = (places[step.before], places[step.after])
        commits = [place[0] for place in drawn_at if place]
        if step.status in _TOLD and len(commits) == 2:
            facts = step.facts() | {
                "commits": commits,
                "spelled": list(step.params.spelled()),
                "axes": step.variant.axes(),
                "variant": step.variant.name,
            }
            lines.append(canonical_json(facts) + "\n")
    write_atomic(results / STEPS_FILE, "".join(lines), durable=False)


@dataclass(frozen=True, kw_only=True)
class DrawnStep:
    """A DrawnStep is a Step on one of asv's graphs.

    ``index`` is that of its parameters there, ``revisions`` are asv's numbers of its two sides;
    the first is None where the second comes right after it.
    """

    facts: Mapping[str, Any]
    graph: Graph
    index: int
    revisions: tuple[int | None, int]

    @property
    def title(self) -> str:
        """asv's name of the line, and what asv leaves out: the machine and the variant."""
        line = f"{self.graph.benchmark_name}({', '.join(self.facts['spelled'])})"
        return f"{line} on {self.facts['machine']}, {self.facts['variant']}"

    @property
    def size(self) -> str:
        """How large it is, with its interval: ``1.50 (1.49 … 1.51)`` times what it was."""
        low, high = self.facts["interval"]
        return f"{self.facts['ratio']:.3g}x ({low:.3g} … {high:.3g})"

    def ignore_key(self, project: str, hashes: Mapping[int, str]) -> str:
        """The id that asv's page gives this row (regressions.js: get_ignore_key)."""
        sides = ["" if one is None else hashes[one] for one in self.revisions]
        digest = md5(",".join([self.title, *sides]).encode(), usedforsecurity=False)
        return f"asv-r-{project}{digest.hexdigest()}"


def drawn(
    results: Path, graphs: GraphSet, benchmarks: Mapping[str, Any], revisions: Mapping[str, int]
) -> list[DrawnStep]:
    """The Steps kept in *results* that are on one of *graphs*; none if there is no file."""
    path = results / STEPS_FILE
    lines = path.read_text().splitlines() if path.is_file() else []
    found = []
    for facts in map(json.loads, lines):
        name = benchmark_name(facts["mode"], metric_named(facts["metric"]))
        sides = [revisions[commit] for commit in facts["commits"] if commit in revisions]
        if name not in benchmarks or len(sides) < 2:
            continue
        choices = list(product(*benchmarks[name]["params"]))
        spelled = tuple(facts["spelled"])
        for graph in graphs.get_graph_group(name):
            if _is_of(graph, facts) and spelled in choices:
                found.append(
                    DrawnStep(
                        facts=facts,
                        graph=graph,
                        index=choices.index(spelled),
                        revisions=_sides(facts, *sides),
                    )
                )
    return found


def _is_of(graph: Graph, facts: Mapping[str, Any]) -> bool:
    wanted = {"machine": facts["machine"], "branch": facts["line"], **facts["axes"]}
    return all(graph.params.get(name) == value for name, value in wanted.items())


def _sides(facts: Mapping[str, Any], before: int, after: int) -> tuple[int | None, int]:
    # of releases both are told, of commits the one that did it
    alone = facts["line"] != RELEASES_LINE and after == before + 1
    return (None if alone else before), after


class Levels(OutputPublisher):  # type: ignore[misc]
    """Levels gives asv's graphs the levels between our Steps, before its own pages ask for them."""

    name = "landspeed-levels"
    button_label = "Levels"
    description = "Levels between steps"
    order = 0

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Called by ``asv publish`` before its list of values (1) and its regressions (3)."""
        del repo
        results = Path(conf.results_dir)
        if (results / STEPS_FILE).is_file():
            cuts = cuts_of(results, graphs, benchmarks, revisions)
            for path, graph in graphs:
                graph._steps = levels(numbers_of(graph), cuts.get(path, {}))


def cuts_of(
    results: Path, graphs: GraphSet, benchmarks: Mapping[str, Any], revisions: Mapping[str, int]
) -> dict[str, dict[int, list[int]]]:
    """Where the Steps kept in *results* cut *graphs*: by path and line, the revisions."""
    cuts: dict[str, dict[int, list[int]]] = {}
    for step in drawn(results, graphs, benchmarks, revisions):
        for graph in _of_the_same_runs(step, graphs):
            cuts.setdefault(graph.path, {}).setdefault(step.index, []).append(step.revisions[1])
    return {
        path: {index: sorted(some) for index, some in sorted(lines.items())}
        for path, lines in cuts.items()
    }


def _of_the_same_runs(step: DrawnStep, graphs: GraphSet) -> Iterator[Graph]:
    # TPS is latency seen from behind: where one steps, so does the other
    of = metric_named(step.facts["metric"])
    for metric in METRICS:
        same = metric == of or (metric.higher_is_better and not of.exact)
        for graph in graphs.get_graph_group(benchmark_name(step.facts["mode"], metric)):
            if same and graph.params == step.graph.params:
                yield graph


def numbers_of(graph: Graph) -> Numbers:
    """The revisions of *graph* and, of each, the number of each line: NaN where there is none."""
    data = graph.get_data()
    revisions = np.array([row[0] for row in data], dtype=np.int64)
    rows = [[row[1]] if graph.scalar_series else row[1] for row in data]
    # a graph of commits that have no number yet has no rows
    return revisions, np.array(rows, dtype=float).reshape(len(rows), graph.n_series or 1)


def levels(drawn: Numbers, cuts: Cuts) -> list[Any]:
    """What an asv Graph of these numbers is to keep as its steps: for each line its levels.

    Each is (first revision, last revision + 1, median, least, mean distance from the median).
    """
    revisions, numbers = drawn
    lines = []
    for index in range(numbers.shape[1]):
        known = ~np.isnan(numbers[:, index])
        places, values = revisions[known], numbers[known, index]
        ends = [0, *np.searchsorted(places, cuts.get(index, [])), len(places)]
        lines.append([_level(places[a:b], values[a:b]) for a, b in pairwise(ends) if a < b])
    return lines


def _level(places: Ints, values: Floats) -> tuple[int, int, float, float, float]:
    middle = float(np.median(values))
    error = float(np.abs(values - middle).mean())
    return int(places[0]), int(places[-1]) + 1, middle, float(values.min()), error


class Nominations(OutputPublisher):  # type: ignore[misc]
    """Nominations writes our Steps for the worse where asv has written what it took for some."""

    name = "landspeed-steps"
    button_label = "Steps"
    description = "Steps for the worse"
    order = 4

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Called by ``asv publish`` after its own regressions (3), whose files these replace."""
        del repo
        if not (Path(conf.results_dir) / STEPS_FILE).is_file():
            return
        found = [
            step
            for step in drawn(Path(conf.results_dir), graphs, benchmarks, revisions)
            if step.facts["worse"]
        ]
        hashes = {number: commit for commit, number in revisions.items()}
        several = {name for name, values in graphs.get_params().items() if len(values) > 1}
        if len(conf.branches) > 1:
            # the page asks for it as soon as there is a choice, drawn or not
            several.add("branch")
        html, project = Path(conf.html_dir), conf.project
        page = {
            "regressions": [_row(step, several) for step in found],
            "sizes": {step.ignore_key(project, hashes): step.size for step in found},
        }
        util.write_json(str(html / "regressions.json"), page, compact=True)
        entries = [_entry(step, benchmarks, several, hashes) for step in found]
        entries.sort(key=lambda entry: entry.updated, reverse=True)
        feed.write_atom(
            str(html / "regressions.xml"),
            entries,
            title=f"{project} performance regressions",
            author="landspeed",
            address=f"{project}.landspeed",
        )
        cuts = cuts_of(Path(conf.results_dir), graphs, benchmarks, revisions)
        keep(benchmarks, conf.branches, graphs, revisions, cuts)


def _row(step: DrawnStep, several: set[str]) -> list[Any]:
    """What asv's page takes for a row (asv.plugins.regressions)."""
    params = {name: value for name, value in step.graph.params.items() if name in several}
    steps = step.graph.get_steps()
    levels = steps if step.graph.scalar_series else steps[step.index]
    last, best = levels[-1][2], min(level[2] for level in levels)
    jump = [*step.revisions, *step.facts["levels"]]
    return [step.title, f"{step.graph.path}.json", params, step.index, last, best, [jump]]


def _entry(
    step: DrawnStep, benchmarks: Mapping[str, Any], several: set[str], hashes: Mapping[int, str]
) -> feed.FeedEntry:
    facts, name = step.facts, step.graph.benchmark_name
    first, second = facts["commits"]
    query = {key: value for key, value in step.graph.params.items() if key in several}
    names = benchmarks[name]["param_names"]
    query |= {f"p-{key}": value for key, value in zip(names, facts["spelled"], strict=True)}
    query["commits"] = second if step.revisions[0] is None else f"{first}-{second}"
    low, high = (f"{100 * (end - 1):+.3g} %" for end in facts["interval"])
    before, after = (f"{level:.4g} {facts['unit']}" for level in facts["levels"])
    sure = "exact" if facts["p_value"] is None else f"p = {facts['p_value']:.1g}"
    told = (
        f"{facts['status']}: {escape(step.title)}<br>from {before} to {after} between "
        f"{_name(facts['before'])} and {_name(facts['after'])}; "
        f"95 % interval {low} … {high}; {sure}."
    )
    sides = ["" if one is None else hashes[one] for one in step.revisions]
    return feed.FeedEntry(
        title=f"{100 * (facts['ratio'] - 1):+.3g} % [{low}, {high}] {step.title}",
        updated=datetime.fromisoformat(facts["time"]),
        link=f"index.html#{name}?{urlencode(query)}",
        content=told,
        id_context=[step.title, *sides],
        id_date=datetime.fromisoformat(facts["after"]["date"]),
    )


def _name(origin: Mapping[str, Any]) -> str:
    return str(origin["release"] or str(origin["commit"])[:10])


def _later(graphs: GraphSet, pool: Any = None, dots: Any = None) -> None:
    """Instead of asv's step detection, which takes most of its time: it waits until asked for."""
    del graphs, pool, dots


GraphSet.detect_steps = _later
