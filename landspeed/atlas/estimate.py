"""What is left of a search, and what it will take."""

from __future__ import annotations

from math import ceil, log
from typing import Any

from landspeed.atlas.run import Atlas
from landspeed.atlas.search import work_left
from landspeed.console.format import counted, percent
from landspeed.console.progress import duration


def estimate(atlas: Atlas) -> dict[str, Any]:
    """Return what is left to do: the grid, and each commit that will be found, in seconds."""
    question = atlas.question
    builds, counts = work_left(question, atlas.known())
    depth = ceil(log(max(2, question.spacing), 2))
    return {
        "commits": atlas.request.span,
        "candidates": question.last,
        "workloads": len(question.series),
        "builds": builds,
        "counts": counts,
        "hours": round((builds * question.build + counts * question.count) / 3600, 2),
        "builds_per_change": depth,
        "hours_per_change": round(
            (depth * question.build + (depth + 2 * len(question.series)) * question.count) / 3600, 2
        ),
    }


def summary_of(estimated: dict[str, Any], size: float) -> str:
    """Return what *estimated* says as a sentence or two."""
    hours = duration(3600 * estimated["hours"])
    each = duration(3600 * estimated["hours_per_change"])
    return (
        f"would search {estimated['commits']:,} commits, of which {estimated['candidates']:,} "
        f"change the server, for changes of {percent(size)} or more of "
        f"{counted(estimated['workloads'], 'workload')}: {counted(estimated['builds'], 'build')} "
        f"and {counted(estimated['counts'], 'count')} to begin with, about {hours}; then at most "
        f"{counted(estimated['builds_per_change'], 'build')} for each commit found, about {each}"
    )


def left_of(estimated: dict[str, Any]) -> str:
    """Return what *estimated* says of a share that was searched."""
    builds, counts = counted(estimated["builds"], "build"), counted(estimated["counts"], "count")
    return f"left in this share: {builds} and {counts}"
