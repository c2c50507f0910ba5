"""Before a machine is taken for a job: is it a question at all, and which runner is to answer it.

The first job of a workflow that a person dispatches runs a verb with --dry-run on any machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

import click

from base.errors import UsageError
from benchmarks.asv_names import Metric
from landspeed.actions import put_outputs
from landspeed.options import emit, emit_json

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Check what is asked, say what would be done; run nothing."
)

# By whether a metric is exact: the variable that names the labels of the runner, and its default.
_LABELS = {
    True: ("LANDSPEED_EXACT_LABELS", "ubuntu-latest"),
    False: ("LANDSPEED_BENCH_LABELS", "self-hosted landspeed-bench"),
}
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def runner_labels(metric: Metric) -> list[str]:
    """The labels of the runner that *metric* is taken on; what is exact is so on any machine.

    From $LANDSPEED_EXACT_LABELS or $LANDSPEED_BENCH_LABELS, words with spaces between.
    """
    variable, default = _LABELS[metric.exact]
    labels = (os.environ.get(variable) or default).split()
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise UsageError(f'{variable}: "{label}" is not the label of a runner')
    return labels


def foretell(text: str, *, metric: Metric, facts: Mapping[str, Any], as_json: bool) -> None:
    """Say what would be done, and tell the workflow on which runner: outputs runner and facts."""
    told = {"runner": runner_labels(metric), **facts}
    put_outputs(told)
    if as_json:
        emit_json(told)
    else:
        emit(text)
