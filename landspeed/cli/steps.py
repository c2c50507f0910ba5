"""``landspeed steps``: the changes of level in all series, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date

import click
from rich.table import Table

from base.errors import RefError
from benchmarks.workloads.metrics import METRICS
from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus
from landspeed.changepoints.detect import ChangepointScan
from landspeed.changepoints.scan import scan_records
from landspeed.cli.options.common import emit, emit_json, json_option
from landspeed.console.format import change
from landspeed.console.progress import say
from landspeed.console.table import rich_table
from landspeed.results.series import RELEASES_LINE
from landspeed.results.show import as_text
from landspeed.session.session import Session
from landspeed.stats.changepoint_online import SHORTEST
from landspeed.stats.changepoint_short import SAMPLES_NEEDED

_TITLES = ("step", "machine", "variant", "scenario", "metric", "change", "95 % interval")


@click.command("steps")
@click.option(
    "--metric", type=click.Choice([m.name for m in METRICS]), help="By default all but tps."
)
@click.option("--since", metavar="WHEN", help="Only steps at or after a release or a date.")
@click.option("--all", "doubtful_too", is_flag=True, help="Also those that may well be noise.")
@json_option
def steps_(*, metric: str | None, since: str | None, doubtful_too: bool, as_json: bool) -> None:
    """Where did a series change its level: between which two, by how much, how sure.

    A step nominates: it says where fresh samples are worth taking, and no more. Of those that
    are listed one in twenty may be noise; --all lists what the number of series makes doubtful.

    \b
    Examples:
      landspeed steps
      landspeed steps --since 17.0 --metric latency
      landspeed steps --since 2026-11-01 --json
    """
    session = Session.open()
    found = scan_records(session, metric)
    shown = list(found.changepoints) if doubtful_too else found.nominated()
    if since is not None:
        wanted = since_filter(since, session.builder.sources.releases_branch())
        shown = [step for step in shown if wanted(step)]
    if as_json:
        emit_json([step.facts() for step in shown])
    elif shown:
        emit(as_text(steps_table(shown)))
    say(summary(found, len(shown)))


def since_filter(since: str, releases: Iterable[str]) -> Callable[[Changepoint], bool]:
    """Whether a Step is at or after *since*: a date, or a release of *releases* (in order).

    RefError if it is neither. A release asks for steps between releases.
    """
    order = {name: position for position, name in enumerate(releases)}
    if since in order:
        return lambda step: (
            step.line == RELEASES_LINE and order[str(step.after.release)] >= order[since]
        )
    try:
        day = date.fromisoformat(since).isoformat()
    except ValueError:
        raise RefError(
            f'"{since}" is no release and no date',
            hint='Give a release of "landspeed list", or a date like 2026-11-01.',
        ) from None
    return lambda step: step.after.date >= day


def steps_table(steps: Iterable[Changepoint]) -> Table:
    """A line for each of *steps*."""
    titles = (*_TITLES, "p", "by", "status")
    align = "".join("r" if title in ("change", "95 % interval", "p") else "l" for title in titles)
    rows = (
        (
            f"{step.before.name} → {step.after.name}",
            step.machine,
            str(step.variant),
            step.scenario,
            step.metric,
            change(step.ratio),
            " … ".join(map(change, step.interval)),
            "exact" if step.p_value is None else f"{step.p_value:.1g}",
            step.basis.value,
            step.status,
        )
        for step in steps
    )
    return rich_table(titles, rows, align=align)


def summary(found: ChangepointScan, shown: int) -> str:
    """What was looked at, in a line or two."""
    if not found.judged and not found.short:
        return "no series yet: measure two releases or more, then there is something to compare"
    if not found.judged:
        return (
            f"{found.short} series, none with enough points to judge its noise: "
            f"that takes {SAMPLES_NEEDED} runs of each release, or {SHORTEST} commits"
        )
    series = _count(found.judged, "series", "series")
    parts = [f"{series} looked at, {_count(shown, 'step', 'steps') if shown else 'no step'}"]
    doubtful = sum(one.status is ChangepointStatus.DOUBTFUL for one in found.changepoints)
    if doubtful:
        parts.append(f"{doubtful} more may well be noise among so many series (--all)")
    if found.short:
        parts.append(f"{found.short} series too short to judge noise")
    return "; ".join(parts)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
