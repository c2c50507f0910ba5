"""The verbs about sets of builds: what to build where, and whether what was built serves."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.table import Table

from base.build import Variant
from base.errors import LandspeedError
from base.files import canonical_json
from landspeed.matrix import matrix_facts, matrix_targets
from landspeed.options import (
    emit,
    emit_json,
    jobs_option,
    json_option,
    variant_options,
    variants_options,
)
from landspeed.register import register as register_
from landspeed.show import as_text
from landspeed.systems import Pair, compare_systems, systems_failure, systems_table
from landspeed.target import parse_targets, require_sources
from landspeed.verify import Verified, verify_failure, verify_table
from landspeed.verify import verify as verify_
from landspeed.workshop import Workshop


@click.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF[:VARIANT]...")
@variant_options
@click.option(
    "--build-systems",
    is_flag=True,
    help="Compare instead what configure and meson build of it (16 on): are they one server?",
)
@jobs_option
@json_option
def verify(
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
        rows = verify_(Workshop.open(), targets, jobs)
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


@click.command()
@click.argument("foreign", metavar="PG_CONFIG")
@click.option("--name", help="Call it this; by default its version.")
@json_option
def register(*, foreign: str, name: str | None, as_json: bool) -> None:
    """Take a server that was built elsewhere for measuring, by its pg_config; print its name.

    It stays where it is. "landspeed run", "verify" and "show" take it as @NAME.

    \b
    Examples:
      landspeed register /usr/lib/postgresql/15/bin/pg_config --name debian15
      landspeed run @debian15 15 --preset quick
    """
    build = register_(Workshop.open(), foreign, name)
    if as_json:
        emit_json({"prefix": str(build.prefix), **build.facts()})
    else:
        emit(build.origin.name)


@click.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF[:VARIANT]...")
@variants_options
def matrix(*, refs: tuple[str, ...], variants: list[Variant]) -> None:
    """Print a set of builds as one line of JSON, the matrix of a GitHub Actions job.

    \b
    Examples:
      landspeed matrix 13 18 --blocksize 2 --blocksize 8
      landspeed matrix 18 --compiler gcc --compiler clang --flags O2 --flags O3-lto
      echo "matrix=$(landspeed matrix 17 18:bs4)" >> "$GITHUB_OUTPUT"
    """
    targets = matrix_targets(refs, variants)
    emit(canonical_json(matrix_facts(Workshop.open(), targets)))
