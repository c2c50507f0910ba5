"""``landspeed show``: the runs behind a point."""

from __future__ import annotations

from dataclasses import asdict

import click

from base.errors import UsageError
from benchmarks.records.identical_builds import IdenticalBuild
from landspeed.cli.options.output import as_json, emit, emit_either, emit_json, json_option
from landspeed.profiling.guards import guard_map, guarded_table, guards_of, guards_table
from landspeed.results.point_query import SPELLING, parse_point
from landspeed.results.show import details, find_points, overview
from landspeed.session.session import Session


@click.command("show", epilog=f"POINT is {SPELLING}, an address of the site, or run:ID.")
@click.argument("point", required=False)
@click.option(
    "--guards",
    metavar="FUNCTION|PATH",
    help="Instead of a point, show which counted workloads execute this function of the server, "
    "such as ExecHash or 'ExecHash*', and the share of their instructions that is spent there. Of "
    "a file or directory, such as src/backend/executor, show how many functions they execute, of "
    "all and of those that PostgreSQL's regression tests reach.",
)
@json_option
def show_(point: str | None, guards: str | None) -> None:
    """Show a point: its numbers, its runs and their raw records.

    A point is what one dot of the site stands for: one build measured in one scenario.

    \b
    Examples:
      landspeed show 18.6/read-only
      landspeed show 18.6:bs4/read-write/prepared/small/c4
      landspeed show '#read_only.track_latency?p-clients=4&blocksize=8' --json
      landspeed show --guards 'tuplesort_*'
      landspeed show --guards src/backend/executor
    """
    session = Session()
    if guards is not None and point is None:
        _show_guards(session, guards)
        return
    if point is None or guards is not None:
        raise UsageError("show needs a POINT or --guards, one of the two")
    query = parse_point(point, session.builder.sources.release_at)
    points = find_points(
        session.records.table(), query, session.records.identical_builds.read(IdenticalBuild)
    )
    records = session.records.records([run.id for p in points for run in p.runs])
    if as_json():
        by_id = {record.id: record.to_json() for record in records}
        emit_json(
            [
                p.facts() | {"records": [by_id[r.id] for r in p.runs if r.id in by_id]}
                for p in points
            ]
        )
        return
    shown = details(points[0], list(records)) if len(points) == 1 else overview(points)
    emit(shown)


def _show_guards(session: Session, asked: str) -> None:
    """Print what executes a function; of a path, how many of its functions are executed."""
    if "/" in asked:
        files = guard_map(session.paths, session.records, session.builder, asked).files
        emit_either(guarded_table(files), [asdict(f) for f in files])
        return
    found = guards_of(session.paths, session.records, asked)
    emit_either(guards_table(found), [asdict(one) for one in found])
