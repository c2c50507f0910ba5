"""landspeed's changepoints on asv's page of regressions, in its feed and in its list of values.

An asv plug-in, named in asv.conf.json. The changepoints come from a file beside asv's results,
which is derived from the records as well. Without the file, asv's own step detection is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from asv import feed, util
from asv.graph import GraphSet
from asv.publishing import OutputPublisher

from base.files import canonical_json, write_atomic
from landspeed.changepoints.changepoint import Changepoint
from landspeed.results.params import asv_cell
from landspeed.site.asv_incremental.levels import (
    STEPS_FILE,
    DrawnChangepoint,
    cuts_of,
    drawn_changepoints,
    levels,
    numbers_of,
    set_levels,
)
from landspeed.site.asv_results import CommitOf
from landspeed.site.pages.frame import TRENDS

_SHOWN = ("nominated", "confirmed")


def write_steps(steps: Iterable[Changepoint], commit_of: CommitOf, results: Path) -> None:
    """Write *steps* into asv's *results*, one a line, for the publishers below.

    Doubtful and refuted ones are left out, and those that have no commit to be drawn at.
    """
    lines = []
    for step in steps:
        commits = [at[0] for at in map(commit_of, (step.before, step.after)) if at]
        if step.status in _SHOWN and len(commits) == 2:
            _, params = asv_cell(step.mode, step.params)
            facts = step.facts() | {
                "commits": commits,
                "spelled": list(params.spelled()),
                "axes": step.variant.axes(),
                "variant": step.variant.name,
            }
            lines.append(canonical_json(facts) + "\n")
    write_atomic(results / STEPS_FILE, "".join(lines), durable=False)


class Levels(OutputPublisher):  # type: ignore[misc]
    """Give asv's graphs the levels between the changepoints, before asv's own pages use them."""

    name = "landspeed-levels"
    button_label = "Levels"
    description = "Levels between changepoints"
    order = 0

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Called by ``asv publish`` before its list of values (1) and its regressions (3)."""
        del repo
        results = Path(conf.results_dir)
        if (results / STEPS_FILE).is_file():
            cuts = cuts_of(results, graphs, benchmarks, revisions)
            for path, graph in graphs:
                set_levels(graph, levels(numbers_of(graph), cuts.get(path, {})))


class Changepoints(OutputPublisher):  # type: ignore[misc]
    """Write the changepoints for the worse in place of the regressions that asv has found."""

    name = "landspeed-steps"
    button_label = "Changes"
    description = "Changes for the worse"
    order = 4

    @classmethod
    def publish(cls, conf: Any, repo: Any, benchmarks: Any, graphs: Any, revisions: Any) -> None:
        """Called by ``asv publish`` after its own regressions (3), whose files these replace."""
        del repo
        if not (Path(conf.results_dir) / STEPS_FILE).is_file():
            return
        found = [
            one
            for one in drawn_changepoints(Path(conf.results_dir), graphs, benchmarks, revisions)
            if one.facts["worse"]
        ]
        hashes = {number: commit for commit, number in revisions.items()}
        several = _several(graphs)
        if len(conf.branches) > 1:
            # The page asks for the branch as soon as there is a choice, drawn or not.
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


def _several(graphs: GraphSet) -> set[str]:
    """Return the parameters of *graphs* that have several values."""
    values: dict[str, set[Any]] = {}
    for _, graph in graphs:
        for name, value in graph.params.items():
            values.setdefault(name, set()).add(value or None)
    return {name for name, some in values.items() if len(some - {None}) > 1}


def _row(step: DrawnChangepoint, several: set[str]) -> list[Any]:
    """Return the row of asv's page (see asv.plugins.regressions)."""
    params = {name: value for name, value in step.graph.params.items() if name in several}
    steps = step.graph.get_steps()
    levels = steps if step.graph.scalar_series else steps[step.index]
    last, best = levels[-1][2], min(level[2] for level in levels)
    jump = [*step.revisions, *step.facts["levels"]]
    return [step.title, f"{step.graph.path}.json", params, step.index, last, best, [jump]]


def _entry(
    step: DrawnChangepoint,
    benchmarks: Mapping[str, Any],
    several: set[str],
    hashes: Mapping[int, str],
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
    text = (
        f"{facts['status']}: {escape(step.title)}<br>from {before} to {after} between "
        f"{_name(facts['before'])} and {_name(facts['after'])}; "
        f"95 % interval {low} … {high}; {sure}."
    )
    sides = ["" if one is None else hashes[one] for one in step.revisions]
    return feed.FeedEntry(
        title=f"{100 * (facts['ratio'] - 1):+.3g} % [{low}, {high}] {step.title}",
        updated=datetime.fromisoformat(facts["time"]),
        link=f"{TRENDS}#{name}?{urlencode(query)}",
        content=text,
        id_context=[step.title, *sides],
        id_date=datetime.fromisoformat(facts["after"]["date"]),
    )


def _name(origin: Mapping[str, Any]) -> str:
    return str(origin["release"] or str(origin["commit"])[:10])
