"""``landspeed confirm``: steps of a trend put to the test on fresh samples."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click
from rich.table import Table

from base.errors import UsageError
from landspeed.bisect.report_markdown import markdown
from landspeed.changepoints.changepoint import Changepoint
from landspeed.changepoints.confirm import ConfirmRun, confirmations_facts
from landspeed.changepoints.confirmation import Confirmation, newest, status_counts_text
from landspeed.cli.options.common import emit, emit_json, json_option
from landspeed.cli.options.scenario import seconds_option
from landspeed.console.params import parse_duration
from landspeed.console.progress import say
from landspeed.console.table import rich_table
from landspeed.farm.bisect_confirmed import ConfirmedBisects
from landspeed.results.show import as_text
from landspeed.session.session import Session


def read_nominations(path: str) -> list[Changepoint]:
    """The Nominations at *path* (- for stdin), a JSON list of them; UsageError if it is none."""
    try:
        with click.open_file(path) as stream:
            facts = json.load(stream)
    except OSError as error:
        raise UsageError(f'could not read "{path}"', detail=str(error.strerror)) from error
    except ValueError as error:
        raise UsageError("this is not JSON", detail=str(error)) from error
    if not isinstance(facts, list):
        raise UsageError("this is not a list of steps", detail=f"It is {type(facts).__name__}.")
    return [Changepoint.parse(one) for one in facts]


def confirmations_table(found: Iterable[Confirmation]) -> Table:
    """A line for each changepoint: what it was, what it is, by how much."""
    rows = []
    for one in found:
        finding = one.finding or {}
        ratio, ends = finding.get("ratio"), finding.get("interval")
        row = (
            str(one.changepoint),
            one.status.value,
            f"{ratio:.4f}" if ratio else "-",
            " … ".join(f"{end:.4f}" for end in ends) if ends else "-",
            one.comparison or one.reason,
        )
        rows.append(row)
    return rich_table(("step", "is", "ratio", "99.9 % interval", "runs are"), rows)


@click.command("confirm")
@click.argument("steps", metavar="FILE")
@click.option("--budget", default="30min", show_default=True, help="Time for the runs of each.")
@seconds_option
@click.option("--fresh", is_flag=True, help="Test again what was confirmed or refuted.")
@click.option(
    "--bisect",
    "bisect_too",
    is_flag=True,
    help="Bisect what is confirmed and got worse, with the same budget each; keep the report.",
)
@json_option
def confirm_(
    *, steps: str, budget: str, seconds: int, fresh: bool, bisect_too: bool, as_json: bool
) -> None:
    """Put steps of a trend to the test: compare their two sides on fresh samples.

    A step is confirmed when the comparison finds a change that way, refuted when it shows that
    there is none of half that size, or one the other way; both are kept and counted. Steps are
    read as JSON from FILE, or from stdin where that is "-".

    \b
    Examples:
      landspeed steps --json | landspeed confirm -
      landspeed confirm steps.json --budget 1h --json
      landspeed confirm steps.json --bisect
    """
    nominations = read_nominations(steps)
    session = Session.open()
    inquiry = ConfirmRun(
        session=session, budget=parse_duration(budget), seconds=seconds, fresh=fresh
    )
    found = inquiry.of(nominations)
    if as_json:
        emit_json(confirmations_facts(found))
    else:
        emit(as_text(confirmations_table(found)))
    say(status_counts_text(newest(session.records.confirmations.all()).values()))
    inquest = ConfirmedBisects(session=session, budget=parse_duration(budget), seconds=seconds)
    for note in inquest.of(found) if bisect_too else ():
        say(f"bisected: {markdown(note['report']).partition(chr(10))[0].removeprefix('# ')}")
    error = inquiry.failure(len(found), inquest.errors)
    if error is not None:
        raise error
