"""--dry-run: check what is asked and say what would be done, before a machine is taken for it.

The first job of a workflow that a person dispatches runs a verb with --dry-run on any machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from benchmarks.workloads.metrics import Metric
from landspeed.cli.options.common import emit, emit_json
from landspeed.console.github_log import put_outputs
from landspeed.farm.runners import runner_labels

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Check what is asked, say what would be done; run nothing."
)


def foretell(text: str, *, metric: Metric, facts: Mapping[str, Any], as_json: bool) -> None:
    """Say what would be done, and tell the workflow on which runner: outputs runner and facts."""
    told = {"runner": runner_labels(metric), **facts}
    put_outputs(told)
    if as_json:
        emit_json(told)
    else:
        emit(text)
