"""``landspeed list``: known versions, builds and measurements."""

from __future__ import annotations

import click

from benchmarks.workloads.catalog import workloads as workload_list
from landspeed.campaign.inventory import listing, render_listing
from landspeed.cli.options.kinds import flag
from landspeed.cli.options.output import emit_either, json_option
from landspeed.cli.options.workloads import catalog_table
from landspeed.session.session import Session


@click.command("list")
@flag("--workloads", "List the workloads of the catalog.")
@json_option
def list_(*, workloads: bool) -> None:
    """List the known versions, the builds and the measurements.

    \b
    Examples:
      landspeed list
      landspeed list --json
      landspeed list --workloads
    """
    if workloads:
        chosen = workload_list()
        emit_either(catalog_table(chosen), [one.facts() for one in chosen])
        return
    rows = listing(Session())
    emit_either(render_listing(rows), [vars(row) for row in rows])
