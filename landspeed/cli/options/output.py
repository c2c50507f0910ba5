"""How data leaves on stdout: --json and --dry-run, and what obeys them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click
from rich.console import RenderableType

from benchmarks.workloads.metrics import Metric
from landspeed.cli.options.kinds import flag
from landspeed.console.format import printable
from landspeed.console.github_log import put_outputs
from landspeed.console.table import as_text
from landspeed.farm.runners import runner_labels

_JSON = "landspeed.json"


json_option = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, value: context.meta.update({_JSON: value}),
    help="Print JSON on stdout.",
)
"""--json, which no command receives: `emit_either` and `emit_json` obey it."""


dry_run_option = flag("--dry-run", "Check the request and show what would be done; do nothing.")


def as_json() -> bool:
    """Return whether --json was given."""
    return bool(click.get_current_context().meta[_JSON])


def emit(data: RenderableType) -> None:
    """Print data on stdout: a text without control characters, a table as plain lines."""
    click.echo(printable(data if isinstance(data, str) else as_text(data)))


def emit_either(data: RenderableType, facts: Any) -> None:
    """Print data on stdout: *facts* as JSON if --json was given, or else *data*."""
    if as_json():
        emit_json(facts)
    else:
        emit(data)


def emit_json(value: Any) -> None:
    """Print data as JSON on stdout, if --json was given."""
    if as_json():
        # a runner of GitHub Actions takes ##[ for a command; the escape means the same in JSON
        click.echo(json.dumps(value, indent=2, ensure_ascii=False).replace("##[", "#\\u0023["))


def show_dry_run(text: str, facts: Mapping[str, Any], metric: Metric | None = None) -> None:
    """Print what would be done: *text*, or *facts* as JSON.

    With *metric*, *facts* and the labels of the runner that measures it become step outputs.
    """
    if metric is not None:
        facts = {"runner": runner_labels(metric), **facts}
        put_outputs(facts)
    emit_either(text, facts)
