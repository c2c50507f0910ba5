"""``landspeed verify``: servers built, and made to serve."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.table import Table

from base.build import Variant
from base.errors import LandspeedError
from landspeed.options import emit, emit_json, jobs_option, json_option, variant_options
from landspeed.show import as_text
from landspeed.systems import Pair, compare_systems, systems_failure, systems_table
from landspeed.target import parse_targets, require_sources
from landspeed.verify import Verified, verify, verify_failure, verify_table
from landspeed.workshop import Workshop


@click.command("verify")
@click.argument("refs", nargs=-1, required=True, metavar="REF[:VARIANT]...")
@variant_options
@click.option(
    "--build-systems",
    is_flag=True,
    help="Compare instead what configure and meson build of it (16 on): are they one server?",
)
@jobs_option
@json_option
def verify_(
    *, refs: tuple[str, ...], variant: Variant, build_systems: bool, jobs: int | None, as_json: bool
) -> None:
    """Build every REF and have it serve: initdb, start, sizes, psycopg, stop, all pgbench modes.

    Servers and clients run as a user other than root; nothing is recorded. One that fails keeps
    no other from being tried.

    \b
    Examples:
      landspeed verify 18
      landspeed verify 13 17.11 18:bs4 --json
      landspeed verify 16 17 18 --build-systems
    """
    targets = parse_targets(refs, variant)
    if build_systems:
        require_sources(targets)
        pairs = compare_systems(Workshop.open(), targets, jobs)
        _told(pairs, systems_table(pairs), systems_failure(pairs), as_json=as_json)
    else:
        rows = verify(Workshop.open(), targets, jobs)
        _told(rows, verify_table(rows), verify_failure(rows), as_json=as_json)


def _told(
    rows: Sequence[Verified] | Sequence[Pair],
    table: Table,
    error: LandspeedError | None,
    *,
    as_json: bool,
) -> None:
    if as_json:
        emit_json([row.facts() for row in rows])
    else:
        emit(as_text(table))
    if error is not None:
        raise error
