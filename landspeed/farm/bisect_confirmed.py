"""Bisect confirmed changepoints: find the commit, and where in the code its cost is.

One bisection serves all changepoints between the same two commits. It takes the exact one, else
the largest, and its report becomes a note beside the records.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from shlex import join

from base.errors import LandspeedError
from benchmarks.workloads.metrics import metric_named
from landspeed.bisect.commit_range import commit_range
from landspeed.bisect.note import BisectionNote
from landspeed.bisect.report_build import report_of
from landspeed.bisect.run import bisect
from landspeed.bisect.search import BisectRequest
from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus, Confirmation
from landspeed.changepoints.confirm import ConfirmRun
from landspeed.compare.prepare import sampler_of
from landspeed.compare.side import parse_scenario
from landspeed.compare.verdict import COUNTED_DIFFERENCE
from landspeed.console.progress import say
from landspeed.session.target import Target


def bisect_confirmed(
    run: ConfirmRun, confirmations: Iterable[Confirmation]
) -> Iterator[BisectionNote]:
    """Bisect what was not bisected before, within the limits of *run*; yield and store a note each.

    A bisection that fails is added to the errors of *run*, and does not stop the others.
    """
    notes = run.session.records.bisections
    known = {note.nomination for note in notes.read(BisectionNote)}
    for group in _groups(confirmations, run.session.machine.name):
        if known & {one.key for one in group} or time.monotonic() >= run.end:
            continue
        chosen = max(group, key=lambda one: (metric_named(one.metric).exact, one.ratio))
        try:
            note = _bisect(run, chosen)
            if note is None:
                say(f"later, because the total time is spent: {chosen}")
                continue
        except LandspeedError as error:
            run.errors.append(error)
            say(f"{chosen}\n{error}")
            continue
        notes.add(note)
        yield note


def _groups(confirmations: Iterable[Confirmation], machine: str) -> list[list[Changepoint]]:
    """Group what got worse on *machine* by the two commits that it happened between."""
    found: dict[tuple[str, str], list[Changepoint]] = {}
    for confirmation in confirmations:
        one = confirmation.changepoint
        is_confirmed = confirmation.status is ChangepointStatus.CONFIRMED
        if not (is_confirmed and one.worse and one.machine == machine):
            continue
        before, after = one.before, one.after
        # Thousands of commits lie between two releases: a person decides about that.
        if before.commit and after.commit and not (before.release or after.release):
            found.setdefault((before.commit, after.commit), []).append(one)
    return list(found.values())


def _bisect(run: ConfirmRun, one: Changepoint) -> BisectionNote | None:
    """Return the note of a bisection; None if the total time ended it before its own budget."""
    sources, metric = run.session.builder.sources, metric_named(one.metric)
    ends = [str(origin.commit) for origin in (one.before, one.after)]
    scenario = parse_scenario(one.scenario, seconds=run.seconds)
    request = BisectRequest(
        sampler=sampler_of(run.session, scenario, metric),
        commits=commit_range(sources, *ends),
        variant=one.variant,
        size=COUNTED_DIFFERENCE if metric.exact else one.precision,
        budget=run.budget,
    )
    # The budget of a bisection counts earlier sessions, the total does not.
    with request.journal(fresh=False) as journal:
        budget = min(run.budget, journal.spent + run.end - time.monotonic())
    result = bisect(replace(request, budget=budget))
    if result.conclusion.decision is None and budget < run.budget:
        return None
    return BisectionNote(
        nomination=one.key,
        time=datetime.now(UTC).isoformat(timespec="milliseconds"),
        report=report_of(result, sources.history, _command(one, ends)),
    )


def _command(one: Changepoint, ends: Sequence[str]) -> str:
    words = ["landspeed", "bisect", *(Target(ref=end, variant=one.variant).short for end in ends)]
    return join([*words, "--metric", one.metric, "--scenario", one.scenario])
