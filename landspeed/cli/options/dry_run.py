"""--dry-run: check the request and show what would be done.

The first job of a workflow runs a verb with --dry-run on any runner, and learns from its outputs
which runner the real run needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from benchmarks.workloads.metrics import Metric
from landspeed.cli.options.common import emit_either
from landspeed.console.github_log import put_outputs
from landspeed.farm.runners import runner_labels

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Check the request and show what would be done; do nothing."
)


def show_dry_run(
    text: str, facts: Mapping[str, Any], *, as_json: bool, metric: Metric | None = None
) -> None:
    """Print what would be done: *text*, or *facts* as JSON.

    With *metric*, *facts* and the labels of the runner that measures it become step outputs.
    """
    if metric is not None:
        facts = {"runner": runner_labels(metric), **facts}
        put_outputs(facts)
    emit_either(text, dict(facts), as_json=as_json)
