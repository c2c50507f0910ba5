"""``landspeed list``: known versions, builds and measurements."""

from __future__ import annotations

import click

from benchmarks.workloads.catalog import choose
from landspeed.campaign.inventory import listing, render_listing
from landspeed.cli.options.common import emit, emit_json, json_option
from landspeed.cli.options.workloads import catalog_text
from landspeed.session.session import Session


@click.command("list")
@click.option("--workloads", is_flag=True, help="List the workloads of the catalog.")
@json_option
def list_(*, workloads: bool, as_json: bool) -> None:
    """List the known versions, the builds and the measurements.

    \b
    Examples:
      landspeed list
      landspeed list --json
      landspeed list --workloads
    """
    if workloads:
        chosen = choose([], "all")
        if as_json:
            emit_json([one.facts() for one in chosen])
        else:
            emit(catalog_text(chosen))
        return
    rows = listing(Session.open())
    if as_json:
        emit_json([row.facts() for row in rows])
    else:
        emit(render_listing(rows))
