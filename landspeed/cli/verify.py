"""``landspeed verify``: servers built, and made to serve."""

from __future__ import annotations

import click

from base.build import Variant
from landspeed.campaign.smoke import verify, verify_failure, verify_table
from landspeed.cli.options.common import emit, emit_json, jobs_option, json_option, variant_options
from landspeed.results.show import as_text
from landspeed.session.session import Session
from landspeed.session.target import parse_targets


@click.command("verify")
@click.argument("refs", nargs=-1, required=True, metavar="REF[:VARIANT]...")
@variant_options
@jobs_option
@json_option
def verify_(*, refs: tuple[str, ...], variant: Variant, jobs: int | None, as_json: bool) -> None:
    """Build every REF and have it serve: initdb, start, sizes, psycopg, stop, all pgbench modes.

    Servers and clients run as a user other than root; nothing is recorded. One that fails keeps
    no other from being tried.

    \b
    Examples:
      landspeed verify 18
      landspeed verify 13 17.11 18:bs4 --json
    """
    rows = verify(Session.open(), parse_targets(refs, variant), jobs)
    if as_json:
        emit_json([row.facts() for row in rows])
    else:
        emit(as_text(verify_table(rows)))
    error = verify_failure(rows)
    if error is not None:
        raise error
