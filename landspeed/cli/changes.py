"""``landspeed changes``: the changes of level in all series, listed or confirmed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from math import inf

import click
from rich.table import Table

from base.errors import RefError, UsageError, raise_if
from benchmarks.workloads.metrics import METRICS
from landspeed.changepoints.changepoint import (
    Changepoint,
    ChangepointStatus,
    Confirmation,
    newest,
    status_counts_text,
)
from landspeed.changepoints.confirm import ConfirmRun, confirmations_facts
from landspeed.changepoints.detect import ChangepointScan
from landspeed.changepoints.scan import scan_records
from landspeed.cli.options.asked import read_json
from landspeed.cli.options.kinds import budget_option, flag
from landspeed.cli.options.output import (
    as_json,
    dry_run_option,
    emit_either,
    json_option,
    show_dry_run,
)
from landspeed.cli.options.scenario import seconds_option
from landspeed.console.format import change, counted
from landspeed.console.params import parse_duration, spell_duration
from landspeed.console.progress import duration, say
from landspeed.console.table import rich_table
from landspeed.farm.bisect_confirmed import bisect_confirmed
from landspeed.results.series import RELEASES_LINE
from landspeed.session.session import Session
from landspeed.stats.changepoint_online import SHORTEST
from landspeed.stats.changepoint_short import SAMPLES_NEEDED

_LISTED = ""  # --confirm without FILE


@click.command("changes")
@click.option(
    "--metric", type=click.Choice([m.name for m in METRICS]), help="Metric; by default all but tps."
)
@click.option(
    "--since",
    metavar="WHEN",
    help="Only changes at or after a release, such as 17.0, or a date, such as 2026-11-01.",
)
@flag("--all", "Include changes that may well be noise.", name="doubtful_too")
@click.option(
    "--confirm",
    "file",
    is_flag=False,
    flag_value=_LISTED,
    metavar="[FILE|-]",
    help="Compare the two sides of each change on fresh samples. Takes the changes that would be "
    "listed, or those in FILE (- for stdin), which --json wrote.",
)
@budget_option("30min", "With --confirm: time for each change")
@click.option(
    "--total",
    type=parse_duration,
    metavar="DURATION",
    help="With --confirm: time for everything together; the rest stays to be confirmed.",
)
@seconds_option
@flag("--fresh", "With --confirm: test again what was confirmed or refuted.")
@flag(
    "--bisect",
    "With --confirm: bisect each confirmed regression within the same budget, and keep the report.",
    name="bisect_too",
)
@dry_run_option
@json_option
def changes_(
    *,
    metric: str | None,
    since: str | None,
    doubtful_too: bool,
    file: str | None,
    budget: float,
    total: float | None,
    seconds: int,
    fresh: bool,
    bisect_too: bool,
    dry_run: bool,
) -> None:
    """List the changes of level in all series, or confirm them.

    The list says between which two points the level changed, by how much, and how sure that is.
    One in twenty of the listed changes may be noise; --all also lists those that are doubtful
    because so many series were searched.

    --confirm measures both sides again. A change is confirmed when the fresh comparison finds a
    change in the same direction. It is refuted when the comparison excludes even half of the
    change, or finds one in the other direction. Both outcomes are recorded.

    \b
    Examples:
      landspeed changes
      landspeed changes --since 17.0 --metric latency
      landspeed changes --since 2026-11-01 --json > changes.json
      landspeed changes --confirm changes.json --budget 1h --json
      landspeed changes --confirm --dry-run
      landspeed changes --confirm --bisect
    """
    if file is None and (fresh or bisect_too or dry_run):
        raise UsageError("--fresh, --bisect and --dry-run need --confirm", hint="Add --confirm.")
    if file and (metric or since or doubtful_too):
        raise UsageError(
            "--metric, --since and --all do not go with a file",
            detail="They choose among the changes that would be listed; a file has its own.",
            hint="Leave them out, or give them to the command that writes the file.",
        )
    given = read_changes(file) if file else None
    session = Session()
    if given is None:
        listed, said = _listed(session, metric, since, doubtful_too=doubtful_too)
        if file is None:
            if listed or as_json():
                emit_either(changes_table(listed), [one.facts() for one in listed])
            say(said)
            return
        given = listed
    if dry_run:
        words = f"would compare {counted(len(given), 'change')}, at most {duration(budget)} each"
        facts = {"changes": [one.facts() for one in given], "budget": spell_duration(budget)}
        return show_dry_run("\n".join([words, *map(str, given)]), facts)
    end = time.monotonic() + (inf if total is None else total)
    run = ConfirmRun(session=session, budget=budget, end=end, seconds=seconds, fresh=fresh)
    _confirm(run, given, bisect_too=bisect_too)


def _confirm(run: ConfirmRun, given: Sequence[Changepoint], *, bisect_too: bool) -> None:
    found = run.of(given)
    emit_either(confirmations_table(found), confirmations_facts(found))
    notes = run.session.records.confirmations.read(Confirmation)
    say(status_counts_text(newest(notes).values()))
    # All bisections end before the first is told.
    for note in list(bisect_confirmed(run, found)) if bisect_too else ():
        say(f"bisected: {note.report.title}")
    raise_if(run.failure(len(found)))


def _listed(
    session: Session, metric: str | None, since: str | None, *, doubtful_too: bool
) -> tuple[list[Changepoint], str]:
    """Return the changes that the options select, and a sentence on what was searched."""
    found = scan_records(session, metric)
    listed = list(found.changepoints) if doubtful_too else found.nominated()
    if since is not None:
        wanted = since_filter(since, session.builder.sources.releases_branch())
        listed = [one for one in listed if wanted(one)]
    return listed, summary(found, len(listed))


def since_filter(since: str, releases: Iterable[str]) -> Callable[[Changepoint], bool]:
    """Return a test for changes at or after *since*: a date, or one of *releases* (in order).

    A release selects changes between releases only. RefError if *since* is neither.
    """
    order = {name: position for position, name in enumerate(releases)}
    if since in order:
        return lambda one: (
            one.line == RELEASES_LINE and order[str(one.after.release)] >= order[since]
        )
    try:
        day = date.fromisoformat(since).isoformat()
    except ValueError:
        raise RefError(
            f'"{since}" is neither a release nor a date',
            hint='Give a release of "landspeed list", or a date like 2026-11-01.',
        ) from None
    return lambda one: one.after.date >= day


def changes_table(changes: Iterable[Changepoint]) -> Table:
    """Return a table with one row for each of *changes*."""
    titles = ("between", "machine", "variant", "scenario", "metric", "change", "95 % interval")
    rows = (
        (
            f"{one.before.name} → {one.after.name}",
            one.machine,
            str(one.variant),
            one.scenario,
            one.metric,
            change(one.ratio),
            " … ".join(map(change, one.interval)),
            "exact" if one.p_value is None else f"{one.p_value:.1g}",
            one.basis.value,
            one.status,
        )
        for one in changes
    )
    return rich_table((*titles, "p", "by", "status"), rows, align="lllllrrrl")


def summary(found: ChangepointScan, shown: int) -> str:
    """Say what was searched and how much of it is shown."""
    if not found.judged and not found.short:
        return "no series yet: measure two releases or more"
    if not found.judged:
        return (
            f"{counted(found.short, 'series', 'series')}, none long enough to judge its noise: "
            f"that takes {SAMPLES_NEEDED} runs of each release, or {SHORTEST} commits"
        )
    changes = counted(shown, "change") if shown else "no change"
    parts = [f"{counted(found.judged, 'series', 'series')} searched, {changes}"]
    doubtful = sum(one.status is ChangepointStatus.DOUBTFUL for one in found.changepoints)
    if doubtful:
        parts.append(f"{doubtful} more may well be noise among so many series (--all)")
    if found.short:
        parts.append(f"{counted(found.short, 'series', 'series')} too short to judge noise")
    return "; ".join(parts)


def read_changes(path: str) -> list[Changepoint]:
    """Return the changes that the JSON at *path* lists (- for stdin); UsageError if it is none."""
    facts = read_json(path, hint='"landspeed changes --json" writes one.')
    if not isinstance(facts, list):
        raise UsageError(
            "this is not a list of changes", detail=f"The JSON is a {type(facts).__name__}."
        )
    return [Changepoint.parse(one) for one in facts]


def confirmations_table(found: Sequence[Confirmation]) -> Table:
    """Return a table with one row for each tested change."""
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
    titles = ("change", "status", "ratio", "99.9 % interval", "comparison or reason")
    return rich_table(titles, rows)
