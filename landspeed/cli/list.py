"""``landspeed list``: known versions, builds and measurements."""

from __future__ import annotations

import click

from landspeed.campaign.inventory import listing, render_listing
from landspeed.cli.options.common import emit, emit_json, json_option
from landspeed.session.session import Session


@click.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the known versions, the builds and the measurements.

    \b
    Examples:
      landspeed list
      landspeed list --json
    """
    rows = listing(Session.open())
    if as_json:
        emit_json([row.facts() for row in rows])
    else:
        emit(render_listing(rows))
