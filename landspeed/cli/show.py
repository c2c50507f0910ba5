"""``landspeed show``: the runs behind a point."""

from __future__ import annotations

import click

from landspeed.cli.options.common import emit, emit_json, json_option
from landspeed.console.table import as_text
from landspeed.results.point_query import SPELLING, parse_point
from landspeed.results.show import details, find_points, overview
from landspeed.session.session import Session


@click.command("show", epilog=f"POINT is {SPELLING}, an address of the site, or run:ID.")
@click.argument("point")
@json_option
def show_(point: str, as_json: bool) -> None:
    """Show a point: its numbers, its runs and their raw records.

    A point is what one dot of the site stands for: one build measured in one scenario.

    \b
    Examples:
      landspeed show 18.6/read-only
      landspeed show 18.6:bs4/read-write/prepared/small/c4
      landspeed show '#read_only.track_latency?p-clients=4&blocksize=8' --json
    """
    session = Session.open()
    query = parse_point(point, session.builder.sources.release_at)
    points = find_points(session.records.table(), query, session.records.identical_builds.all())
    records = session.records.records([run.id for p in points for run in p.runs])
    if as_json:
        by_id = {record.id: record.to_json() for record in records}
        emit_json([p.facts() | {"records": [by_id[run.id] for run in p.runs]} for p in points])
        return
    shown = details(points[0], list(records)) if len(points) == 1 else overview(points)
    emit(as_text(shown))
