"""Bisecting what was confirmed: which commit did it, and where its cost went.

One bisection serves all that happened between the same two commits: that of the Changepoint that
is exact, or else of the largest. Its report is kept as a note beside the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from shlex import join
from typing import Any

from base.errors import LandspeedError
from benchmarks.clients.pgbench import Pgbench
from benchmarks.counted.count import exact_cell
from benchmarks.workloads.metrics import metric_named
from benchmarks.workloads.scenario import Cell
from landspeed.bisect.commit_range import CommitRange, commit_line
from landspeed.bisect.model import Hypothesis
from landspeed.bisect.report import report_facts
from landspeed.bisect.report_profile import explanation
from landspeed.bisect.run import BisectRequest, bisect
from landspeed.changepoints.changepoint import Changepoint, ChangepointStatus
from landspeed.changepoints.confirmation import Confirmation
from landspeed.compare.prepare import cells_of
from landspeed.compare.side import CompareScenario, parse_scenario
from landspeed.compare.verdict import COUNTED_DIFFERENCE
from landspeed.console.progress import say
from landspeed.session.session import Session


@dataclass(kw_only=True)
class ConfirmedBisects:
    """An ConfirmedBisects bisects Confirmations one after the other; ``budget`` is seconds for each.

    What failed is in ``errors``, and the others went on.
    """

    session: Session
    budget: float
    seconds: int = CompareScenario.seconds
    errors: list[LandspeedError] = field(default_factory=list)

    def of(self, confirmations: Iterable[Confirmation]) -> list[dict[str, Any]]:
        """The notes of those bisected now; what was bisected before is not again."""
        notes = self.session.records.bisections
        known = {note["nomination"] for note in notes.all()}
        made = []
        for group in self._groups(confirmations):
            if known & {one.key for one in group}:
                continue
            chosen = max(group, key=lambda one: (metric_named(one.metric).exact, one.ratio))
            try:
                note = self._one(chosen)
            except LandspeedError as error:
                self.errors.append(error)
                say(f"{chosen}\n{error}")
                continue
            notes.add(note)
            made.append(note)
        return made

    def _groups(self, confirmations: Iterable[Confirmation]) -> list[list[Changepoint]]:
        """What got worse between the same two commits on this machine, together."""
        found: dict[tuple[str, str], list[Changepoint]] = {}
        for one in confirmations:
            nomination = one.changepoint
            before, after = nomination.before, nomination.after
            here = nomination.machine == self.session.machine.name
            if (
                one.status is not ChangepointStatus.CONFIRMED
                or not here
                or not _is_worse(nomination)
            ):
                continue
            # between releases lie thousands of commits: that is for a person to ask for
            if before.commit and after.commit and not (before.release or after.release):
                found.setdefault((before.commit, after.commit), []).append(nomination)
        return list(found.values())

    def _one(self, nomination: Changepoint) -> dict[str, Any]:
        sources = self.session.builder.sources
        ends = [str(origin.commit) for origin in (nomination.before, nomination.after)]
        line = commit_line(sources, *ends)
        found = bisect(self._case(nomination, line))
        command = _command(nomination, ends)
        return {
            "nomination": nomination.key,
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "report": report_facts(found, sources.history, command, explanation(found)),
        }

    def _case(self, nomination: Changepoint, line: CommitRange) -> BisectRequest:
        metric, profile = metric_named(nomination.metric), nomination.params.profile
        question = parse_scenario(_scenario(nomination), profile=profile, seconds=self.seconds)
        cell: Cell = cells_of(self.session, question, [profile])[profile]
        if metric.buffers is not None:
            cell = exact_cell(cell.scenario, profile, metric.buffers)
        return BisectRequest(
            session=self.session,
            line=line,
            variant=nomination.variant,
            cell=cell,
            metric=metric,
            pgbench=Pgbench(build=self.session.pgbench_build()),
            seconds=question.seconds,
            quest=Hypothesis(
                last=line.last,
                size=COUNTED_DIFFERENCE if metric.exact else nomination.precision,
                is_exact=metric.exact,
            ),
            budget=self.budget,
        )


def _is_worse(nomination: Changepoint) -> bool:
    return (nomination.ratio > 1) != metric_named(nomination.metric).higher_is_better


def _scenario(nomination: Changepoint) -> str:
    params = nomination.params
    return "/".join((nomination.mode, params.protocol, params.scale, f"c{params.clients}"))


def _command(nomination: Changepoint, ends: Sequence[str]) -> str:
    words = ["landspeed", "bisect", *(end[:10] for end in ends), "--metric", nomination.metric]
    words += ["--scenario", _scenario(nomination), "--profile", nomination.params.profile]
    if nomination.variant.name != "bs8":
        words[2:4] = [f"{end[:10]}:{nomination.variant}" for end in ends]
    return join(words)
