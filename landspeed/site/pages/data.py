"""The data files of the pages, from the records. Pure; ``page_files.sync`` writes them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.records.identical_builds import FailedBuild
from benchmarks.workloads.metrics import METRICS, Metric, benchmark_name
from landspeed.bisect.note import BisectionNote
from landspeed.changepoints.changepoint import Changepoint, Confirmation
from landspeed.results.params import Params, asv_cell, asv_choices
from landspeed.results.points import Dots
from landspeed.results.queue import Queue
from landspeed.results.series import PlaceOf
from landspeed.site.pages.changes import MEANINGS, Commits, changes
from landspeed.site.pages.finder import measured, search_lists
from landspeed.site.pages.page_files import json_file
from landspeed.site.pages.panels import Panel, panels
from landspeed.site.pages.samples import SAMPLES
from landspeed.site.pages.status import status_facts
from landspeed.site.pages.versions import categories, versions_of
from landspeed.site.pages.workloads import run_ids, workload_facts
from landspeed.stats.students_t import CONFIDENCE, interval_quantile

PAGES_DATA = "pages"
"""The directory beside the records that has the data files of the pages."""

LARGEST_FREEDOM = 200
"""Pages use the normal distribution from here on: Student's t equals it to three digits."""

_METHOD = (
    "Bars are 95 % t-intervals of the mean of independent runs, each on a freshly started server "
    "(“Student”, Biometrika 6(1), 1908). A single run has no interval."
)

GUARDS_INDEX = "guards/index.json"
"""The data file from which the page Guards learns of all others."""


def no_guards(reason: str) -> dict[str, str]:
    """Return the data files of the page Guards where *reason*, a sentence, keeps it empty."""
    return {GUARDS_INDEX: json_file({"reason": reason})}


@dataclass(frozen=True, kw_only=True)
class PageInputs:
    """What the pages show besides runs: changepoints and what was found out about them.

    ``confirmations``, ``bisections``, ``failures`` and ``queues`` are the records' notes,
    ``commits`` comes from git. ``profiles`` are the files of the profiles that are kept, by the
    record's id, ``samples`` the names of the files that write_samples() has written. ``plans``
    returns the plans of the records with these ids, of those that have any. ``guards`` are data
    files of their own. ``found`` is what searches over many workloads found, see found_by_commit().
    """

    steps: Sequence[Changepoint] = ()
    profiles: Mapping[str, Path] = field(default_factory=dict)
    samples: Sequence[str] = ()
    plans: Callable[[Collection[str]], Mapping[str, str]] = lambda _: {}
    confirmations: Sequence[Confirmation] = ()
    bisections: Sequence[BisectionNote] = ()
    failures: Sequence[FailedBuild] = ()
    queues: Sequence[Queue] = ()
    commits: Commits
    unsigned: Sequence[str] = ()
    found: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    guards: Mapping[str, str] = field(
        default_factory=lambda: no_guards("No workload is counted yet.")
    )


def page_files(dots: Dots, place_of: PlaceOf, inputs: PageInputs) -> dict[str, str | Path]:
    """Return every data file, path → text or the file to copy; equal arguments give equal files.

    They belong into PAGES_DATA of the results, from where asv's publishers copy them.

    Of a million runs, only those of releases and of the newest commits are read one by one.
    """
    versions = versions_of(dots.table)
    ordered = categories(dots.servers, versions, place_of)
    drawn = panels(dots, ordered)
    files: dict[str, str | Path] = {**inputs.guards}
    for panel in drawn:
        files[f"{panel.key.stem}.json"] = json_file(panel.facts(dots.toolchains) | _asv(panel))
        files[f"{panel.key.stem}.csv"] = panel.runs_csv()
    lists = search_lists(measured(dots, versions), place_of, inputs.commits)
    for name, rows in lists.items():
        files[f"search/{name}.json"] = json_file(rows)
    rows = changes(inputs.steps, inputs.confirmations, inputs.bisections, inputs.commits)
    files["changes.json"] = json_file(
        {"meanings": {state.value: words for state, words in MEANINGS.items()}, "rows": rows}
    )
    files["found.json"] = json_file(inputs.found)
    counts = workload_facts(dots, ordered, inputs.profiles)
    files["workloads.json"] = json_file(counts)
    shown = run_ids(counts)
    files["plans.json"] = json_file(inputs.plans(shown))
    files |= {f"profiles/{one}.json.gz": inputs.profiles[one] for one in shown}
    files["status.json"] = json_file(status_facts(dots, place_of, inputs.failures, inputs.queues))
    files["index.json"] = json_file(
        {
            "samples": [f"{SAMPLES}/{name}" for name in inputs.samples],
            "panels": [panel.heading() for panel in drawn],
            "order": list(ordered),
            "machines": dots.machines,
            "metrics": {metric.name: _metric(metric) for metric in METRICS},
            "searches": sorted(lists, reverse=True),
            "confidence": CONFIDENCE,
            "t_975": [round(interval_quantile(n), 6) for n in range(1, LARGEST_FREEDOM + 1)],
            "method": " ".join((_METHOD, *inputs.unsigned)),
        }
    )
    return files


def _asv(panel: Panel) -> dict[str, Any]:
    """Return the benchmark in asv of each metric, and the parameters of each variant."""
    key = panel.key
    group, params = asv_cell(key.mode, Params(key.protocol, key.scale, 0, key.profile))
    choices = asv_choices(group, params)
    del choices["p-clients"]
    return {
        "asv": {
            "benchmarks": {one.name: benchmark_name(group, one) for one in panel.metrics},
            "choices": choices,
            "axes": {dot.variant.name: dot.variant.axes() for dot, _ in panel.points},
        }
    }


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "unit": metric.unit,
        "meaning": metric.meaning,
        "better": "higher" if metric.higher_is_better else "lower",
        "exact": metric.exact,
    }
