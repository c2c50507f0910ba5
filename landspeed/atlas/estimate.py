"""What is left of a search, and what it will take."""

from __future__ import annotations

import os
from math import ceil, log
from typing import Any

from benchmarks.data.templates import LIMIT, template_limit
from landspeed.atlas.repeat import due_again
from landspeed.atlas.run import Atlas
from landspeed.atlas.search import work_left
from landspeed.console.format import counted, percent
from landspeed.console.progress import duration

# Of a commit of 18: its files, its loaded data sets, and the profile of a count.
_BUILD_BYTES, _DATA_BYTES, _PROFILE_BYTES = 20e6, 0.7e9, 20e3


def estimate(atlas: Atlas) -> dict[str, Any]:
    """Return what is left to do: the grid, and each commit that will be found, in seconds.

    ``disk_gb`` is what builds, data and profiles take at most; the oldest data are deleted first.
    """
    question, known = atlas.question, atlas.known()
    builds, counts = work_left(question, known)
    counts += 2 * len(due_again(atlas, known))
    data = min(builds * _DATA_BYTES, template_limit(dict(os.environ)))
    depth = ceil(log(max(2, min(question.spacing, question.last)), 2))
    return {
        "commits": atlas.request.span,
        "candidates": question.last,
        "workloads": len(question.series),
        "builds": builds,
        "counts": counts,
        "hours": round(question.seconds(builds, counts) / 3600, 2),
        "disk_gb": round((builds * _BUILD_BYTES + data + counts * _PROFILE_BYTES) / 1e9, 1),
        "builds_per_change": depth,
        "hours_per_change": round(
            question.seconds(depth, depth + 2 * len(question.series)) / 3600, 2
        ),
    }


def summary_of(estimated: dict[str, Any], size: float) -> str:
    """Return what *estimated* says as a sentence or two."""
    what = (
        f"would search {estimated['commits']:,} commits, of which {estimated['candidates']:,} "
        f"change the server, for changes of {percent(size)} or more of "
        f"{counted(estimated['workloads'], 'workload')}"
    )
    if not estimated["builds"] and not estimated["counts"]:
        return f"{what}: nothing is left to be built or counted"
    hours = duration(3600 * estimated["hours"])
    each = duration(3600 * estimated["hours_per_change"])
    return (
        f"{what}: {counted(estimated['builds'], 'build')} "
        f"and {counted(estimated['counts'], 'count')} to begin with, about {hours} and "
        f"{estimated['disk_gb']} GB of disk ({LIMIT} limits the data); then at most "
        f"{counted(estimated['builds_per_change'], 'build')} for each commit found, about {each}"
    )


def left_of(estimated: dict[str, Any]) -> str:
    """Return what *estimated* says of a share that was searched."""
    builds, counts = counted(estimated["builds"], "build"), counted(estimated["counts"], "count")
    return f"left in this share: {builds} and {counts}"
