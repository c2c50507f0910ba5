"""The reports of searches over many workloads that are among the results, as other pages need them.

Writing their own pages takes matplotlib, see ``atlas_pages``; reading them does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Any

from base.files import read_json
from base.typed import from_json
from landspeed.atlas.report import AtlasReport
from landspeed.site.pages.report_page import PAGE, read_reports

ATLAS = "atlas"
"""The directory of the reports, see REPORTS of landspeed.site.pages.frame."""


def found_by_commit(reports: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what the searches in *reports* found, by commit: a row for each workload it changed.

    A row has the workload, the ratio after/before, the kind, the names of the functions that
    changed most, and the range of the search with the address of its page, from the site's root.
    A workload that several searches found at the same commit has a row of the longest range.
    Commits that cannot be told apart have none, because it may be another of them.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for directory, report in sorted(atlas_reports(reports), key=lambda one: one[1].commits):
        for one in (each for each in report.changes if each.among == 1):
            for workload in one.workloads:
                found.setdefault(one.commit.ref, {})[workload.workload] = {
                    "workload": workload.workload,
                    "ratio": workload.after / workload.before,
                    "kind": workload.kind,
                    "functions": [function.function for function in workload.functions],
                    "range": f"{report.good.name} to {report.bad.name}",
                    "page": f"{ATLAS}/{directory}/{PAGE}",
                }
    return {
        ref: sorted(rows.values(), key=lambda row: -abs(log(row["ratio"])))
        for ref, rows in found.items()
    }


def atlas_reports(reports: Path) -> Iterator[tuple[str, AtlasReport]]:
    """Yield the directory and the report of each search; one that cannot be read is left out."""

    def read(path: Path) -> tuple[str, AtlasReport]:
        return path.parent.name, from_json(AtlasReport, read_json(path))

    return read_reports("a search", reports, "*", read)
