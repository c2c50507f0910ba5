"""Bisect confirmed changepoints: find the commit, and where in the code its cost is.

One bisection serves all changepoints between the same two commits. It takes the exact one, else
the largest, and its report becomes a note beside the records.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from shlex import join

from base.errors import LandspeedError
from benchmarks.workloads.metrics import metric_named
from landspeed.bisect.commit_range import CommitRange, commit_range
from landspeed.bisect.note import BisectionNote
from landspeed.bisect.report_build import report_of
from landspeed.bisect.run import bisect
from landspeed.bisect.search import BisectRequest
from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus, Confirmation
from landspeed.compare.prepare import sampler_of
from landspeed.compare.side import CompareScenario, parse_scenario
from landspeed.compare.verdict import COUNTED_DIFFERENCE
from landspeed.console.progress import say
from landspeed.session.session import Session


@dataclass(kw_only=True)
class ConfirmedBisects:
    """Bisects confirmed changepoints one after the other; a failed one does not stop the others.

    ``budget``: Seconds for each bisection.
    ``end``: No bisection starts after the monotonic clock reads this.
    ``seconds``: Seconds that a timed run takes.
    ``errors``: Why bisections failed.
    """

    session: Session
    budget: float
    end: float = inf
    seconds: int = CompareScenario.seconds
    errors: list[LandspeedError] = field(default_factory=list)

    def of(self, confirmations: Iterable[Confirmation]) -> list[BisectionNote]:
        """Bisect what was not bisected before; return and store a note of each."""
        notes = self.session.records.bisections
        known = {note.nomination for note in notes.read(BisectionNote)}
        made = []
        for group in self._groups(confirmations):
            if known & {one.key for one in group} or time.monotonic() >= self.end:
                continue
            chosen = max(group, key=lambda one: (metric_named(one.metric).exact, one.ratio))
            try:
                note = self._bisect(chosen)
            except LandspeedError as error:
                self.errors.append(error)
                say(f"{chosen}\n{error}")
                continue
            notes.add(note)
            made.append(note)
        return made

    def _groups(self, confirmations: Iterable[Confirmation]) -> list[list[Changepoint]]:
        """Group what got worse on this machine by the two commits that it happened between."""
        found: dict[tuple[str, str], list[Changepoint]] = {}
        for confirmation in confirmations:
            one = confirmation.changepoint
            is_confirmed = confirmation.status is ChangepointStatus.CONFIRMED
            if not (is_confirmed and one.worse and one.machine == self.session.machine.name):
                continue
            before, after = one.before, one.after
            # Thousands of commits lie between two releases: a person decides about that.
            if before.commit and after.commit and not (before.release or after.release):
                found.setdefault((before.commit, after.commit), []).append(one)
        return list(found.values())

    def _bisect(self, one: Changepoint) -> BisectionNote:
        sources = self.session.builder.sources
        ends = [str(origin.commit) for origin in (one.before, one.after)]
        found = bisect(self._request(one, commit_range(sources, *ends)))
        return BisectionNote(
            nomination=one.key,
            time=datetime.now(UTC).isoformat(timespec="milliseconds"),
            report=report_of(found, sources.history, _command(one, ends)),
        )

    def _request(self, one: Changepoint, commits: CommitRange) -> BisectRequest:
        metric = metric_named(one.metric)
        return BisectRequest(
            sampler=sampler_of(
                self.session, parse_scenario(one.scenario, seconds=self.seconds), metric
            ),
            commits=commits,
            variant=one.variant,
            size=COUNTED_DIFFERENCE if metric.exact else one.precision,
            budget=min(self.budget, self.end - time.monotonic()),
        )


def _command(one: Changepoint, ends: Sequence[str]) -> str:
    variant = "" if one.variant.name == "bs8" else f":{one.variant}"
    words = ["landspeed", "bisect", *(f"{end[:10]}{variant}" for end in ends)]
    return join([*words, "--metric", one.metric, "--scenario", one.scenario])
